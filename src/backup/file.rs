//! The files of a backup.

use super::encryption::Recipients;
use serde::{Deserialize, Serialize};

/// A file of a backup besides its index. There are no others, so that an index cannot name a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum BackupFile {
    #[serde(rename = "README.txt")]
    Readme,
    #[serde(rename = "shoot.yaml")]
    Shoot,
    #[serde(rename = "cloudprofile.yaml")]
    CloudProfile,
    /// The data of the record.
    #[serde(rename = "record.json")]
    Record,
    #[serde(rename = "secrets.json")]
    Secrets,
    #[serde(rename = "secrets.age")]
    EncryptedSecrets,
    #[serde(rename = "etcd.snapshot")]
    Snapshot,
    #[serde(rename = "etcd.snapshot.age")]
    EncryptedSnapshot,
}

/// Protection of the shoot's keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum KeyProtection {
    /// Keys and snapshot are encrypted to the recipients.
    Encrypted,
    /// They are readable by everyone who can read the backup.
    Plain,
    /// The backup has no keys, and can be restored only where they still exist. The snapshot is not encrypted.
    Omitted,
}

impl KeyProtection {
    /// Protection by these recipients; without any, keys are included only if `plain` is set.
    pub(crate) fn of(recipients: Option<&Recipients>, plain: bool) -> KeyProtection {
        match (recipients, plain) {
            (Some(_), _) => KeyProtection::Encrypted,
            (None, true) => KeyProtection::Plain,
            (None, false) => KeyProtection::Omitted,
        }
    }
}

impl BackupFile {
    #[cfg(test)]
    pub(crate) const ALL: [BackupFile; 8] = [
        BackupFile::Readme,
        BackupFile::Shoot,
        BackupFile::CloudProfile,
        BackupFile::Record,
        BackupFile::Secrets,
        BackupFile::EncryptedSecrets,
        BackupFile::Snapshot,
        BackupFile::EncryptedSnapshot,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            BackupFile::Readme => "README.txt",
            BackupFile::Shoot => "shoot.yaml",
            BackupFile::CloudProfile => "cloudprofile.yaml",
            BackupFile::Record => "record.json",
            BackupFile::Secrets => "secrets.json",
            BackupFile::EncryptedSecrets => "secrets.age",
            BackupFile::Snapshot => "etcd.snapshot",
            BackupFile::EncryptedSnapshot => "etcd.snapshot.age",
        }
    }

    pub(crate) fn is_encrypted(self) -> bool {
        matches!(
            self,
            BackupFile::EncryptedSecrets | BackupFile::EncryptedSnapshot
        )
    }

    /// The files of a backup, in the order in which they are written.
    pub(crate) fn of(keys: KeyProtection) -> Vec<BackupFile> {
        let common = [
            BackupFile::Readme,
            BackupFile::Shoot,
            BackupFile::CloudProfile,
            BackupFile::Record,
        ];
        let secret: &[BackupFile] = match keys {
            KeyProtection::Encrypted => {
                &[BackupFile::EncryptedSecrets, BackupFile::EncryptedSnapshot]
            }
            KeyProtection::Plain => &[BackupFile::Secrets, BackupFile::Snapshot],
            KeyProtection::Omitted => &[BackupFile::Snapshot],
        };
        [&common, secret].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_the_same_in_the_index() {
        let names: BTreeSet<&str> = BackupFile::ALL.iter().map(|it| it.name()).collect();
        assert_eq!(names.len(), BackupFile::ALL.len());
        for file in BackupFile::ALL {
            assert_eq!(serde_json::to_value(file).unwrap(), file.name());
        }
    }
}
