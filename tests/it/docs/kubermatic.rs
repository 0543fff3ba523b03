//! The documentation of Kubermatic's MachineDeployments, and their conversion to pools.

use crate::support::kvshoot::Kvshoot;
use crate::support::provider::{self, Provider};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;

#[test]
fn the_documentation_lists_exactly_the_fields_of_the_schema() {
    let schema = Kvshoot::new().run("schema machinedeployment").out;
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let mut fields = BTreeSet::new();
    leaves(&schema, &schema, String::new(), &mut fields);
    assert!(fields.len() > 80, "{fields:?}");

    let text = fs::read_to_string("docs/kubermatic.md").unwrap();
    let (_, tables) = text.split_once("## Every field").unwrap();
    let (mut parent, mut documented) = (String::new(), BTreeSet::new());
    for line in tables.lines() {
        if let Some(heading) = line.strip_prefix("### Below ") {
            let names: Vec<&str> = heading.split('`').skip(1).step_by(2).collect();
            parent = match names.as_slice() {
                [one] => format!("{one}."),
                _ => String::new(),
            };
        } else if let Some(row) = line.strip_prefix("| `") {
            let cells: Vec<&str> = row.split(" | ").collect();
            let kinds = ["used", "changed", "refused", "no effect"];
            assert!(kinds.contains(&cells[1]), "{line}");
            for field in cells[0].trim_end_matches('`').split("`, `") {
                assert!(
                    documented.insert(format!("{parent}{field}")),
                    "twice: {field}"
                );
            }
        }
    }
    let missing: Vec<_> = fields.difference(&documented).collect();
    let stray: Vec<_> = documented.difference(&fields).collect();
    assert!(
        missing.is_empty() && stray.is_empty(),
        "{missing:#?} {stray:#?}"
    );
}

/// Names in code spans, for example `WorkerConfig.subnet`.
#[test]
fn fields_named_in_the_documentation_exist() {
    let text = fs::read_to_string("docs/kubermatic.md").unwrap();
    let (_, rest) = text.split_once("## Datacenters and clusters").unwrap();
    let (table, _) = rest.split_once("\n## ").unwrap();
    let kvshoot = Kvshoot::new();
    let [shoot, profile] = ["shoot", "cloudprofile"].map(|kind| -> Value {
        serde_json::from_str(&kvshoot.run(&format!("schema {kind}")).out).unwrap()
    });
    let words = table.split('`').skip(1).step_by(2);
    let fields = words.filter_map(|it| it.split_once("Config.").map(|field| (it, field)));
    let mut checked = 0;
    for (word, (kind, field)) in fields {
        let place = format!("/$defs/{kind}Config/properties/{field}");
        let exists = [&shoot, &profile]
            .iter()
            .any(|it| it.pointer(&place).is_some());
        assert!(exists, "{word}");
        checked += 1;
    }
    assert!(checked > 15, "{checked}");
}

/// Collects the fields without subfields; a value that may be a reference is one field.
fn leaves(root: &Value, node: &Value, path: String, found: &mut BTreeSet<String>) {
    let reference = node["$ref"].as_str();
    if let Some(reference) = reference {
        let target = root.pointer(reference.trim_start_matches('#')).unwrap();
        return match reference.contains("/ConfigVar") {
            true => drop(found.insert(path)),
            false => leaves(root, target, path, found),
        };
    }
    let real = |it: &&Value| it["type"] != "null";
    if let Some(one) = node["anyOf"].as_array().and_then(|it| it.iter().find(real)) {
        return leaves(root, one, path, found);
    }
    if let Some(fields) = node["properties"].as_object() {
        let dot = if path.is_empty() { "" } else { "." };
        for (name, field) in fields {
            leaves(root, field, format!("{path}{dot}{name}"), found);
        }
    } else if node["items"].is_object() {
        leaves(root, &node["items"], format!("{path}[]"), found);
    } else {
        found.insert(path);
    }
}

/// The documents of the example: Shoot, CloudProfile and MachineDeployment.
fn example() -> [String; 3] {
    let text = fs::read_to_string("examples/machine-deployment.yaml").unwrap();
    let documents: Vec<String> = text.split("---\n").map(str::to_owned).collect();
    documents.try_into().unwrap()
}

