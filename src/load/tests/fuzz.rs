//! Random mutations of valid manifests.

use super::machine_deployments::deployment;
use crate::fuzz::fuzz;
use crate::load::record::recorded_shoot;
use crate::load::{LoadContext, judge, kubeconfig};
use crate::manifest::Manifest;
use crate::model::{FieldPath, read_yaml};
use crate::state::hash::Hash;
use crate::state::names;
use crate::state::record::{self, manifest_secret};
use crate::ui::problems;
use crate::validate::testing::{PROFILE, SHOOT, WIDE, today};
use std::collections::BTreeMap;

const SECRETS: &str = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {kubeconfig: \"{clusters: [{name: c, cluster: {server: 'https://192.0.2.1'}}], contexts: [{name: c, context: {cluster: c}}], current-context: c}\"}\n---\napiVersion: core.gardener.cloud/v1beta1\nkind: SecretBinding\nmetadata: {name: b}\nsecretRef: {name: s}\n";

/// Nothing panics or takes long, every problem has a place, and the types can read what the schema accepts.
#[test]
fn no_manifest_causes_a_panic_or_a_hang() {
    let whole = format!("{SHOOT}---\n{PROFILE}");
    let wide = format!("{WIDE}---\n{PROFILE}---\n{SECRETS}");
    let seeds = [whole.as_str(), &wide, PROFILE, SECRETS, WIDE];
    fuzz(&seeds.map(str::as_bytes), check);
}

/// The cloud-init data in a MachineDeployment is foreign text within foreign text.
#[test]
fn no_machine_deployment_causes_a_panic_or_a_hang() {
    let documents = |deployment: &str| format!("{deployment}---\n{SHOOT}---\n{PROFILE}");
    let plain = deployment();
    let script = plain.replace(
        "operatingSystemSpec: {}",
        "operatingSystemSpec: {distUpgradeOnBoot: true}",
    );
    let user_data = "            userData: |\n              #cloud-config\n              packages: [jq]\n              \
                     write_files:\n              - {path: /a, content: \"b\"}\n";
    let with_data = plain.replace(
        "            virtualMachine:\n",
        &format!("{user_data}            virtualMachine:\n"),
    );
    let seeds = [documents(&plain), documents(&script), documents(&with_data)];
    fuzz(&seeds.each_ref().map(|it| it.as_bytes()), check);
}

/// Cloud-init that others wrote, in a MachineDeployment that is valid otherwise.
#[test]
fn no_cloud_init_causes_a_panic_or_a_hang() {
    const CLOUD_INIT: &str = "\
#cloud-config
packages: [jq]
users:
- {name: a, passwd: x, ssh_authorized_keys: [\"ssh-ed25519 AAAA\"]}
chpasswd: {list: \"root:x\"}
write_files:
- path: /etc/a
  encoding: b64
  content: YQ==
runcmd:
- [sh, -c, \"echo $HOME\"]
- |
  set -e
";
    const MULTIPART: &str = "Content-Type: multipart/mixed; boundary=\"x\"\nMIME-Version: 1.0\n\n--x\nContent-Type: text/cloud-config\n\n#cloud-config\nruncmd: [ls]\n--x--\n";
    let seeds = [CLOUD_INIT, MULTIPART, "#!/bin/sh\necho\n"];
    let deployment = deployment();
    let place = "            virtualMachine:\n";
    assert!(deployment.contains(place));
    let rest = format!("---\n{SHOOT}---\n{PROFILE}");
    fuzz(&seeds.map(str::as_bytes), |text, round| {
        let text = serde_json::Value::from(String::from_utf8_lossy(text));
        let user_data = format!("            userData: {text}\n{place}");
        let documents = deployment.replace(place, &user_data) + &rest;
        check(documents.as_bytes(), round);
    });
}

/// Others may write the ConfigMap that is the record.
#[test]
fn no_record_causes_a_panic_or_a_hang() {
    fuzz(&[SHOOT.as_bytes(), WIDE.as_bytes()], |text, round| {
        let text = String::from_utf8_lossy(text).into_owned();
        let (shoot, profile) = match round % 8 {
            0 => (SHOOT.to_owned(), text),
            _ => (text, PROFILE.to_owned()),
        };
        let id = "shoot--local--dev";
        let data = [(record::SHOOT, shoot), (record::PROFILE, profile)];
        let mut data: BTreeMap<String, String> =
            data.map(|(key, text)| (key.to_owned(), text)).into();
        let _ = recorded_shoot(id, &data, today());
        if round % 8 == 1 {
            // Others may write the Secret that a record refers to, too.
            let name = names::manifest_secret(id, Hash(round));
            let text = data[record::SHOOT].clone();
            data.insert(manifest_secret::NAME.to_owned(), name);
            assert!(recorded_shoot(id, &data, today()).is_none());
            assert!(manifest_secret::complete(id, data, &text).is_none());
        }
    });
}

#[test]
fn no_kubeconfig_in_a_manifest_causes_a_panic_or_a_hang() {
    const KUBECONFIG: &str = "\
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: 'https://192.0.2.1:6443', certificate-authority-data: YQ==}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
users: [{name: u, user: {token: hunter2, exec: {command: a, args: [b], apiVersion: client.authentication.k8s.io/v1}}}]
current-context: x
";
    fuzz(&[KUBECONFIG.as_bytes()], |text, round| {
        let text = String::from_utf8_lossy(text);
        let problem = kubeconfig::problem(
            &text,
            FieldPath::root(),
            "secret/kubeconfig",
            round % 2 == 0,
        );
        let told = problem.map(|it| it.message).unwrap_or_default();
        assert!(!told.contains("hunter2"), "round {round}: {told}");
    });
}

#[test]
fn no_yaml_causes_a_panic_or_a_hang() {
    const CLOUD_CONFIG: &str = "\
#cloud-config
packages: [jq]
write_files:
- {path: /a, permissions: 0644, content: \"b\"}
runcmd:
- |
  set -e
  echo $HOME
users: &users
- name: a
others: *users
";
    fuzz(&[CLOUD_CONFIG.as_bytes(), SHOOT.as_bytes()], |text, _| {
        let _ = read_yaml::<serde_json::Value>(&String::from_utf8_lossy(text));
    });
}

fn check(text: &[u8], round: u64) {
    let context = LoadContext::at(today());
    let loaded = judge(
        Manifest::parse([("fuzz.yaml".to_owned(), text.to_vec())]),
        &context,
    );
    let manifest = &loaded.manifest;
    for problem in manifest.problems().iter().chain(manifest.warnings()) {
        let text = String::from_utf8_lossy(text);
        let place = problem.span.expect("every problem has a place");
        let source = &manifest.sources()[0];
        let (line, column) = source.line_column(place.start);
        let is_inside = line >= 1 && column >= 1 && place.end as usize <= source.text.len() + 1;
        assert!(is_inside, "round {round}: {problem:?}\n{text}");
        assert!(
            !["schema/unreadable", "shoot/unresolved"].contains(&problem.code),
            "round {round}: {problem:?}\n{text}"
        );
    }
    if round.is_multiple_of(16) {
        let few = &manifest.problems()[..manifest.problems().len().min(5)];
        problems::all_as_text(few, &[], manifest.sources(), false, 100);
        problems::json(few, &[], manifest.sources());
    }
}
