//! `backup.json`: what a backup is of, and its files with sizes and hashes.
//!
//! Its last field is the SHA-256 of all lines before it, so that a changed byte anywhere in the file is noticed.

use super::file::{BackupFile, KeyProtection};
use super::sha256::Sha256Sum;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The version of the format that is written, and the newest that can be read.
pub(crate) const FORMAT_VERSION: u32 = 1;

/// The field that ends an index.
const CHECKSUM: &str = "  \"sha256\": \"";

/// The contents of `backup.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct BackupIndex {
    pub(crate) format_version: u32,
    pub(crate) kvshoot_version: String,
    /// Start of the backup. The snapshot has all that etcd acknowledged before.
    pub(crate) created: Timestamp,
    pub(crate) shoot: ShootIdentity,
    pub(crate) kubernetes_version: String,
    pub(crate) etcd: EtcdState,
    pub(crate) keys: KeyProtection,
    /// The age recipients that can decrypt it.
    pub(crate) recipients: Vec<String>,
    pub(crate) files: Vec<StoredFile>,
}

/// The shoot that was backed up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ShootIdentity {
    /// Display name.
    pub(crate) name: String,
    /// In the provider cluster.
    pub(crate) namespace: String,
    /// The technical ID.
    pub(crate) id: String,
    /// UID of the record. Another shoot of the same name has another one.
    pub(crate) uid: String,
}

/// The state of etcd at the time of the backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct EtcdState {
    pub(crate) version: String,
    pub(crate) cluster_id: String,
    /// The revision when the snapshot was requested; the snapshot has this one or a later one.
    pub(crate) revision: u64,
    /// How often this etcd was restored, if the record counts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) incarnation: Option<u64>,
    /// Length of the unencrypted snapshot in bytes.
    pub(crate) snapshot_bytes: u64,
    /// etcd's own hash, the last 32 bytes of the unencrypted snapshot.
    pub(crate) snapshot_sha256: Sha256Sum,
}

/// A file of the backup, as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredFile {
    pub(crate) name: BackupFile,
    pub(crate) bytes: u64,
    pub(crate) sha256: Sha256Sum,
}

/// An index that cannot be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum IndexError {
    #[error("backup.json is damaged: its hash does not match")]
    Damaged,
    #[error(
        "format version {0} is newer than this kvshoot can read ({FORMAT_VERSION}): upgrade kvshoot"
    )]
    Newer(u32),
    #[error("backup.json is invalid: {0}")]
    Invalid(String),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AnyVersion {
    format_version: u32,
}

impl BackupIndex {
    /// The text of `backup.json`.
    pub(crate) fn encode(&self) -> String {
        let json =
            serde_json::to_string_pretty(self).expect("an index has no maps with other keys");
        let body = json.strip_suffix("\n}").unwrap_or(&json);
        let covered = format!("{body},\n");
        let checksum = checksum_line(covered.as_bytes());
        covered + &checksum
    }

    /// Reads `backup.json`.
    ///
    /// # Errors
    ///
    /// A byte is missing or was changed, the format is newer, or files are missing.
    pub(crate) fn decode(text: &[u8]) -> Result<BackupIndex, IndexError> {
        let length = checksum_line(b"").len();
        let at = text.len().checked_sub(length).ok_or(IndexError::Damaged)?;
        let (covered, checksum) = text.split_at(at);
        if checksum != checksum_line(covered).as_bytes() {
            return Err(IndexError::Damaged);
        }
        let body = covered.strip_suffix(b",\n").ok_or(IndexError::Damaged)?;
        let json = [body, b"\n}"].concat();
        let invalid = |error: serde_json::Error| IndexError::Invalid(error.to_string());
        let version: AnyVersion = serde_json::from_slice(&json).map_err(invalid)?;
        if version.format_version > FORMAT_VERSION {
            return Err(IndexError::Newer(version.format_version));
        }
        let index: BackupIndex = serde_json::from_slice(&json).map_err(invalid)?;
        let files: BTreeSet<BackupFile> = index.files.iter().map(|it| it.name).collect();
        let expected: BTreeSet<BackupFile> = BackupFile::of(index.keys).into_iter().collect();
        if files != expected || files.len() != index.files.len() {
            let why = "it does not list each file once".to_owned();
            return Err(IndexError::Invalid(why));
        }
        Ok(index)
    }

    /// Size of all files but the index.
    pub(crate) fn bytes(&self) -> u64 {
        self.files
            .iter()
            .fold(0, |sum, it| it.bytes.saturating_add(sum))
    }

    /// The file with the snapshot.
    pub(crate) fn snapshot(&self) -> BackupFile {
        match self.keys {
            KeyProtection::Encrypted => BackupFile::EncryptedSnapshot,
            KeyProtection::Plain | KeyProtection::Omitted => BackupFile::Snapshot,
        }
    }
}

fn checksum_line(covered: &[u8]) -> String {
    format!("{CHECKSUM}{}\"\n}}\n", Sha256Sum::of(covered))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backup::testing::index;

    #[test]
    fn an_index_is_json_with_a_checksum_at_its_end() {
        let text = index(KeyProtection::Encrypted).encode();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(json["formatVersion"], 1);
        assert_eq!(json["files"][5]["name"], "etcd.snapshot.age");
        // As README.txt explains: head -n -2 backup.json | sha256sum
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let covered = lines[..lines.len() - 2].concat();
        let sum = Sha256Sum::of(covered.as_bytes()).to_string();
        assert_eq!(json["sha256"], sum);
    }

    #[test]
    fn an_index_is_read_back() {
        for keys in [
            KeyProtection::Encrypted,
            KeyProtection::Plain,
            KeyProtection::Omitted,
        ] {
            let index = index(keys);
            assert_eq!(BackupIndex::decode(index.encode().as_bytes()), Ok(index));
        }
    }

    #[test]
    fn an_index_cut_at_any_byte_or_with_any_flipped_bit_is_damaged() {
        let mut text = index(KeyProtection::Plain).encode().into_bytes();
        for length in 0..text.len() {
            assert_eq!(
                BackupIndex::decode(&text[..length]),
                Err(IndexError::Damaged),
                "cut at {length}"
            );
        }
        for at in 0..text.len() {
            for bit in 0..8 {
                text[at] ^= 1 << bit;
                assert_eq!(BackupIndex::decode(&text), Err(IndexError::Damaged));
                text[at] ^= 1 << bit;
            }
        }
        text.push(b'\n');
        assert_eq!(BackupIndex::decode(&text), Err(IndexError::Damaged));
    }

    #[test]
    fn a_newer_format_is_refused_by_its_version() {
        let mut index = index(KeyProtection::Plain);
        index.format_version = 2;
        let error = BackupIndex::decode(index.encode().as_bytes()).unwrap_err();
        assert_eq!(error, IndexError::Newer(2));
    }

    #[test]
    fn an_index_must_list_each_file_once() {
        let whole = index(KeyProtection::Plain);
        let refused = |change: &dyn Fn(&mut BackupIndex)| {
            let mut index = whole.clone();
            change(&mut index);
            let error = BackupIndex::decode(index.encode().as_bytes());
            assert!(matches!(error, Err(IndexError::Invalid(_))), "{error:?}");
        };
        refused(&|it| it.files.truncate(1));
        refused(&|it| it.files.push(it.files[0].clone()));
        refused(&|it| it.keys = KeyProtection::Omitted);
    }
}
