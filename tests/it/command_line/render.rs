//! `kvshoot render`: golden files of the objects of every example, and redaction of Secrets.

use crate::support::kvshoot::Kvshoot;
use crate::support::shoots::{EXAMPLES, Manifest};
use std::path::Path;

const WITHOUT_SHOOT: [&str; 5] = ["rbac", "gc", "evacuate", "keep", "keep-monitoring"];

fn example(name: &str) -> Kvshoot {
    let text = std::fs::read_to_string(format!("examples/{name}.yaml")).unwrap();
    Kvshoot::new().file("shoot.yaml", &text)
}

#[test]
fn every_example_is_tested() {
    let files = std::fs::read_dir("examples").unwrap();
    let mut names: Vec<String> = files
        .map(|it| it.unwrap().path())
        .filter(|it| it.is_file())
        .map(|it| it.file_stem().unwrap().to_string_lossy().into_owned())
        .filter(|it| !WITHOUT_SHOOT.contains(&it.as_str()))
        .collect();
    names.sort();
    assert_eq!(names, EXAMPLES);
}

#[test]
fn every_example_is_valid() {
    for name in EXAMPLES {
        let output = example(name).run("validate -f shoot.yaml");
        assert_eq!(output.code, 0, "{name}: {output}");
        // A pool with room to grow causes a warning, because `kvshoot keep` has to run.
        let warned = output.err.contains("warning");
        assert_eq!(warned, name == "autoscaling", "{name}: {output}");
    }
}

fn check(name: &str, text: String) {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/render");
    let golden = snapbox::Data::read_from(&golden.join(format!("{name}.yaml")), None).raw();
    snapbox::assert_data_eq!(text, golden);
}

/// Components of machines and their dependencies; control planes of the examples hardly differ.
const OF_MACHINES: [&str; 10] = [
    "record",
    "lock",
    "network",
    "network-policies",
    "cluster-isolation",
    "image",
    "instancetype",
    "preference",
    "user-data",
    "machine",
];

fn is_of_machines(document: &str) -> bool {
    let object: serde_json::Value = serde_yaml::from_str(document).unwrap();
    let component = &object["metadata"]["labels"]["app.kubernetes.io/component"];
    OF_MACHINES.contains(&component.as_str().unwrap())
}

#[test]
fn every_example_renders_its_golden_file() {
    for name in EXAMPLES {
        let kvshoot = example(name);
        let output = kvshoot.run("render -f shoot.yaml");
        assert_eq!(output.code, 0, "{name}: {output}");
        assert_eq!(output, kvshoot.run("render -f shoot.yaml"), "{name}");
        let documents = output.out.split("---\n").skip(1);
        let some = documents.filter(|it| name == "minimal" || is_of_machines(it));
        check(name, some.map(|it| format!("---\n{it}")).collect());
    }
}

#[test]
fn render_prints_the_objects_inside_the_cluster_and_its_images() {
    let kvshoot = example("minimal");
    let inside = kvshoot.run("render -f shoot.yaml --inside");
    check("minimal-inside", inside.out);
    let images = kvshoot.run("render -f shoot.yaml -o images").out;
    check("minimal-images", images.clone());
    let mirrored = Manifest::example("minimal").with(|it| {
        it.shoot["spec"]["provider"]["controlPlaneConfig"] = serde_json::json!({
            "apiVersion": "kubevirt.provider.extensions.gardener.cloud/v1alpha1",
            "kind": "ControlPlaneConfig",
            "imageRegistry": "mirror.example.org/all",
        });
    });
    let kvshoot = Kvshoot::new().file("shoot.yaml", &mirrored.text());
    let mirrored = kvshoot.run("render -f shoot.yaml -o images").out;
    assert_eq!(mirrored.lines().count(), images.lines().count());
    let from_mirror = |it: &str| it.starts_with("mirror.example.org/all/");
    assert!(mirrored.lines().all(from_mirror), "{mirrored}");
}

#[test]
fn json_holds_the_same_objects_as_yaml() {
    let kvshoot = example("two-pools");
    let json = kvshoot.run("render -f shoot.yaml -o json").out;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let yaml = kvshoot.run("render -f shoot.yaml").out;
    let yaml: Vec<serde_json::Value> = serde_yaml::Deserializer::from_str(&yaml)
        .map(|it| serde::Deserialize::deserialize(it).unwrap())
        .collect();
    assert_eq!(json["kind"], "List");
    assert_eq!(json["items"].as_array().unwrap(), &yaml);
}

#[test]
fn secrets_are_shown_on_request_only() {
    let kvshoot = example("minimal");
    let data = |line: &str| {
        let json: serde_json::Value = serde_json::from_str(&kvshoot.run(line).out).unwrap();
        let items = json["items"].as_array().unwrap();
        let has_text = |it: &&serde_json::Value| it["stringData"].is_object();
        let secret = items.iter().find(has_text).unwrap();
        assert_eq!(secret.get("data"), None);
        secret["stringData"]["userdata"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(data("render -f shoot.yaml -o json"), "***");
    let text = data("render -f shoot.yaml -o json --show-secrets");
    assert!(text.starts_with("#cloud-config\nhostname: shoot--local--minimal-worker-z1-"));
}

#[test]
fn a_network_of_another_namespace_changes_the_machines() {
    let text = std::fs::read_to_string("examples/networks.yaml").unwrap();
    let elsewhere = text.replace(
        "        - name: storage\n",
        "        - name: storage\n          namespace: other\n",
    );
    assert_ne!(text, elsewhere);
    let machines = |text: &str| {
        let kvshoot = Kvshoot::new().file("shoot.yaml", text);
        let json = kvshoot.run("render -f shoot.yaml -o json").out;
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        let items = json["items"].as_array().unwrap().clone();
        let machines = items.iter().filter(|it| it["kind"] == "VirtualMachine");
        machines
            .map(|it| it["metadata"]["name"].clone())
            .collect::<Vec<_>>()
    };
    assert_ne!(machines(&text), machines(&elsewhere));
}

/// Otherwise a machine would look as if it had been selected for deletion.
#[test]
fn annotations_of_a_pool_cannot_set_annotations_of_kvshoot() {
    let text = std::fs::read_to_string("examples/minimal.yaml").unwrap();
    let marked = text.replace(
        "    - name: worker\n",
        "    - name: worker\n      annotations:\n        kvshoot.io/leaving: now\n",
    );
    let output = Kvshoot::new()
        .file("shoot.yaml", &marked)
        .run("render -f shoot.yaml -o json");
    assert_eq!(output.code, 0, "{output}");
    let json: serde_json::Value = serde_json::from_str(&output.out).unwrap();
    let items = json["items"].as_array().unwrap();
    let machine = items.iter().find(|it| it["kind"] == "VirtualMachine");
    let annotations = &machine.unwrap()["metadata"]["annotations"];
    assert_eq!(annotations.get("kvshoot.io/leaving"), None);
}
