//! Kubeconfigs, exec and tunnel of a shoot, and the checks of `doctor`.

use crate::support::kvshoot::Kvshoot;
use crate::support::provider::Provider;
use crate::support::proxy::wait_until;
use crate::support::shoots::Manifest;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use serde_json::json;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

const OTHERS: &str = "\
apiVersion: v1
kind: Config
current-context: prod
x-own: kept
# Of the team.
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
fn the_roles_in_the_examples_are_the_ones_that_doctor_prints() {
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
fn kubeconfig_remove_deletes_only_merged_contexts() {
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
    assert!(after.contains("# Of the team.\n"), "{after}");
    let copy = kvshoot.home().join("config.bak");
    assert_eq!(fs::read_to_string(&copy).unwrap(), OTHERS);
    assert_eq!(fs::metadata(&copy).unwrap().mode() & 0o777, 0o600);
    // A context of another program is not removed, and the file does not change.
    let output = kvshoot.run("kubeconfig remove prod");
    assert_eq!((output.code, &*output.out), (0, ""));
    let again = fs::read_to_string(kvshoot.home().join("config")).unwrap();
    assert_eq!(after, again);
}

#[test]
fn exec_exits_with_125_if_it_fails_itself() {
    let output = Kvshoot::new().run("exec dev -- true");
    assert_eq!(output.code, 125, "{output}");
    let output = Kvshoot::new().run("exec dev");
    assert_eq!(output.code, 2, "{output}");
}

#[test]
fn doctor_passes_in_the_sandbox_and_reports_unmet_requirements_of_a_manifest() {
    let kvshoot = Provider::new().kvshoot();
    let output = kvshoot.run("doctor");
    assert!(output.out.contains("ok       KubeVirt"), "{output}");
    assert!(output.out.contains("ok       permissions"), "{output}");
    assert_eq!(output.code, 0, "{output}");
    // A requirement of this manifest that is disabled in the sandbox.
    let manifest = Manifest::small("whole").pool(|it| {
        it["providerConfig"] = json!({
            "apiVersion": "kubevirt.provider.extensions.gardener.cloud/v1alpha1", "kind": "WorkerConfig",
            "cpu": { "dedicatedCpuPlacement": true },
        });
    });
    let kvshoot = kvshoot.file("shoot.yaml", &manifest.text());
    let output = kvshoot.run("doctor -f shoot.yaml");
    assert_eq!(output.code, 1, "{output}");
    let expected = "failure  dedicated CPUs       feature gate CPUManager is disabled";
    assert!(output.out.contains(expected), "{output}");
    let output = kvshoot.run("kubeconfig get dev");
    assert_eq!(output.code, 7, "{output}");
    let output = kvshoot.run("wait dev --for deleted --timeout 0s");
    assert_eq!(output.code, 0, "{output}");
}

/// Returns true if a client with this kubeconfig can read an object of the cluster.
async fn has_access(text: &str) -> bool {
    let kubeconfig = Kubeconfig::from_yaml(text).unwrap();
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
    let client = Client::try_from(config.unwrap()).unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(client, "kube-system");
    maps.get("extension-apiserver-authentication").await.is_ok()
}

/// By kubeconfig, exec and tunnel, already during the apply.
#[test]
fn a_shoot_is_reachable_by_kubeconfig_exec_and_tunnel_while_it_is_created() {
    let provider = Provider::new();
    let example = fs::read_to_string("examples/minimal.yaml").unwrap();
    let kvshoot = provider.kvshoot().file("shoot.yaml", &example);
    let mut apply = kvshoot.start("apply -f shoot.yaml --timeout 10m");
    apply.wait_for("kube-apiserver", std::time::Duration::from_secs(60));
    let output = kvshoot.run("wait minimal --for api-server --timeout 1m");
    assert_eq!(output.code, 0, "{output}");

    let output = kvshoot.run("kubeconfig get minimal --ttl 10m");
    assert_eq!(output.code, 0, "{output}");
    // The binding of the group is created soon after.
    wait_until(|| provider.block_on(has_access(&output.out)));

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

    let own = kvshoot.home().join("own");
    fs::write(&own, OTHERS).unwrap();
    let output = kvshoot.run("kubeconfig merge minimal --into own");
    assert_eq!(output.code, 0, "{output}");
    let merged = fs::read_to_string(&own).unwrap();
    assert!(merged.contains("# Of the team.\n"), "{merged}");
    assert!(merged.contains("name: prod") && merged.contains("minimal"));
    let copy = kvshoot.home().join("own.bak");
    assert_eq!(fs::read_to_string(&copy).unwrap(), OTHERS);
    for file in [&own, &copy] {
        assert_eq!(fs::metadata(file).unwrap().mode() & 0o777, 0o600);
    }

    let kvshoot = super::test_program::assert_runs(kvshoot, "minimal");

    // Without kubectl in PATH, the sandbox offers its own.
    let kvshoot = kvshoot.env("PATH", "/nonexistent");
    let output = kvshoot.run("exec minimal -- kubectl get --raw /readyz");
    assert_eq!(output.code, 127, "{output}");
    let kvshoot = provider.with_programs(kvshoot);
    let output = kvshoot.run("exec minimal -- kubectl get --raw /readyz");
    assert_eq!((output.code, &*output.out), (0, "ok"), "{output}");

    let mut tunnel = kvshoot.start("tunnel minimal");
    tunnel.wait_for(
        "to the API server; press Ctrl-C to stop",
        std::time::Duration::from_secs(60),
    );
    let line = tunnel.first_line(std::time::Duration::from_secs(60));
    let file = line.strip_prefix("export KUBECONFIG=").unwrap();
    let text = fs::read_to_string(file).unwrap();
    assert!(text.contains("https://127.0.0.1:"), "{line}");
    assert!(provider.block_on(has_access(&text)));
    tunnel.interrupt();
    let output = tunnel.wait();
    assert_eq!(output.code, 0, "{output}");
    assert!(!Path::new(file).exists());

    apply.interrupt();
    let _ = apply.wait();
}
