//! Keys and certificates, checked with openssl, kubectl and kubeadm.

use crate::support::provider::{self, Provider, SECRET};
use crate::support::shoot_api::ShootApi;
use crate::support::shoots::Manifest;
use kube::api::DynamicObject;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

pub(super) const NAME: &str = "whole";
/// Certificates: Secret, purpose, and a required DNS name.
const LEAVES: [(&str, &str, &str); 11] = [
    ("kube-apiserver", "sslserver", "kubernetes.default.svc"),
    ("etcd-server", "sslserver", "localhost"),
    ("etcd-peer", "sslserver", "shoot--local--whole-etcd-0"),
    ("kube-apiserver-kubelet-client", "sslclient", ""),
    ("kube-apiserver-etcd-client", "sslclient", ""),
    ("front-proxy-client", "sslclient", ""),
    ("kube-controller-manager", "sslclient", ""),
    ("kube-scheduler", "sslclient", ""),
    ("cloud-controller-manager", "sslclient", ""),
    ("csi-controller", "sslclient", ""),
    ("konnectivity-server", "sslclient", ""),
];
const TOKEN: (&str, &str) = ("abcdef", "0123456789abcdef");

/// openssl and kubectl accept the keys of the shoot [`NAME`], and certificates are renewed.
pub(super) fn are_accepted(provider: &Provider, manifest: &Manifest, api: &ShootApi) {
    openssl_verifies_every_certificate(provider);
    kubectl_has_the_user_and_permissions_of_the_kubeconfig(provider, api);
    a_renewed_certificate_rolls_the_pods_that_mount_it(provider, manifest);
}

#[test]
#[ignore = "second tier: builds kubeadm; machines join in the first tier by the same token and CA"]
fn kubeadm_accepts_a_shoot() {
    let provider = Provider::new();
    provider.assert_applied(&Manifest::small(NAME), "created");
    let api = ShootApi::connect(&provider, &provider.kvshoot(), NAME);
    kubeadm_joins_in_a_dry_run(&provider, &api);
}

fn secret(provider: &Provider, part: &str) -> DynamicObject {
    let name = format!("shoot--local--{NAME}-{part}");
    provider.get(SECRET, &name).unwrap()
}

fn key(secret: &DynamicObject, key: &str) -> Vec<u8> {
    use base64::Engine;
    let text = secret.data["data"][key].as_str().unwrap();
    let engine = base64::engine::general_purpose::STANDARD;
    engine.decode(text).unwrap()
}

fn output_of(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(output.status.success(), "{command:?}\n{text}");
    text
}

fn openssl(folder: &Path, line: &str) -> String {
    output_of(
        Command::new("openssl")
            .args(line.split_whitespace())
            .current_dir(folder),
    )
}

fn openssl_verifies_every_certificate(provider: &Provider) {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    for root in ["ca", "etcd-ca", "front-proxy-ca"] {
        let secret = secret(provider, root);
        fs::write(folder.join("ca.crt"), key(&secret, "tls.crt")).unwrap();
        assert_valid_for(folder, "ca.crt", 3650);
        let text = openssl(folder, "x509 -in ca.crt -noout -text");
        assert!(text.contains("CA:TRUE"), "{text}");
    }
    for (part, purpose, name) in LEAVES {
        let secret = secret(provider, part);
        for file in ["ca.crt", "tls.crt", "tls.key"] {
            fs::write(folder.join(file), key(&secret, file)).unwrap();
        }
        let verify = format!("verify -x509_strict -CAfile ca.crt -purpose {purpose} tls.crt");
        assert_eq!(openssl(folder, &verify), "tls.crt: OK\n", "{part}");
        let of_key = openssl(folder, "pkey -in tls.key -pubout");
        assert_eq!(of_key, openssl(folder, "x509 -in tls.crt -noout -pubkey"));
        assert_valid_for(folder, "tls.crt", 365);
        let text = openssl(folder, "x509 -in tls.crt -noout -text");
        assert!(
            text.contains("CA:FALSE") && text.contains("prime256v1"),
            "{part}: {text}"
        );
        assert_eq!(
            text.contains("DNS:"),
            !name.is_empty() && text.contains(name),
            "{part}: {text}"
        );
    }
    let api_server = openssl_names(provider, folder);
    for name in ["100.64.0.1", "127.0.0.1", &cluster_address(provider)] {
        assert!(
            api_server.contains(&format!("IP Address:{name}")),
            "{api_server}"
        );
    }
}

