//! Small backups at a destination, for tests.

use super::{BackupStorage, BackupWriter, StorageError};
use crate::backup::testing::{identity, index, key_bundle, snapshot};
use crate::backup::{
    BackupFile, BackupIndex, BackupName, BackupPath, Identities, KeyProtection, Recipients,
    SnapshotHasher, SnapshotReader,
};
use jiff::Timestamp;
use secrecy::ExposeSecret as _;

/// Contents of a backup, and who can read it.
pub(super) struct BackupFixture {
    keys: KeyProtection,
    identities: Identities,
    recipients: Recipients,
    snapshot: Vec<u8>,
}

/// The path of a backup, later for a larger number.
pub(super) fn backup_path(number: i64) -> BackupPath {
    let time = Timestamp::from_second(1_800_000_000 + number).unwrap();
    BackupPath {
        namespace: "lab".to_owned(),
        id: "dev".to_owned(),
        name: BackupName::new(time, "aaaaa").unwrap(),
    }
}

impl BackupFixture {
    pub(super) fn new(keys: KeyProtection) -> BackupFixture {
        BackupFixture::with_snapshot(keys, 1)
    }

    /// The snapshot has so many sectors of 512 bytes.
    pub(super) fn with_snapshot(keys: KeyProtection, sectors: usize) -> BackupFixture {
        let (secret, recipient) = identity();
        BackupFixture {
            keys,
            identities: Identities::parse(&secret).unwrap(),
            recipients: Recipients::parse(&recipient).unwrap(),
            snapshot: snapshot(sectors),
        }
    }

    pub(super) fn identities(&self) -> Option<&Identities> {
        Some(&self.identities)
    }

    pub(super) fn begin(&self, storage: &BackupStorage, path: &BackupPath) -> BackupWriter {
        let recipients = Some(self.recipients.clone());
        BackupWriter::begin(storage, path, recipients).unwrap()
    }

    pub(super) async fn write(
        &self,
        storage: &BackupStorage,
        path: &BackupPath,
    ) -> Result<BackupIndex, StorageError> {
        let mut writer = self.begin(storage, path);
        let mut hasher = SnapshotHasher::default();
        hasher.update(&self.snapshot);
        for file in BackupFile::of(self.keys) {
            let added = match file {
                BackupFile::Snapshot | BackupFile::EncryptedSnapshot => {
                    writer.add(file, SnapshotReader::new(&*self.snapshot)).await
                }
                BackupFile::Secrets | BackupFile::EncryptedSecrets => {
                    let text = key_bundle().encode();
                    writer.add(file, text.expose_secret().as_bytes()).await
                }
                _ => writer.add(file, &b"text of a file"[..]).await,
            };
            if let Err(error) = added {
                writer.discard().await;
                return Err(error);
            }
        }
        let mut index = index(self.keys);
        index.etcd.snapshot_bytes = hasher.length();
        index.etcd.snapshot_sha256 = hasher.check().unwrap();
        writer.finish(index).await
    }
}
