//! What the provider does not allow is told by name: rights that are missing, and quotas with their numbers.

use crate::support::accounts::{Rule, as_account, rules};
use crate::support::provider::{self, Provider, Resource};
use crate::support::proxy::wait_until;
use crate::support::small_shoots::{Small, inventory};
use serde_json::json;

/// Rights that no run needs; a bundle without them says what it could not read.
const LEFT_OUT: [&str; 5] = [
    "pods/log",
    "resourcequotas",
    "limitranges",
    "virtualmachineinstancetypes",
    "virtualmachinepreferences",
];
const QUOTA: Resource = Resource("", "v1", "ResourceQuota");

#[test]
fn a_tenant_of_the_provider_needs_these_rights_and_no_others() {
    let provider = Provider::new();
    let shoot = Small::new("right");
    let edited = Small {
        machine_type: "medium",
        ..shoot.clone()
    };
    let kvshoot = as_account(&provider, "enough", &rules())
        .file("shoot.yaml", &shoot.manifest())
        .file("edited.yaml", &edited.manifest());
    for (line, told) in [
        ("apply -f shoot.yaml", "right created"),
        ("apply -f edited.yaml", "right configured"),
        ("delete right --yes", "right deleted"),
    ] {
        let output = kvshoot.run(line);
        assert_eq!(output.code, 0, "{line}\n{output}");
        assert!(output.out.contains(told), "{line}\n{output}");
    }
    assert_eq!(inventory(&provider), Vec::<String>::new());
}

/// Each rule of the Role, and some verbs by themselves.
#[test]
fn a_missing_right_is_named_before_anything_is_made() {
    let provider = Provider::new();
    let manifest = Small::new("right").manifest();
    let whole = rules();
    let one = |verb: &str, resource: &str| {
        let is_it = |it: &&Rule| it.1 == resource && it.2.iter().any(|it| it == verb);
        let rule = whole.iter().find(is_it).unwrap();
        (rule.0.clone(), resource.to_owned(), vec![verb.to_owned()])
    };
    let mut missing = whole.clone();
    missing.retain(|it| !LEFT_OUT.contains(&it.1.as_str()));
    missing.extend([
        one("delete", "virtualmachines"),
        one("watch", "virtualmachines"),
        one("get", "configmaps"),
        one("patch", "leases"),
        // Of what the cloud controller manager is given.
        one("update", "virtualmachineinstances"),
    ]);
    for (number, (_, resource, verbs)) in missing.iter().enumerate() {
        let mut rules = whole.clone();
        for rule in rules.iter_mut().filter(|it| it.1 == *resource) {
            rule.2.retain(|it| !verbs.contains(it));
        }
        rules.retain(|it| !it.2.is_empty());
        let kvshoot = as_account(&provider, &format!("lacks-{number}"), &rules);
        let output = kvshoot
            .file("shoot.yaml", &manifest)
            .run("apply -f shoot.yaml");
        assert_eq!(output.code, 8, "without {verbs:?} {resource}\n{output}");
        // What is looked at before rights are is told by itself.
        let named = |it: &String| output.err.contains(&format!("{it} {resource}"));
        assert!(
            verbs.iter().any(named),
            "without {verbs:?} {resource}\n{output}"
        );
    }
    assert_eq!(inventory(&provider), Vec::<String>::new());
    println!("{} times a right was missing", missing.len());
}

#[test]
fn a_quota_is_told_with_its_numbers_and_what_fits_is_made() {
    let provider = Provider::new();
    let count = "count/virtualmachines.kubevirt.io";
    provider.create(
        QUOTA,
        json!({
            "apiVersion": "v1", "kind": "ResourceQuota", "metadata": { "name": "few" },
            "spec": { "hard": { count: "2" } },
        }),
    );
    wait_until(|| provider.get(QUOTA, "few").unwrap().data["status"]["used"][count].is_string());
    let shoot = Small {
        pools: vec![("one", 2), ("two", 2)],
        ..Small::new("quota")
    };
    let kvshoot = provider.kvshoot().file("shoot.yaml", &shoot.manifest());
    let output = kvshoot.run("apply -f shoot.yaml");
    println!("{output}");
    assert_eq!(output.code, 9, "{output}");
    let numbers = "exceeded quota: few, requested: count/virtualmachines.kubevirt.io=1, used: count/virtualmachines.kubevirt.io=2, limited: count/virtualmachines.kubevirt.io=2";
    assert!(output.err.contains(numbers), "{output}");
    let before =
        "quota few has no room for count/virtualmachines.kubevirt.io: used 0, asked 4, allowed 2";
    assert!(output.err.contains(before), "{output}");
    assert_eq!(provider.names(provider::VM).len(), 2);
    provider.delete(QUOTA, "few");
    let output = kvshoot.run("apply -f shoot.yaml");
    assert_eq!(output.code, 0, "{output}");
    assert_eq!(provider.names(provider::VM).len(), 4);
}
