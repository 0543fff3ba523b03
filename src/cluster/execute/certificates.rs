//! Makes what is in a Secret of keys, when it is written: nothing else ever holds it.

use super::executor::Performer;
use crate::cluster::client::certificate_authority::{Root, keys};
use crate::cluster::client::error::Error;
use crate::cluster::json::text;
use crate::pki::{self, Authority, CertificateInfo, LeafProfile, PemPair, PkiError, Validity};
use crate::state::action::{Issue, Issued, Leaf};
use crate::state::hash::Hash;
use crate::state::key::Key;
use crate::state::names;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Content of a Secret, and what is told of it.
#[derive(Default)]
struct Made {
    data: BTreeMap<&'static str, String>,
    annotations: BTreeMap<&'static str, String>,
}

impl Performer {
    /// Leaves take the place of older ones. What signs or encrypts is never written over: all that it did would be lost.
    pub(crate) async fn issue(&self, key: &Key, issue: &Issue) -> Result<(), Error> {
        let source = (key.side, key.kind);
        let (root, renews) = match &issue.what {
            Issued::Leaf(leaf) => (
                Some(self.root_of(leaf, &issue.object).await?),
                self.is_there(source, &key.name),
            ),
            _ => (None, false),
        };
        let made = make(&issue.what, root.as_ref(), self.provider.time());
        let made = made.map_err(|source| keys(&key.name, source))?;
        let whole = made.put_into(&issue.object);
        match renews {
            true => self.replace(source, &key.name, &whole).await,
            false => self.create(source, &key.name, &whole).await,
        }
    }

    async fn root_of(&self, leaf: &Leaf, object: &Value) -> Result<Root, Error> {
        let shoot = text(&object["metadata"]["labels"][names::PART_OF]);
        match self.provider.root(shoot, &leaf.root).await {
            // It was there when this was planned.
            Err(Error::NotFound { what }) => Err(Error::Conflict { what }),
            other => other,
        }
    }
}

fn make(what: &Issued, root: Option<&Root>, now: i64) -> Result<Made, PkiError> {
    let mut made = Made::default();
    match (what, root) {
        (Issued::Root { common_name }, _) => {
            let root = Authority::new(common_name, Validity::for_ca(now))?;
            let pair = root.pair();
            made.certificate(pair, pair, pair.certificate.clone())?;
            let bundle = pair.certificate.clone();
            made.annotations
                .insert(names::CERTIFICATE_AUTHORITY, bundle);
        }
        (Issued::Leaf(leaf), Some(root)) => {
            let organizations: Vec<&str> = leaf.organization.into_iter().collect();
            let profile = LeafProfile {
                common_name: &leaf.common_name,
                organizations: &organizations,
                names: &leaf.names,
                server: leaf.server,
                client: leaf.client,
            };
            let pair = root.authority.issue(&profile, Validity::for_leaf(now))?;
            made.certificate(&pair, root.authority.pair(), root.bundle.clone())?;
            if let Some(server) = &leaf.kubeconfig {
                made.data.insert("kubeconfig", kubeconfig(server, leaf));
            }
        }
        (Issued::Leaf(leaf), None) => return Err(PkiError::CaNotFound(leaf.root.to_string())),
        (Issued::SigningKey, _) => {
            let pair = pki::signing_key("service account tokens")?;
            made.data.insert("key", pair.key);
            made.data.insert("pub", pair.certificate);
        }
        (Issued::EncryptionKey, _) => {
            let config = pki::encryption_configuration()?;
            made.data.insert("config.yaml", config);
        }
    }
    Ok(made)
}

impl Made {
    fn certificate(
        &mut self,
        pair: &PemPair,
        root: &PemPair,
        bundle: String,
    ) -> Result<(), PkiError> {
        let certificate = CertificateInfo::parse(&pair.certificate)?;
        let issuer = CertificateInfo::parse(&root.certificate)?;
        self.data.insert("tls.crt", pair.certificate.clone());
        self.data.insert("tls.key", pair.key.clone());
        self.data.insert("ca.crt", bundle);
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

    fn put_into(self, object: &Value) -> Value {
        let mut whole = object.clone();
        let checksum = Hash::of(&self.data).to_string();
        for (key, text) in self.data {
            whole["data"][key] = STANDARD.encode(text).into();
        }
        let annotations = &mut whole["metadata"]["annotations"];
        for (key, text) in self.annotations {
            annotations[key] = text.into();
        }
        annotations[names::CHECKSUM] = checksum.into();
        whole
    }
}

/// Names the files beside it, so that a certificate that is renewed is taken without another kubeconfig.
fn kubeconfig(server: &str, leaf: &Leaf) -> String {
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
    serde_yaml::to_string(&config).expect("JSON is YAML")
}

#[cfg(test)]
#[path = "certificates_tests.rs"]
mod tests;
