//! What the documentation says of Kubermatic's MachineDeployments, and that a converted pool means the same.

use crate::support::kvshoot::Kvshoot;
use crate::support::provider::{self, Provider};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;

#[test]
fn the_documentation_tells_every_field_and_no_other() {
    let schema = Kvshoot::new().run("schema machinedeployment").out;
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let mut fields = BTreeSet::new();
    leaves(&schema, &schema, String::new(), &mut fields);
    assert!(fields.len() > 80, "{fields:?}");

    let text = fs::read_to_string("docs/kubermatic.md").unwrap();
    let (_, tables) = text.split_once("## Every field").unwrap();
    let (mut above, mut told) = (String::new(), BTreeSet::new());
    for line in tables.lines() {
        if let Some(heading) = line.strip_prefix("### Below ") {
            let names: Vec<&str> = heading.split('`').skip(1).step_by(2).collect();
            above = match names.as_slice() {
                [one] => format!("{one}."),
                _ => String::new(),
            };
        } else if let Some(row) = line.strip_prefix("| `") {
            let cells: Vec<&str> = row.split(" | ").collect();
            let kinds = ["used", "changed", "refused", "no effect"];
            assert!(kinds.contains(&cells[1]), "{line}");
            for field in cells[0].trim_end_matches('`').split("`, `") {
                assert!(told.insert(format!("{above}{field}")), "twice: {field}");
            }
        }
    }
    let missing: Vec<_> = fields.difference(&told).collect();
    let stray: Vec<_> = told.difference(&fields).collect();
    assert!(
        missing.is_empty() && stray.is_empty(),
        "{missing:#?} {stray:#?}"
    );
}

/// What stands there as a field of kvshoot's, such as `WorkerConfig.subnet`.
#[test]
fn what_the_documentation_names_as_a_field_is_one() {
    let text = fs::read_to_string("docs/kubermatic.md").unwrap();
    let (_, rest) = text.split_once("## Datacenters and clusters").unwrap();
    let (table, _) = rest.split_once("\n## ").unwrap();
    let kvshoot = Kvshoot::new();
    let [shoot, profile] = ["shoot", "cloudprofile"].map(|kind| -> Value {
        serde_json::from_str(&kvshoot.run(&format!("schema {kind}")).out).unwrap()
    });
    let words = table.split('`').skip(1).step_by(2);
    let fields = words.filter_map(|it| it.split_once("Config.").map(|field| (it, field)));
    let mut told = 0;
    for (word, (kind, field)) in fields {
        let place = format!("/$defs/{kind}Config/properties/{field}");
        let is_there = [&shoot, &profile]
            .iter()
            .any(|it| it.pointer(&place).is_some());
        assert!(is_there, "{word}");
        told += 1;
    }
    assert!(told > 15, "{told}");
}

/// Fields with nothing below them; a value that may stand elsewhere is one field.
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
fn the_converted_pool_makes_the_same_objects() {
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
    let beside = kvshoot.run("render -f shoot.yaml -f deployment.yaml -f profile.yaml");
    let inside = kvshoot.run("render -f pasted.yaml -f profile.yaml");
    assert_eq!(beside.code, 0, "{beside}");
    assert_eq!(beside, inside);
    let json = kvshoot.run("convert -f deployment.yaml --profile profile.yaml -o json");
    let json: Value = serde_json::from_str(&json.out).unwrap();
    let yaml: Value = serde_yaml::from_str(&pools.out).unwrap();
    assert_eq!(json, yaml, "the region is the only one of the profile");
}

#[test]
fn a_machine_deployment_is_converted_by_itself() {
    let [.., deployment] = example();
    let kvshoot = Kvshoot::new().file("deployment.yaml", &deployment);
    let output = kvshoot.run("convert -f deployment.yaml");
    assert_eq!(output.code, 0, "{output}");
    assert!(
        output.err.contains("zones of its region are not known"),
        "{output}"
    );
    let pools: Value = serde_yaml::from_str(&output.out).unwrap();
    assert_eq!(pools[0]["zones"], serde_json::json!(["zone"]));
    let output = kvshoot.run("validate -f deployment.yaml");
    assert_eq!(output.code, 3, "{output}");
    assert!(output.err.contains("there is no Shoot"), "{output}");
}

/// The example with that as the kubeconfig of its machines.
fn with_kubeconfig(var: &str) -> String {
    let place = "            virtualMachine:\n";
    let auth = format!("            auth: {{kubeconfig: {var}}}\n{place}");
    let text = example().join("---\n");
    assert!(text.contains(place));
    text.replacen(place, &auth, 1)
}

#[test]
fn a_kubeconfig_leads_to_the_provider_when_nothing_else_does() {
    let provider = Provider::new();
    let config = fs::read(provider.kubeconfig()).unwrap();
    let coded = STANDARD.encode(config);
    let plan = format!("plan -f shoot.yaml -n {}", provider.namespace);
    let inline = with_kubeconfig(&format!("{{value: {coded}}}"));

    let alone = Kvshoot::new().file("shoot.yaml", &inline).run(&plan);
    assert_eq!(alone.code, 0, "{alone}");
    let both = provider.kvshoot().file("shoot.yaml", &inline).run(&plan);
    assert_eq!((both.code, &both.out), (0, &alone.out), "{both}");
    assert!(both.err.contains("is not used"), "{both}");

    // One in a Secret is followed from where the environment leads to, but not from where a flag does.
    let nowhere = "clusters: [{name: a, cluster: {server: 'https://127.0.0.1:1'}}]\ncontexts: [{name: a, context: {cluster: a}}]\ncurrent-context: a\n";
    provider.create(
        provider::SECRET,
        json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": "way"}, "stringData": {"config": nowhere},
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
