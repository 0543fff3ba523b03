//! Certificates and kubeconfigs of a sandbox.

use super::error::SandboxError;
use super::private_files;
use super::state::{Ports, Row};
use crate::pki::{Authority, LeafProfile, PemPair, Validity, signing_key};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use std::path::Path;

const MASTERS: &str = "system:masters";

/// Kubeconfigs: name, user and groups.
///
/// KubeVirt's webhook reverts changes of a status unless KubeVirt's own accounts make them.
const USERS: [(&str, &str, &[&str]); 6] = [
    ("admin", "kvshoot-sandbox-admin", &[MASTERS]),
    (
        "kube-controller-manager",
        "system:kube-controller-manager",
        &[],
    ),
    ("kube-scheduler", "system:kube-scheduler", &[]),
    (
        "virt-controller",
        "system:serviceaccount:kubevirt:kubevirt-controller",
        &[MASTERS],
    ),
    (
        "virt-handler",
        "system:serviceaccount:kubevirt:kubevirt-handler",
        &[MASTERS],
    ),
    (
        "virt-api",
        "system:serviceaccount:kubevirt:kubevirt-apiserver",
        &[MASTERS],
    ),
];

const SANS: [&str; 7] = [
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "virt-api.kubevirt.svc",
    "cdi-api.cdi.svc",
    "127.0.0.1",
];

/// The beginning of 2025.
const BEGIN: i64 = 1_735_689_600;
/// Twenty years: certificates of a sandbox are never renewed.
const LIFETIME: i64 = 20 * 365 * 24 * 60 * 60;
/// When certificates of a sandbox expire, in seconds since 1970.
pub(super) const END: i64 = BEGIN + LIFETIME;

fn life() -> Validity {
    Validity::for_seconds(BEGIN, LIFETIME)
}

/// A certificate for servers and clients.
fn server_and_client<'a>(
    name: &'a str,
    groups: &'a [&'a str],
    names: &'a [String],
) -> LeafProfile<'a> {
    LeafProfile {
        common_name: name,
        organizations: groups,
        names,
        server: true,
        client: true,
    }
}

/// Creates all certificates of a new sandbox.
pub(super) fn certificates(folder: &Path, row: Row) -> Result<(), SandboxError> {
    let pki = folder.join("pki");
    private_files::make_dir(&pki)?;
    let save = |name: &str, pair: &PemPair, public: &str| {
        private_files::write(&pki.join(format!("{name}.key")), pair.key.expose_secret())?;
        private_files::write(&pki.join(format!("{name}.{public}")), &pair.certificate)
    };
    let ca = Authority::new("kvshoot-sandbox-ca", life())?;
    let front = Authority::new("kvshoot-sandbox-front-proxy-ca", life())?;
    let mut names = SANS.map(str::to_owned).to_vec();
    names.push(row.api());
    let server = ca.issue(&server_and_client("kube-apiserver", &[], &names), life())?;
    let proxy = front.issue(&server_and_client("front-proxy-client", &[], &[]), life())?;
    save("ca", ca.pair(), "crt")?;
    save("front-proxy-ca", front.pair(), "crt")?;
    save("server", &server, "crt")?;
    // The API server's identity towards the simulated kubelets.
    let client = ca.issue(
        &server_and_client("kube-apiserver-kubelet-client", &[], &[]),
        life(),
    )?;
    save("kubelet-client", &client, "crt")?;
    save("front-proxy-client", &proxy, "crt")?;
    save("sa", &signing_key("service account tokens")?, "pub")?;
    for (name, user, groups) in USERS {
        save(
            name,
            &ca.issue(&server_and_client(user, groups, &[]), life())?,
            "crt",
        )?;
    }
    Ok(())
}

/// Writes the kubeconfigs, at each start because the port may change.
pub(super) fn kubeconfigs(folder: &Path, context: &str, ports: Ports) -> Result<(), SandboxError> {
    use base64::Engine;
    let encode = |file: String| {
        private_files::read(&folder.join("pki").join(file))
            .map(|text| base64::engine::general_purpose::STANDARD.encode(text))
    };
    let ca = encode("ca.crt".into())?;
    for (name, ..) in USERS {
        let text = config(
            context,
            ports.api(),
            &ca,
            &encode(format!("{name}.crt"))?,
            &encode(format!("{name}.key"))?,
        );
        let text = serde_yaml::to_string(&text).map_err(|error| SandboxError::Io {
            what: "write a kubeconfig".into(),
            source: std::io::Error::other(error),
        })?;
        private_files::write(&folder.join(format!("{name}.kubeconfig")), &text)?;
    }
    Ok(())
}

fn config(context: &str, port: u16, ca: &str, certificate: &str, key: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": context,
        "clusters": [{"name": context, "cluster": {
            "server": format!("https://127.0.0.1:{port}"), "certificate-authority-data": ca,
        }}],
        "users": [{"name": context, "user": {"client-certificate-data": certificate, "client-key-data": key}}],
        "contexts": [{"name": context, "context": {"cluster": context, "user": context, "namespace": "default"}}],
    })
}
