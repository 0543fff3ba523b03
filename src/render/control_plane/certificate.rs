//! Secrets of keys and certificates, without their data.

use super::certificate_subjects;
use crate::render::metadata::metadata;
use crate::state::action::{Content, Issue, Issued, Wanted};
use crate::state::hash::Hash;
use crate::state::key::{Key, Kind};
use crate::state::names::{self, role};
use crate::state::site::Site;
use serde_json::json;
use std::sync::Arc;

/// The last part of the Secret's name, the common name, and the end of a title.
pub(crate) const ROOTS: [(&str, &str, &str); 3] = [
    (certificate_subjects::CA, "kubernetes", "Kubernetes"),
    (certificate_subjects::ETCD_CA, "etcd-ca", "etcd"),
    (
        certificate_subjects::FRONT_PROXY_CA,
        "front-proxy-ca",
        "the front proxy",
    ),
];

pub(crate) const KEYS: [(&str, &str, Issued); 2] = [
    (
        "service-account-key",
        "Make the key that signs the tokens of service accounts",
        Issued::SigningKey,
    ),
    (
        "encryption-key",
        "Make the key that encrypts Secrets",
        Issued::EncryptionKey,
    ),
];

pub(crate) fn wanted(site: &Site, part: &str, issued: Issued) -> Wanted {
    let name = names::control_plane(site.id, part);
    let hash = match &issued {
        Issued::Root { common_name } => Hash::of(&json!(["root", common_name])),
        // Without the names: a certificate may have more than are wanted, and they are compared by themselves.
        Issued::Leaf(it) => Hash::of(&json!([
            "leaf",
            &*it.root,
            it.common_name,
            it.organization,
            it.server,
            it.client,
            it.kubeconfig,
        ])),
        Issued::SigningKey => Hash::of(&json!(["signing key"])),
        Issued::EncryptionKey => Hash::of(&json!(["encryption key"])),
    };
    let object = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "Opaque",
        "metadata": metadata(site, role::CERTIFICATE, &name, hash),
    });
    Wanted {
        key: Key::provider(Kind::Secret, name),
        hash,
        content: Content::Issue(Arc::new(Issue {
            object,
            what: issued,
        })),
    }
}
