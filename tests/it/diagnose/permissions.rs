//! Missing permissions and exceeded quotas of the provider cluster.

use crate::support::accounts::{Rule, as_account, rules};
use crate::support::provider::{self, Provider, Resource};
use crate::support::small_shoots::{Small, inventory};

/// Permissions that this shoot does not need: without them, a support bundle lists the missing data, and machines on drained
/// hosts are replaced.
const OPTIONAL: [&str; 8] = [
    "pods/log",
    "virtualmachineinstancemigrations",
    "virtualmachineinstances/evacuate/cancel",
    "resourcequotas",
    "limitranges",
    "virtualmachineinstancetypes",
    "virtualmachinepreferences",
    "volumesnapshots",
];
const QUOTA: Resource = Resource("", "v1", "ResourceQuota");

#[test]
fn the_printed_role_is_sufficient() {
    let provider = Provider::new();
    let shoot = Small::new("right");
    let edited = Small {
        machine_type: "medium",
        ..shoot.clone()
    };
    let kvshoot = as_account(&provider, "enough", &rules())
        .file("shoot.yaml", &shoot.manifest())
        .file("edited.yaml", &edited.manifest());
    for (line, result) in [
        ("apply -f shoot.yaml", "right created"),
        ("apply -f edited.yaml", "right configured"),
        ("delete right --yes", "right deleted"),
    ] {
        let output = kvshoot.run(line);
        assert_eq!(output.code, 0, "{line}\n{output}");
        assert!(output.out.contains(result), "{line}\n{output}");
    }
    assert_eq!(inventory(&provider), Vec::<String>::new());
}

/// For each rule of the Role, and for some single verbs.
#[test]
fn a_missing_permission_is_reported_before_anything_is_created() {
    let provider = Provider::new();
    let manifest = Small::new("right").manifest();
    let all = rules();
    let one = |verb: &str, resource: &str| {
        let grants = |it: &&Rule| it.1 == resource && it.2.iter().any(|it| it == verb);
        let rule = all.iter().find(grants).unwrap();
        (rule.0.clone(), resource.to_owned(), vec![verb.to_owned()])
    };
    let mut missing = all.clone();
    missing.retain(|it| !OPTIONAL.contains(&it.1.as_str()));
    missing.extend([
        one("delete", "virtualmachines"),
        one("watch", "virtualmachines"),
        one("get", "configmaps"),
        one("patch", "leases"),
        // Permissions that kvshoot grants to the cloud controller manager and the CSI driver.
        one("get", "virtualmachineinstances"),
        one("patch", "persistentvolumeclaims"),
    ]);
    for (number, (_, resource, verbs)) in missing.iter().enumerate() {
        let mut rules = all.clone();
        for rule in rules.iter_mut().filter(|it| it.1 == *resource) {
            rule.2.retain(|it| !verbs.contains(it));
        }
        rules.retain(|it| !it.2.is_empty());
        let kvshoot = as_account(&provider, &format!("lacks-{number}"), &rules);
        let output = kvshoot
            .file("shoot.yaml", &manifest)
            .run("apply -f shoot.yaml");
        assert_eq!(output.code, 8, "without {verbs:?} {resource}\n{output}");
        // Earlier requests report their missing permission themselves.
        let named = |it: &String| output.err.contains(&format!("{it} {resource}"));
        assert!(
            verbs.iter().any(named),
            "without {verbs:?} {resource}\n{output}"
        );
    }
    assert_eq!(inventory(&provider), Vec::<String>::new());
    println!("{} missing permissions tested", missing.len());
}

#[test]
fn an_exceeded_quota_is_reported_with_its_numbers_and_the_rest_is_created() {
    let provider = Provider::new();
    provider.create_vm_quota("few", 4);
    // With fewer, nothing would be created: the shoot alone would exceed the quota.
    provider.create_other_vm("other-0");
    provider.create_other_vm("other-1");
    provider.wait_for("the quota to be used", |it| it.counted_vms("few") == "2");
    let shoot = Small {
        pools: vec![("one", 2), ("two", 2)],
        ..Small::new("quota")
    };
    let kvshoot = provider.kvshoot().file("shoot.yaml", &shoot.manifest());
    let output = kvshoot.run("apply -f shoot.yaml");
    println!("{output}");
    assert_eq!(output.code, 9, "{output}");
    let numbers = "exceeded quota: few, requested: count/virtualmachines.kubevirt.io=1, used: count/virtualmachines.kubevirt.io=4, limited: count/virtualmachines.kubevirt.io=4";
    assert!(output.err.contains(numbers), "{output}");
    let before = "quota few would be exceeded for count/virtualmachines.kubevirt.io: used 2, requested 4, limit 4";
    assert!(output.err.contains(before), "{output}");
    assert_eq!(provider.names(provider::VM).len(), 4);
    provider.delete(QUOTA, "few");
    let output = kvshoot.run("apply -f shoot.yaml");
    assert_eq!(output.code, 0, "{output}");
    assert_eq!(provider.names(provider::VM).len(), 6);
}