#[test]
fn a_converted_pool_renders_the_same_objects() {
    let [shoot, profile, deployment] = example();
    let kvshoot = Kvshoot::new()
        .file("shoot.yaml", &shoot)
        .file("profile.yaml", &profile)
        .file("deployment.yaml", &deployment);
    let pools = kvshoot.run("convert -f shoot.yaml -f deployment.yaml --profile profile.yaml");
    assert_eq!((pools.code, pools.err.as_str()), (0, ""), "{pools}");
    let indented: String = pools.out.lines().map(|it| format!("    {it}\n")).collect();
    let place = "    type: kubevirt\n";
    let pasted = shoot.replacen(place, &format!("{place}    workers:\n{indented}"), 1);
    let kvshoot = kvshoot.file("pasted.yaml", &pasted);
    let separate = kvshoot.run("render -f shoot.yaml -f deployment.yaml -f profile.yaml");
    let inline = kvshoot.run("render -f pasted.yaml -f profile.yaml");
    assert_eq!(separate.code, 0, "{separate}");
    assert_eq!(separate, inline);
    let json = kvshoot.run("convert -f deployment.yaml --profile profile.yaml -o json");
    let json: Value = serde_json::from_str(&json.out).unwrap();
    let yaml: Value = serde_yaml::from_str(&pools.out).unwrap();
    assert_eq!(json, yaml, "the region is the only one of the profile");
}

#[test]
fn a_machine_deployment_is_converted_without_a_shoot() {
    let [.., deployment] = example();
    let kvshoot = Kvshoot::new().file("deployment.yaml", &deployment);
    let output = kvshoot.run("convert -f deployment.yaml");
    assert_eq!(output.code, 0, "{output}");
    assert!(
        output.err.contains("the zones of its region are unknown"),
        "{output}"
    );
    let pools: Value = serde_yaml::from_str(&output.out).unwrap();
    assert_eq!(pools[0]["zones"], serde_json::json!(["zone"]));
    let output = kvshoot.run("validate -f deployment.yaml");
    assert_eq!(output.code, 3, "{output}");
    assert!(output.err.contains("no Shoot for this pool"), "{output}");
}

/// Returns the example with a kubeconfig for its machines.
fn with_kubeconfig(var: &str) -> String {
    let place = "            virtualMachine:\n";
    let auth = format!("            auth: {{kubeconfig: {var}}}\n{place}");
    let text = example().join("---\n");
    assert!(text.contains(place));
    text.replacen(place, &auth, 1)
}

#[test]
fn the_kubeconfig_of_a_machine_deployment_selects_the_provider_if_nothing_else_does() {
    let provider = Provider::new();
    let config = fs::read(provider.kubeconfig()).unwrap();
    let coded = STANDARD.encode(config);
    let plan = format!("plan -f shoot.yaml -n {}", provider.namespace);
    let inline = with_kubeconfig(&format!("{{value: {coded}}}"));

    let alone = Kvshoot::new().file("shoot.yaml", &inline).run(&plan);
    assert_eq!(alone.code, 0, "{alone}");
    let both = provider.kvshoot().file("shoot.yaml", &inline).run(&plan);
    assert_eq!((both.code, &both.out), (0, &alone.out), "{both}");
    assert!(both.err.contains("is ignored"), "{both}");

    // A kubeconfig in a Secret takes precedence over the environment, but not over a flag.
    let unreachable = "clusters: [{name: a, cluster: {server: 'https://127.0.0.1:1'}}]\ncontexts: [{name: a, context: {cluster: a}}]\ncurrent-context: a\n";
    provider.create(
        provider::SECRET,
        json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": "way"}, "stringData": {"config": unreachable},
        }),
    );
    let reference = "{secretKeyRef: {namespace: kube-system, name: way, key: config}}";
    let kvshoot = provider
        .kvshoot()
        .file("shoot.yaml", &with_kubeconfig(reference));
    let followed = kvshoot.run(&plan);
    assert_eq!(followed.code, 4, "{followed}");
    assert!(followed.err.contains("127.0.0.1:1"), "{followed}");
    let typed = kvshoot.run(&format!("{plan} --kubeconfig {}", provider.kubeconfig()));
    assert_eq!((typed.code, &typed.out), (0, &alone.out), "{typed}");
}