fn openssl_names(provider: &Provider, folder: &Path) -> String {
    let crt = key(&secret(provider, "kube-apiserver"), "tls.crt");
    fs::write(folder.join("tls.crt"), crt).unwrap();
    openssl(folder, "x509 -in tls.crt -noout -ext subjectAltName")
}

fn cluster_address(provider: &Provider) -> String {
    let name = format!("shoot--local--{NAME}-kube-apiserver");
    let service = provider
        .get(crate::support::shoot_api::SERVICE, &name)
        .unwrap();
    service.data["spec"]["clusterIP"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// Asserts the remaining validity in days, with a tolerance of one day.
fn assert_valid_for(folder: &Path, file: &str, days: u32) {
    let ends = |days: u32| {
        let seconds = (days * 86400).to_string();
        let mut command = Command::new("openssl");
        command.args(["x509", "-noout", "-checkend", &seconds, "-in", file]);
        !command
            .current_dir(folder)
            .output()
            .unwrap()
            .status
            .success()
    };
    assert!(!ends(days - 1), "{file} expires within {days} days");
    assert!(ends(days + 1), "{file} does not expire within {days} days");
}

fn kubectl_has_the_user_and_permissions_of_the_kubeconfig(provider: &Provider, api: &ShootApi) {
    let folder = TempDir::new().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    fs::write(&kubeconfig, &api.kubeconfig).unwrap();
    let kubectl = |line: &str| {
        let mut command = Command::new(programs(provider).join("kubectl"));
        command.arg("--kubeconfig").arg(&kubeconfig);
        output_of(command.args(line.split_whitespace()))
    };
    let whoami: Value = serde_json::from_str(&kubectl("auth whoami -o json")).unwrap();
    let user = &whoami["status"]["userInfo"];
    println!("{user}");
    let groups: Vec<&str> = user["groups"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert!(groups.contains(&"system:authenticated"), "{user}");
    // Permissions of system:masters cannot be revoked, so it is not used.
    assert!(!groups.contains(&"system:masters"), "{user}");
    assert_eq!(kubectl("auth can-i * *").trim(), "yes");
    let nodes = kubectl("get nodes --no-headers");
    let count = api.nodes().len();
    assert_eq!(nodes.matches(" Ready ").count(), count, "{nodes}");
}

/// Directory of the programs of the sandbox.
fn programs(provider: &Provider) -> PathBuf {
    let state = fs::read_to_string(provider.folder().join("state.json")).unwrap();
    let state: Value = serde_json::from_str(&state).unwrap();
    let cache = match std::env::var_os("XDG_CACHE_HOME") {
        Some(folder) => PathBuf::from(folder),
        None => PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache"),
    };
    let cache = cache.join("kvshoot/sandbox");
    cache.join(state["madeWith"].as_str().unwrap()).join("bin")
}

/// Builds kubeadm from the Kubernetes module of the sandbox.
fn kubeadm(version: &str) -> PathBuf {
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("kubeadm");
    let package = "k8s.io/component-base/version";
    let stamp = format!(
        "-s -w -X {package}.gitVersion=v{version} -X {package}.gitMajor=1 -X {package}.gitMinor=34"
    );
    let mut go = Command::new("go");
    go.arg("build")
        .args(provider::go_flags())
        .args(["-ldflags", &stamp, "-o"])
        .arg(&program)
        .arg("k8s.io/kubernetes/cmd/kubeadm")
        .envs([
            ("CGO_ENABLED", "0"),
            ("GOFLAGS", "-mod=readonly"),
            ("GOWORK", "off"),
        ])
        .current_dir("src/sandbox/programs/k8s");
    output_of(&mut go);
    program
}

/// kubeadm finds the cluster by a token and the digest of its CA, and reads the configuration of kubelets.
fn kubeadm_joins_in_a_dry_run(provider: &Provider, api: &ShootApi) {
    let (id, secret) = TOKEN;
    let object = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "bootstrap.kubernetes.io/token",
        "metadata": {"name": format!("bootstrap-token-{id}")},
        "stringData": {
            "token-id": id, "token-secret": secret, "usage-bootstrap-authentication": "true",
            "usage-bootstrap-signing": "true", "auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token",
        },
    });
    api.create(SECRET, "kube-system", object);
    let signed = |it: &Value| it["data"][format!("jws-kubeconfig-{id}")].is_string();
    api.wait_for(
        provider::CONFIG_MAP,
        ("kube-public", "cluster-info"),
        signed,
    );
    let folder = TempDir::new().unwrap();
    let crt = key(&self::secret(provider, "ca"), "tls.crt");
    fs::write(folder.path().join("ca.crt"), crt).unwrap();
    openssl(folder.path(), "x509 -in ca.crt -noout -pubkey -out ca.pub");
    openssl(
        folder.path(),
        "pkey -pubin -in ca.pub -outform DER -out ca.der",
    );
    let digest = openssl(folder.path(), "dgst -sha256 -r ca.der");
    let pin = digest.split_whitespace().next().unwrap();
    let output = Command::new(kubeadm("1.34.2"))
        .args(["join", &format!("{}:6443", cluster_address(provider))])
        .args(["--token", &format!("{id}.{secret}")])
        .args(["--discovery-token-ca-cert-hash", &format!("sha256:{pin}")])
        .args(["--dry-run", "--ignore-preflight-errors=all"])
        .args(["--node-name", "guest"])
        .env("KUBEADM_JOIN_DRYRUN_DIR", folder.path())
        .output()
        .unwrap();
    let is_success = output.status.success();
    let output = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(is_success, "{output}");
    assert!(
        output.contains("This node has joined the cluster"),
        "{output}"
    );
    assert!(output.contains("clusterDNS:"), "{output}");
}

fn a_renewed_certificate_rolls_the_pods_that_mount_it(provider: &Provider, manifest: &Manifest) {
    let before = secret(provider, "kube-scheduler");
    let name = before.metadata.name.clone().unwrap();
    let pods = pods(provider);
    let mounting: BTreeSet<String> = pods
        .iter()
        .filter(|it| mounts(it, &name))
        .map(|it| it.metadata.name.clone().unwrap())
        .collect();
    assert_eq!(mounting.len(), 1);
    // The annotation of a certificate that is about to expire.
    let soon = json!({"metadata": {"annotations": {"kvshoot.io/not-after": "1700000000"}}});
    provider.patch(SECRET, &name, &soon);
    provider.assert_applied(manifest, "configured");
    let after = secret(provider, "kube-scheduler");
    assert_ne!(key(&before, "tls.crt"), key(&after, "tls.crt"));
    let names = |pods: &[DynamicObject]| -> BTreeSet<String> {
        pods.iter()
            .map(|it| it.metadata.name.clone().unwrap())
            .collect()
    };
    let original = names(&pods);
    provider.wait_for("the old pod to be deleted", |it| {
        let now = names(&self::pods(it));
        let deleted: BTreeSet<String> = original.difference(&now).cloned().collect();
        deleted == mounting && now.len() == original.len()
    });
    provider.assert_applied(manifest, "unchanged");
}

/// Pods of the control plane.
fn pods(provider: &Provider) -> Vec<DynamicObject> {
    let mut pods = provider.list(provider::POD);
    let label = "app.kubernetes.io/component";
    pods.retain(|pod| {
        let mut labels = pod.metadata.labels.iter().flatten();
        labels.any(|(key, _)| key == label)
    });
    assert!(pods.len() >= 6, "{} pods", pods.len());
    pods
}

fn mounts(pod: &DynamicObject, secret: &str) -> bool {
    pod.data["spec"]["volumes"]
        .to_string()
        .contains(&format!("\"{secret}\""))
}
