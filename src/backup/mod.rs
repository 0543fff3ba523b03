//! Backups of shoots: their destinations, format, hashes, encryption and retention. No files, no network, no clock.
//!
//! A backup is a directory with an etcd snapshot and all else that a restore needs. `backup.json`, written last, lists
//! its files with sizes and hashes; a directory without it is not a backup. [`crate::storage`] keeps backups.

mod destination;
mod encryption;
mod file;
mod index;
mod key_bundle;
mod path;
mod readme;
mod retention;
mod sha256;
mod snapshot_hash;
mod streams;
#[cfg(test)]
pub(crate) mod testing;

pub(crate) use destination::{BackupDestination, parse_s3_endpoint};
pub(crate) use encryption::{Identities, InvalidKey, Recipients};
pub(crate) use file::{BackupFile, KeyProtection};
pub(crate) use index::{BackupIndex, EtcdState, FORMAT_VERSION, ShootIdentity, StoredFile};
pub(crate) use key_bundle::{BackedUpSecret, KeyBundle};
pub(crate) use path::{BackupName, BackupPath, BackupScope};
pub(crate) use readme::readme;
pub(crate) use retention::{Candidate, Integrity, RetentionPolicy};
pub(crate) use sha256::{Sha256Digest, Sha256Sum};
pub(crate) use snapshot_hash::SnapshotHasher;
pub(crate) use streams::{HashingReader, SnapshotReader, decrypted, encrypted};

/// Name of the index, which completes a backup.
pub(crate) const INDEX: &str = "backup.json";
