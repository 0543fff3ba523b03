//! Apply and delete of a cluster, and the provider cluster of a SecretBinding.

use crate::command_line::completion;
use crate::support::kvshoot::Kvshoot;
use crate::support::provider::{self, Provider};
use crate::support::proxy::{Proxy, RecordedRequest};
use crate::support::shoots::Manifest;
use serde_json::json;

#[test]
fn a_shoot_is_created_in_all_zones_completed_on_the_command_line_and_deleted() {
    let provider = Provider::new();
    let manifest = std::fs::read_to_string("examples/three-zones.yaml").unwrap();
    let kvshoot = provider.kvshoot().file("shoot.yaml", &manifest);
    let first = kvshoot.run("apply -f shoot.yaml");
    assert_eq!(
        (first.code, first.out.as_str()),
        (0, "shoot.core.gardener.cloud/three-zones created\n"),
        "{first}"
    );
    assert_eq!(provider.names(provider::VM).len(), 3);
    let second = kvshoot.run("apply -f shoot.yaml");
    assert_eq!(
        (second.code, second.out.as_str()),
        (0, "shoot.core.gardener.cloud/three-zones unchanged\n"),
        "{second}"
    );
    completion::shoots_pools_and_namespaces_are_completed(&provider);
    let deleted = kvshoot.run("delete three-zones --yes");
    assert_eq!(deleted.code, 0, "{deleted}");
    for kind in [
        provider::VM,
        provider::DATA_VOLUME,
        provider::SECRET,
        provider::LEASE,
        provider::CLAIM,
    ] {
        assert_eq!(provider.names(kind), Vec::<String>::new(), "{}", kind.2);
    }
}

#[test]
fn several_shoots_are_applied_at_the_same_time_and_one_that_fails_stops_no_other() {
    let provider = Provider::new();
    let names = ["side-a", "side-b", "side-c"];
    let mut documents: Vec<String> = names
        .iter()
        .map(|name| serde_yaml::to_string(&Manifest::small(name).shoot).unwrap())
        .collect();
    documents.push(serde_yaml::to_string(&Manifest::small("any").profile).unwrap());
    let proxy = Proxy::new(&provider);
    let kvshoot = proxy
        .kvshoot(&provider)
        .file("shoots.yaml", &documents.join("---\n"))
        .file(
            "broken.yaml",
            &documents[0]
                .replace("side-a", "broken")
                .replace("small", "smal"),
        );
    // The record of the third shoot would overwrite it.
    let other = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shoot--local--side-c"}});
    provider.create(provider::CONFIG_MAP, other);
    let output = kvshoot.run("apply -f shoots.yaml -f broken.yaml");
    assert_eq!(output.code, 4, "{output}");
    let mut created: Vec<&str> = output.out.lines().collect();
    created.sort_unstable();
    let line = |name: &str| format!("shoot.core.gardener.cloud/{name} created");
    assert_eq!(
        created,
        names[..2].iter().map(|it| line(it)).collect::<Vec<_>>(),
        "{output}"
    );
    for part in [
        "note     side-c: ConfigMap shoot--local--side-c",
        "side-a: Machine worker-z1-",
        "machine type \"smal\" not found",
        "Applied 2 of 4 shoots in ",
        "; failed: broken (exit code 3: invalid manifest), side-c (exit code 4: ConfigMap shoot--local--side-c exists",
    ] {
        assert!(output.err.contains(part), "{part}: {output}");
    }
    // Both were in progress at the same time.
    let position = |text: &str| {
        output
            .err
            .find(text)
            .unwrap_or_else(|| panic!("{text}: {output}"))
    };
    for (one, other) in [("side-a", "side-b"), ("side-b", "side-a")] {
        let begun = position(&format!("{one}: Deploy etcd"));
        assert!(
            begun < position(&format!("Created shoot {other}")),
            "{output}"
        );
    }
    // The runs share their watches, and wait for a LIST together.
    for (resource, kinds) in [("virtualmachines.kubevirt.io", 1), ("secrets", 2)] {
        let count = |verb| {
            let requests = proxy.requests();
            let of = |it: &&RecordedRequest| it.resource == resource && it.verb == verb;
            requests.iter().filter(of).count()
        };
        let (lists, watches) = (count("list"), count("watch"));
        println!("{resource}: {lists} LISTs and {watches} WATCHes for 3 shoots");
        assert_eq!(watches, kinds, "{resource}");
        assert!((kinds..=2 * kinds).contains(&lists), "{resource}: {lists}");
    }
    provider.delete(provider::CONFIG_MAP, "shoot--local--side-c");
    let output = kvshoot.run("apply -f shoots.yaml --parallel 1");
    assert_eq!(output.code, 0, "{output}");
    assert_eq!(provider.names(provider::VM).len(), 3);
}

