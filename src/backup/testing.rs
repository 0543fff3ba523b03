//! Small backups for tests.

use super::file::{BackupFile, KeyProtection};
use super::index::{BackupIndex, EtcdState, FORMAT_VERSION, ShootIdentity, StoredFile};
use super::key_bundle::{BackedUpSecret, KeyBundle};
use super::sha256::Sha256Sum;
use age::secrecy::SecretString;
use age::x25519::Identity;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;

/// A file that has the length and hash of a snapshot.
pub(crate) fn snapshot(sectors: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..sectors * 512).map(|it| (it % 251) as u8).collect();
    bytes.extend(Sha256::digest(&bytes));
    bytes
}

/// A new identity and its recipient.
pub(crate) fn identity() -> (SecretString, String) {
    let identity = Identity::generate();
    (identity.to_string(), identity.to_public().to_string())
}

pub(crate) fn key_bundle() -> KeyBundle {
    let data = [("ca.key".to_owned(), "c2VjcmV0".to_owned())].into();
    let labels = [("kvshoot.io/shoot".to_owned(), "dev".to_owned())].into();
    KeyBundle(vec![BackedUpSecret::new(
        "dev-ca",
        [labels, BTreeMap::new()],
        "Opaque",
        data,
    )])
}

pub(crate) fn index(keys: KeyProtection) -> BackupIndex {
    let file = |name| StoredFile {
        name,
        bytes: 7,
        sha256: Sha256Sum::of(b"content"),
    };
    let recipients = match keys {
        KeyProtection::Encrypted => vec!["age1example".to_owned()],
        KeyProtection::Plain | KeyProtection::Omitted => Vec::new(),
    };
    BackupIndex {
        format_version: FORMAT_VERSION,
        kvshoot_version: "0.1.0".to_owned(),
        created: "2026-11-23T21:56:52Z".parse().unwrap(),
        shoot: ShootIdentity {
            name: "dev".to_owned(),
            namespace: "lab".to_owned(),
            id: "dev".to_owned(),
            uid: "0d6f1a52-7d0c-4a59-9a35-0d2b6b0c2c1e".to_owned(),
        },
        kubernetes_version: "1.33.2".to_owned(),
        etcd: EtcdState {
            version: "3.6.8".to_owned(),
            cluster_id: "cdf818194e3a8c32".to_owned(),
            revision: 812,
            incarnation: None,
            snapshot_bytes: 1568,
            snapshot_sha256: Sha256Sum::of(b""),
        },
        keys,
        recipients,
        files: BackupFile::of(keys).into_iter().map(file).collect(),
    }
}
