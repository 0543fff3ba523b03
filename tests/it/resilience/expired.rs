//! A shoot whose certificates have all expired.

use crate::support::provider::{POD, Provider, SECRET};
use crate::support::shoot_api::ShootApi;
use crate::support::shoots::Manifest;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::api::DynamicObject;
use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, Issuer, KeyPair,
    date_time_ymd,
};
use serde_json::json;
use std::time::Duration;

const NAME: &str = "stale";
/// Midnight of 2 January 2020 and 2021, in seconds since 1970.
const BEGIN: u32 = 1_577_923_200;
const END: u32 = 1_609_545_600;

fn text(secret: &DynamicObject, key: &str) -> String {
    let text = secret.data["data"][key].as_str().unwrap_or_default();
    String::from_utf8(STANDARD.decode(text).unwrap()).unwrap()
}

fn annotation<'a>(secret: &'a DynamicObject, key: &str) -> &'a str {
    let annotations = secret.metadata.annotations.as_ref().unwrap();
    annotations.get(key).map(String::as_str).unwrap_or_default()
}

/// The same certificate of the same CA, but expired.
fn expired(leaf: &DynamicObject, root: &DynamicObject) -> String {
    let pem = text(leaf, "tls.crt");
    let (_, pem) = x509_parser::pem::parse_x509_pem(pem.as_bytes()).unwrap();
    let certificate = pem.parse_x509().unwrap();
    let name = certificate.subject().iter_common_name().next().unwrap();
    let names = annotation(leaf, "kvshoot.io/names").split(',');
    let names: Vec<String> = names
        .filter(|it| !it.is_empty())
        .map(str::to_owned)
        .collect();
    let mut params = CertificateParams::new(names).unwrap();
    params.distinguished_name = DistinguishedName::new();
    params
        .distinguished_name
        .push(DnType::CommonName, name.as_str().unwrap());
    params.extended_key_usages = vec![
        ExtendedKeyUsagePurpose::ServerAuth,
        ExtendedKeyUsagePurpose::ClientAuth,
    ];
    params.not_before = date_time_ymd(2020, 1, 2);
    params.not_after = date_time_ymd(2021, 1, 2);
    let authority = KeyPair::from_pem(&text(root, "tls.key")).unwrap();
    let issuer = Issuer::from_ca_cert_pem(&text(root, "tls.crt"), authority).unwrap();
    let key = KeyPair::from_pem(&text(leaf, "tls.key")).unwrap();
    params.signed_by(&key, &issuer).unwrap().pem()
}

/// Lets all certificates of the control plane expire, and restarts it. Returns how many there are.
fn expire_all(provider: &Provider) -> usize {
    let secrets = provider.list(SECRET);
    let key_of = |it: &DynamicObject| annotation(it, "kvshoot.io/key").to_owned();
    let with_key =
        |it: &&DynamicObject| it.metadata.annotations.is_some() && !key_of(it).is_empty();
    let is_root = |it: &DynamicObject| annotation(it, "kvshoot.io/issuer") == key_of(it);
    let certificates: Vec<&DynamicObject> = secrets.iter().filter(with_key).collect();
    let leaves: Vec<_> = certificates.iter().filter(|it| !is_root(it)).collect();
    for leaf in &leaves {
        let issuer = annotation(leaf, "kvshoot.io/issuer");
        let mut roots = certificates.iter().filter(|it| is_root(it));
        let root = roots.find(|it| key_of(it) == issuer).unwrap();
        let patch = json!({
            "metadata": { "annotations": {
                "kvshoot.io/not-before": BEGIN.to_string(), "kvshoot.io/not-after": END.to_string(),
            } },
            "data": { "tls.crt": STANDARD.encode(expired(leaf, root)) },
        });
        provider.patch(SECRET, leaf.metadata.name.as_deref().unwrap(), &patch);
    }
    for pod in provider.names(POD) {
        if !pod.starts_with("virt-launcher") {
            provider.delete(POD, &pod);
        }
    }
    leaves.len()
}

#[test]
#[ignore = "second tier: restarts a whole control plane that cannot start; unit tests renew each certificate"]
fn one_apply_renews_a_control_plane_whose_certificates_have_all_expired() {
    let provider = Provider::new();
    let manifest = Manifest::small(NAME);
    provider.assert_applied(&manifest, "created");
    let kvshoot = provider.kvshoot_with(&manifest);
    let old = ShootApi::connect(&provider, &kvshoot, NAME);
    assert_eq!(expire_all(&provider), 11);
    let limit = Duration::from_secs(5);
    provider.wait_for("an API server that is not trusted", |_| {
        !old.responds("/api/v1/nodes", limit)
    });
    let status = kvshoot.run(&format!("status {NAME}"));
    assert_eq!(status.code, 1, "{status}");
    assert!(status.out.contains("has expired"), "{status}");

    provider.assert_applied(&manifest, "configured");
    assert!(old.responds("/api/v1/nodes", Duration::from_secs(60)));
    let healthy = kvshoot.run(&format!("wait {NAME} --timeout 3m"));
    assert_eq!(healthy.code, 0, "{healthy}");
    provider.assert_unchanged(&manifest);
    provider.assert_deleted(NAME);
}