#[test]
fn log_lines_of_a_run_have_its_id_and_requests_are_nested_in_actions() {
    let provider = Provider::new();
    let manifest = std::fs::read_to_string("examples/minimal.yaml").unwrap();
    let kvshoot = provider.kvshoot().file("shoot.yaml", &manifest);
    let output = kvshoot.run("apply -f shoot.yaml -vv");
    assert_eq!(output.code, 0, "{output}");
    let is_log_line = |line: &&str| {
        [" DEBUG ", " INFO ", " WARN "]
            .iter()
            .any(|level| line.contains(level))
    };
    let lines: Vec<&str> = output.err.lines().filter(is_log_line).collect();
    let run = lines[0].split_once("run{id=").unwrap().1;
    let run = format!("run{{id={}}}", run.split_once('}').unwrap().0);
    let others: Vec<_> = lines.iter().filter(|line| !line.contains(&run)).collect();
    assert_eq!(others, Vec::<&&str>::new());
    let nested = format!(
        r#" {run}:shoot{{id=shoot--local--minimal}}:action{{verb="apply" object=VirtualMachine shoot--local--minimal-"#
    );
    let request = format!(
        r#"item=machine/worker/z1/0}}:request{{verb="create" kind=VirtualMachine object="{}/shoot--local--minimal-"#,
        provider.namespace
    );
    let is_nested = |line: &&&str| line.contains(&nested) && line.contains(&request);
    let created = lines
        .iter()
        .find(is_nested)
        .unwrap_or_else(|| panic!("{output}"));
    assert!(created.contains(" status=201 ms="), "{created}");
}

#[test]
fn the_secret_of_a_secret_binding_selects_the_provider() {
    let (source, target) = (Provider::new(), Provider::new());
    let kubeconfig = std::fs::read_to_string(source.kubeconfig()).unwrap();
    let kubeconfig_for = |namespace: &str| {
        let mut config: serde_yaml::Value = serde_yaml::from_str(&kubeconfig).unwrap();
        config["contexts"][0]["context"]["namespace"] = namespace.into();
        serde_yaml::to_string(&config).unwrap()
    };
    let secret = serde_json::json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "provider" },
        "stringData": { "kubeconfig": kubeconfig_for(&target.namespace) },
    });
    source.create(provider::SECRET, secret);
    let manifest = std::fs::read_to_string("examples/minimal.yaml").unwrap();
    let manifest = manifest.replacen("\n  region:", "\n  secretBindingName: way\n  region:", 1);
    let binding = "---\napiVersion: core.gardener.cloud/v1beta1\nkind: SecretBinding\nmetadata:\n  name: way\nsecretRef:\n  name: provider\n";
    let kvshoot = Kvshoot::new()
        .file("config", &kubeconfig_for(&source.namespace))
        .file("shoot.yaml", &(manifest + binding));
    let config = kvshoot.home().join("config").display().to_string();
    let kvshoot = kvshoot.env("KUBECONFIG", &config);
    let record = "shoot--local--minimal";
    let apply = kvshoot.start("apply -f shoot.yaml");
    target.wait_for("the record in the namespace of the Secret", |it| {
        it.get(provider::CONFIG_MAP, record).is_some()
    });
    apply.interrupt();
    let output = apply.wait();
    assert_eq!(output.code, 130, "{output}");
    assert!(source.get(provider::CONFIG_MAP, record).is_none());
}
