//! Certificates of control planes, in the Secrets that hold them.

use super::{Provider, SECRET};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::civil::Date;
use kube::api::DynamicObject;
use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, Issuer, KeyPair,
    date_time_ymd,
};
use serde_json::json;

/// The certificates of a control plane without its certificate authorities.
pub(crate) struct Certificates {
    roots: Vec<DynamicObject>,
    pub(crate) leaves: Vec<DynamicObject>,
}

impl Certificates {
    pub(crate) fn of(provider: &Provider) -> Certificates {
        let secrets = provider.list(SECRET).into_iter();
        let has_key = |it: &DynamicObject| !key_of(it).is_empty();
        let is_root = |it: &DynamicObject| annotation(it, "kvshoot.io/issuer") == key_of(it);
        let (roots, leaves) = secrets.filter(has_key).partition(is_root);
        Certificates { roots, leaves }
    }

    /// Replaces a certificate by the same one with another validity, from midnight to midnight.
    pub(crate) fn replace(&self, provider: &Provider, leaf: &DynamicObject, from: Date, to: Date) {
        let issuer = annotation(leaf, "kvshoot.io/issuer");
        let root = self.roots.iter().find(|it| key_of(it) == issuer).unwrap();
        let patch = json!({
            "metadata": { "annotations": {
                "kvshoot.io/not-before": seconds(from), "kvshoot.io/not-after": seconds(to),
            } },
            "data": { "tls.crt": STANDARD.encode(reissued(leaf, root, from, to)) },
        });
        provider.patch(SECRET, leaf.metadata.name.as_deref().unwrap(), &patch);
    }
}

fn key_of(secret: &DynamicObject) -> &str {
    annotation(secret, "kvshoot.io/key")
}

/// An annotation; empty if there is none.
pub(crate) fn annotation<'a>(secret: &'a DynamicObject, key: &str) -> &'a str {
    let mut all = secret.metadata.annotations.iter().flatten();
    all.find(|it| it.0 == key).map_or("", |it| it.1.as_str())
}

/// Midnight of a day in seconds since 1970.
fn seconds(day: Date) -> String {
    let midnight = day.at(0, 0, 0, 0).in_tz("UTC").unwrap();
    midnight.timestamp().as_second().to_string()
}

fn text(secret: &DynamicObject, key: &str) -> String {
    let text = secret.data["data"][key].as_str().unwrap_or_default();
    String::from_utf8(STANDARD.decode(text).unwrap()).unwrap()
}

/// The same certificate of the same CA, with another validity.
fn reissued(leaf: &DynamicObject, root: &DynamicObject, from: Date, to: Date) -> String {
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
    let name = name.as_str().unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params.extended_key_usages = vec![
        ExtendedKeyUsagePurpose::ServerAuth,
        ExtendedKeyUsagePurpose::ClientAuth,
    ];
    let day = |it: Date| date_time_ymd(it.year().into(), it.month() as u8, it.day() as u8);
    (params.not_before, params.not_after) = (day(from), day(to));
    let authority = KeyPair::from_pem(&text(root, "tls.key")).unwrap();
    let issuer = Issuer::from_ca_cert_pem(&text(root, "tls.crt"), authority).unwrap();
    let key = KeyPair::from_pem(&text(leaf, "tls.key")).unwrap();
    params.signed_by(&key, &issuer).unwrap().pem()
}
