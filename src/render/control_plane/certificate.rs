//! Secrets of keys and certificates, without their data.

pub(crate) mod subjects;

use crate::render::metadata::{labels, metadata};
use crate::state::action::{Desired, IssuedSecret, KeyMaterial, Payload};
use crate::state::hash::Hash;
use crate::state::key::{ObjectKey, ObjectKind};
use crate::state::names::{self, SPEC_HASH, role};
use crate::state::record::rotation::{KeyContent, KeyGeneration};
use crate::state::site::Site;
use serde_json::{Value, json};
use std::sync::Arc;

/// Content of Secrets that were never rotated.
const FIRST: KeyGeneration = KeyGeneration {
    number: 0,
    content: KeyContent::Alone,
};

/// Suffix of the Secret's name, common name, and end of the title.
pub(crate) const ROOTS: [(&str, &str, &str); 3] = [
    (subjects::CA, "kubernetes", "Kubernetes"),
    (subjects::ETCD_CA, "etcd-ca", "etcd"),
    (subjects::FRONT_PROXY_CA, "front-proxy-ca", "front proxy"),
];

pub(crate) const KEYS: [(&str, &str, KeyMaterial); 2] = [
    (
        "service-account-key",
        "Create key for service account tokens",
        KeyMaterial::SigningKey(FIRST),
    ),
    (
        "encryption-key",
        "Create key for Secret encryption",
        KeyMaterial::EncryptionKey(FIRST),
    ),
];

pub(crate) fn wanted(site: &Site, part: &str, issued: KeyMaterial) -> Desired {
    let name = names::control_plane(site.id, part);
    let hash = hash(&issued);
    let mut metadata = metadata(site, role::CERTIFICATE, &name, hash);
    if let Some(generation) = issued.generation().filter(|it| !it.is_first()) {
        metadata["annotations"][names::GENERATION] = json!(generation.to_string());
    }
    let key = ObjectKey::provider(ObjectKind::Secret, name);
    desired(key, hash, metadata, issued)
}

/// A Secret in the shoot, with a certificate of a CA in the provider cluster.
pub(crate) fn in_shoot(site: &Site, namespace: &str, name: &str, issued: KeyMaterial) -> Desired {
    let hash = hash(&issued);
    let metadata = json!({
        "name": name,
        "namespace": namespace,
        "labels": labels(site, role::CERTIFICATE),
        "annotations": { SPEC_HASH: hash.to_string() },
    });
    let key = ObjectKey::shoot(ObjectKind::Secret, format!("{namespace}/{name}"));
    desired(key, hash, metadata, issued)
}

fn hash(issued: &KeyMaterial) -> Hash {
    let (mut parts, generation) = match issued {
        KeyMaterial::Root {
            common_name,
            generation,
        } => (json!(["root", common_name]), generation),
        // Names are not part of the hash: they are compared separately, as a certificate may have extra ones.
        KeyMaterial::Leaf(it) => {
            let parts = json!([
                "leaf",
                &*it.root,
                it.common_name,
                it.organization,
                it.server,
                it.client,
                it.kubeconfig,
            ]);
            (parts, &it.trust)
        }
        KeyMaterial::SigningKey(generation) => (json!(["signing key"]), generation),
        KeyMaterial::EncryptionKey(generation) => (json!(["encryption key"]), generation),
    };
    // Only where it was rotated, since existing Secrets carry hashes without it. The issuer is compared separately.
    if let Some(parts) = parts.as_array_mut().filter(|_| !generation.is_first()) {
        parts.push(json!(generation.to_string()));
    }
    Hash::of(&parts)
}

fn desired(key: ObjectKey, hash: Hash, metadata: Value, issued: KeyMaterial) -> Desired {
    let object = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "Opaque",
        "metadata": metadata,
    });
    Desired {
        key,
        hash,
        payload: Payload::Issue(Arc::new(IssuedSecret {
            object,
            what: issued,
        })),
    }
}
