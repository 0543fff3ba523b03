//! Ways to a shoot, and what is looked at before there is one.

use crate::support::kvshoot::Kvshoot;
use crate::support::provider::Provider;
use crate::support::proxy::wait_until;
use crate::support::shoots::Manifest;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use serde_json::json;
use std::fs;
use std::path::Path;

const OTHERS: &str = "\
apiVersion: v1
kind: Config
current-context: prod
x-own: kept
clusters: []
users: []
contexts:
- name: prod
  context: {cluster: prod, user: prod}
- name: dev
  context:
    cluster: dev
    user: dev
    extensions:
    - name: kvshoot.io
      extension: {shoot: shoot--local--dev, namespace: shoots, server: 'https://provider'}
";

#[test]
fn the_roles_of_the_examples_are_those_of_the_program() {
    let output = Kvshoot::new().run("doctor --rbac");
    assert_eq!(output.code, 0, "{output}");
    if std::env::var("SNAPSHOTS").is_ok_and(|it| it == "overwrite") {
        fs::write("examples/rbac.yaml", &output.out).unwrap();
    }
    let example = fs::read_to_string("examples/rbac.yaml").unwrap();
    assert_eq!(example, output.out);
    let named = Kvshoot::new().run("doctor --rbac -n shoots").out;
    assert!(named.contains("\n  namespace: shoots\n"), "{named}");
}

#[test]
fn only_what_was_merged_is_removed_again() {
    let kvshoot = Kvshoot::new()
        .file("config", OTHERS)
        .env("KUBECONFIG", "config");
    let output = kvshoot.run("kubeconfig remove dev");
    assert_eq!((output.code, &*output.out), (0, "context/dev removed\n"));
    let after = fs::read_to_string(kvshoot.home().join("config")).unwrap();
    assert!(
        after.contains("prod") && after.contains("x-own: kept"),
        "{after}"
    );
    assert!(!after.contains("dev"), "{after}");
    // Again there is nothing to do, and what is of others stays byte for byte.
    let output = kvshoot.run("kubeconfig remove prod");
    assert_eq!((output.code, &*output.out), (0, ""));
    let again = fs::read_to_string(kvshoot.home().join("config")).unwrap();
    assert_eq!(after, again);
}

#[test]
fn what_exec_itself_cannot_do_has_a_code_of_its_own() {
    let output = Kvshoot::new().run("exec dev -- true");
    assert_eq!(output.code, 125, "{output}");
    let output = Kvshoot::new().run("exec dev");
    assert_eq!(output.code, 2, "{output}");
}

#[test]
fn the_sandbox_has_what_a_provider_needs_and_a_shoot_that_is_not_there_is_not_found() {
    let kvshoot = Provider::new().kvshoot();
    let output = kvshoot.run("doctor");
    assert!(output.out.contains("ok       KubeVirt"), "{output}");
    assert!(output.out.contains("ok       rights"), "{output}");
    assert_eq!(output.code, 0, "{output}");
    // What this one needs more, and nobody turned on.
    let whole = Manifest::small("whole").pool(|it| {
        it["providerConfig"] = json!({
            "apiVersion": "kubevirt.provider.extensions.gardener.cloud/v1alpha1", "kind": "WorkerConfig",
            "cpu": { "dedicatedCpuPlacement": true },
        });
    });
    let kvshoot = kvshoot.file("shoot.yaml", &whole.text());
    let output = kvshoot.run("doctor -f shoot.yaml");
    assert_eq!(output.code, 1, "{output}");
    let told = "failure  dedicated CPUs       feature gate CPUManager is off";
    assert!(output.out.contains(told), "{output}");
    let output = kvshoot.run("kubeconfig get dev");
    assert_eq!(output.code, 7, "{output}");
    let output = kvshoot.run("wait dev --for deleted --timeout 0s");
    assert_eq!(output.code, 0, "{output}");
}

/// Whether a client with this kubeconfig sees what every API server has.
async fn sees(text: &str) -> bool {
    let kubeconfig = Kubeconfig::from_yaml(text).unwrap();
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
    let client = Client::try_from(config.unwrap()).unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(client, "kube-system");
    maps.get("extension-apiserver-authentication").await.is_ok()
}

/// One apply, and every way in: a kubeconfig, a program, a tunnel.
#[test]
fn a_shoot_is_reached_by_every_way_there_is() {
    let provider = Provider::new();
    let example = fs::read_to_string("examples/minimal.yaml").unwrap();
    let kvshoot = provider.kvshoot().file("shoot.yaml", &example);
    let mut apply = kvshoot.start("apply -f shoot.yaml --timeout 10m");
    // What there is of it is told as soon as it is begun.
    apply.wait_for("kube-apiserver", std::time::Duration::from_secs(60));
    let output = kvshoot.run("wait minimal --for api-server --timeout 1m");
    assert_eq!(output.code, 0, "{output}");

    let output = kvshoot.run("kubeconfig get minimal --ttl 10m");
    assert_eq!(output.code, 0, "{output}");
    // The binding that makes the group worth something comes soon after.
    wait_until(|| provider.block_on(sees(&output.out)));

    let output = kvshoot.args([
        "exec",
        "minimal",
        "--",
        "sh",
        "-c",
        "echo $KUBECONFIG; exit 7",
    ]);
    assert_eq!(output.code, 7, "{output}");
    let file = Path::new(output.out.trim());
    assert!(file.is_absolute() && !file.exists(), "{output}");

    let mut tunnel = kvshoot.start("tunnel minimal");
    tunnel.wait_for("leads to the shoot", std::time::Duration::from_secs(60));
    let line = tunnel.first_line(std::time::Duration::from_secs(60));
    let file = line.strip_prefix("export KUBECONFIG=").unwrap();
    let text = fs::read_to_string(file).unwrap();
    assert!(text.contains("https://127.0.0.1:"), "{line}");
    assert!(provider.block_on(sees(&text)));
    tunnel.interrupt();
    let output = tunnel.wait();
    assert_eq!(output.code, 0, "{output}");
    assert!(!Path::new(file).exists());

    apply.interrupt();
    let _ = apply.wait();
}
