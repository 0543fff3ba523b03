//! Secrets of keys and certificates, without their data.

use super::certificate_subjects;
use crate::render::metadata::metadata;
use crate::state::action::{Desired, IssuedSecret, KeyMaterial, Payload};
use crate::state::hash::Hash;
use crate::state::key::{ObjectKey, ObjectKind};
use crate::state::names::{self, role};
use crate::state::site::Site;
use serde_json::json;
use std::sync::Arc;

/// Suffix of the Secret's name, common name, and end of the title.
pub(crate) const ROOTS: [(&str, &str, &str); 3] = [
    (certificate_subjects::CA, "kubernetes", "Kubernetes"),
    (certificate_subjects::ETCD_CA, "etcd-ca", "etcd"),
    (
        certificate_subjects::FRONT_PROXY_CA,
        "front-proxy-ca",
        "front proxy",
    ),
];

pub(crate) const KEYS: [(&str, &str, KeyMaterial); 2] = [
    (
        "service-account-key",
        "Create key for service account tokens",
        KeyMaterial::SigningKey,
    ),
    (
        "encryption-key",
        "Create key for Secret encryption",
        KeyMaterial::EncryptionKey,
    ),
];

pub(crate) fn wanted(site: &Site, part: &str, issued: KeyMaterial) -> Desired {
    let name = names::control_plane(site.id, part);
    let hash = match &issued {
        KeyMaterial::Root { common_name } => Hash::of(&json!(["root", common_name])),
        // Names are not part of the hash: they are compared separately, as a certificate may have extra ones.
        KeyMaterial::Leaf(it) => Hash::of(&json!([
            "leaf",
            &*it.root,
            it.common_name,
            it.organization,
            it.server,
            it.client,
            it.kubeconfig,
        ])),
        KeyMaterial::SigningKey => Hash::of(&json!(["signing key"])),
        KeyMaterial::EncryptionKey => Hash::of(&json!(["encryption key"])),
    };
    let object = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "Opaque",
        "metadata": metadata(site, role::CERTIFICATE, &name, hash),
    });
    Desired {
        key: ObjectKey::provider(ObjectKind::Secret, name),
        hash,
        payload: Payload::Issue(Arc::new(IssuedSecret {
            object,
            what: issued,
        })),
    }
}
