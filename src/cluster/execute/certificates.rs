//! Generation of keys and certificates at the moment that their Secret is written; they are stored nowhere else.

use super::executor::Executor;
use crate::cluster::client::certificate_authority::{CertificateAuthority, certificate_error};
use crate::cluster::client::error::Error;
use crate::cluster::json::text;
use crate::pki::{self, Authority, CertificateInfo, LeafProfile, PemPair, PkiError, Validity};
use crate::state::action::{IssuedSecret, KeyMaterial, LeafCertificate};
use crate::state::hash::Hash;
use crate::state::json::SecretJson;
use crate::state::key::ObjectKey;
use crate::state::names;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Data of a Secret, and annotations that describe it.
#[derive(Default)]
pub(super) struct GeneratedSecret {
    pub(super) data: BTreeMap<&'static str, SecretString>,
    pub(super) annotations: BTreeMap<&'static str, String>,
}

impl Executor {
    /// Replaces leaf certificates. Roots and keys are never overwritten, except by a rotation, which keeps what is in use:
    /// everything that depends on them would be lost.
    pub(crate) async fn issue(&self, key: &ObjectKey, issue: &IssuedSecret) -> Result<(), Error> {
        let rotated = issue.what.generation().filter(|it| !it.is_first());
        if let Some(generation) = rotated {
            return self.rotate_secret(key, issue, generation).await;
        }
        let scope = (key.side, key.kind);
        let (root, renews) = match &issue.what {
            KeyMaterial::Leaf(leaf) => (
                Some(self.issuing_authority(leaf, &issue.object).await?),
                self.exists(scope, &key.name),
            ),
            _ => (None, false),
        };
        let made = generate(&issue.what, root.as_ref(), self.provider.current_time());
        let made = made.map_err(|source| certificate_error(&key.name, source))?;
        let secret = made.merge_into(&issue.object);
        match renews {
            true => self.replace(scope, &key.name, &secret).await,
            false => self.create(scope, &key.name, &secret).await,
        }
    }

    async fn issuing_authority(
        &self,
        leaf: &LeafCertificate,
        object: &Value,
    ) -> Result<CertificateAuthority, Error> {
        let shoot = text(&object["metadata"]["labels"][names::PART_OF]);
        let provider = &self.provider;
        let root = match leaf.is_of_previous {
            true => provider.previous_authority(shoot, &leaf.root).await,
            false => provider.certificate_authority(shoot, &leaf.root).await,
        };
        match root {
            // It existed when this was planned.
            Err(Error::NotFound { what }) => Err(Error::Conflict { what }),
            other => other,
        }
    }
}

fn generate(
    what: &KeyMaterial,
    root: Option<&CertificateAuthority>,
    now: i64,
) -> Result<GeneratedSecret, PkiError> {
    let mut made = GeneratedSecret::default();
    match (what, root) {
        (KeyMaterial::Root { common_name, .. }, _) => {
            let root = Authority::new(common_name, Validity::for_ca(now))?;
            let pair = root.pair();
            made.add_certificate(pair, pair, pair.certificate.clone())?;
            let bundle = pair.certificate.clone();
            made.annotations
                .insert(names::CERTIFICATE_AUTHORITY, bundle);
        }
        (KeyMaterial::Leaf(leaf), Some(root)) => {
            let organizations: Vec<&str> = leaf.organization.into_iter().collect();
            let profile = LeafProfile {
                common_name: &leaf.common_name,
                organizations: &organizations,
                names: &leaf.names,
                server: leaf.server,
                client: leaf.client,
            };
            let pair = root.authority.issue(&profile, Validity::for_leaf(now))?;
            made.add_certificate(&pair, root.authority.pair(), root.bundle.clone())?;
            if let Some(server) = &leaf.kubeconfig {
                made.data
                    .insert("kubeconfig", component_kubeconfig(server, leaf).into());
            }
        }
        (KeyMaterial::Leaf(leaf), None) => return Err(PkiError::CaNotFound(leaf.root.to_string())),
        (KeyMaterial::SigningKey(_), _) => {
            let pair = pki::signing_key("service account tokens")?;
            made.data.insert("key", pair.key);
            made.data.insert("pub", pair.certificate.into());
        }
        (KeyMaterial::EncryptionKey(_), _) => {
            let config = pki::encryption_configuration()?;
            made.data.insert("config.yaml", config);
        }
    }
    Ok(made)
}

impl GeneratedSecret {
    pub(super) fn add_certificate(
        &mut self,
        pair: &PemPair,
        root: &PemPair,
        bundle: String,
    ) -> Result<(), PkiError> {
        let certificate = CertificateInfo::parse(&pair.certificate)?;
        let issuer = CertificateInfo::parse(&root.certificate)?;
        self.data.insert("tls.crt", pair.certificate.clone().into());
        self.data.insert("tls.key", pair.key.clone());
        self.data.insert("ca.crt", bundle.into());
        self.annotations.extend([
            (names::NOT_BEFORE, certificate.from.to_string()),
            (names::NOT_AFTER, certificate.until.to_string()),
            (names::CERTIFICATE_NAMES, certificate.names.join(",")),
            (
                names::CERTIFICATE_KEY,
                Hash::of(&certificate.pin).to_string(),
            ),
            (names::CERTIFICATE_ISSUER, Hash::of(&issuer.pin).to_string()),
        ]);
        Ok(())
    }

    pub(super) fn merge_into(self, object: &Value) -> SecretJson {
        let mut secret = SecretJson::from(object.clone());
        let data = self.data.iter();
        let data: BTreeMap<_, _> = data.map(|(key, it)| (*key, it.expose_secret())).collect();
        let checksum = Hash::of_json(&SecretJson::from(json!(data))).to_string();
        for (key, text) in data {
            secret["data"][key] = STANDARD.encode(text).into();
        }
        let annotations = &mut secret["metadata"]["annotations"];
        for (key, text) in self.annotations {
            annotations[key] = text.into();
        }
        annotations[names::CHECKSUM] = checksum.into();
        secret
    }
}

/// Refers to the files next to it, so that a renewed certificate is used without another kubeconfig.
fn component_kubeconfig(server: &str, leaf: &LeafCertificate) -> String {
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": "shoot", "cluster": {
            "server": server, "certificate-authority": "ca.crt",
        }}],
        "users": [{ "name": leaf.common_name, "user": {
            "client-certificate": "tls.crt", "client-key": "tls.key",
        }}],
        "contexts": [{ "name": "shoot", "context": { "cluster": "shoot", "user": leaf.common_name } }],
        "current-context": "shoot",
    });
    serde_yaml::to_string(&config).expect("JSON is valid YAML")
}

#[cfg(test)]
#[path = "certificates_tests.rs"]
mod tests;
