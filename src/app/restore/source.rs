//! The backup that is restored.

use super::options::RestoreOptions;
use crate::app::backup::place::{PlaceOptions, none_found};
use crate::app::error::{CommandError, Exit};
use crate::app::manifests::files::SourceTexts;
use crate::backup::{
    BackupFile, BackupIndex, BackupPath, BackupScope, Identities, KeyBundle, KeyProtection,
};
use crate::cluster::{ApiClient, SecretCopy, snapshot_number};
use crate::state::names::id_of;
use crate::state::record::etcd::EtcdRestore;
use crate::state::record::{PROFILE, SHOOT, manifest_secret};
use crate::storage::{BackupStorage, read_text, verify};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrecy::ExposeSecret as _;
use std::collections::{BTreeMap, BTreeSet};

/// A verified backup, but for its snapshot.
pub(super) struct BackupContent {
    pub(super) path: BackupPath,
    pub(super) index: BackupIndex,
    /// Roots and keys; none if they were left out.
    pub(super) secrets: Vec<SecretCopy>,
    /// Data of the record.
    record: BTreeMap<String, String>,
}

/// Chooses the newest backup that the options allow; one whose restore was begun comes first.
pub(super) async fn choose(
    options: &RestoreOptions,
    storage: &BackupStorage,
    provider: &ApiClient,
    under_way: Option<&EtcdRestore>,
) -> Result<BackupPath, CommandError> {
    let scope = BackupScope {
        namespace: options.backup_namespace.clone(),
        id: Some(id_of(&options.name)),
        name: options.backup.clone(),
    };
    let waits = options.place.waited_for();
    let found = storage.find(&scope).await;
    drop(waits);
    let found = found.map_err(|error| options.place.failed(&error))?;
    let complete = found.into_iter().filter(|it| it.is_complete);
    let mut paths: Vec<BackupPath> = complete.map(|it| it.path).collect();
    let is_asked = options.backup.is_some() || options.to_time.is_some();
    if let Some(begun) = under_way.filter(|_| !is_asked)
        && let Some(path) = paths.iter().find(|it| title(it) == begun.backup)
    {
        return Ok(path.clone());
    }
    if let Some(time) = options.to_time {
        paths.retain(|it| it.name.time().is_some_and(|created| created <= time));
    }
    let own = |it: &BackupPath| *it.namespace == **provider.namespace();
    if paths.iter().any(own) {
        paths.retain(own);
    }
    let namespaces: BTreeSet<&str> = paths.iter().map(|it| it.namespace.as_str()).collect();
    if namespaces.len() > 1 {
        let all: Vec<&str> = namespaces.into_iter().collect();
        let message = format!(
            "there are backups of shoot {:?} in namespaces {}",
            options.name,
            all.join(", ")
        );
        return Err(CommandError::new(Exit::Usage, message)
            .hint("choose one with --backup-namespace NAMESPACE"));
    }
    // They come oldest first.
    let newest = paths.pop();
    newest.ok_or_else(|| none_found(Some(&options.name), &options.place))
}

/// A backup in the record.
pub(super) fn title(path: &BackupPath) -> String {
    format!("{}/{}/{}", path.namespace, path.id, path.name.as_str())
}

impl BackupContent {
    /// Reads and verifies all of a backup.
    pub(super) async fn read(
        place: &PlaceOptions,
        storage: &BackupStorage,
        path: BackupPath,
        identities: Option<&Identities>,
    ) -> Result<BackupContent, CommandError> {
        let _waits = place.waited_for();
        let failed = |error| place.failed(&error);
        let verified = verify(storage, &path, identities).await.map_err(failed)?;
        if !verified.has_read_content {
            let message = format!("backup {} is encrypted", path.name.as_str());
            return Err(CommandError::new(Exit::Precondition, message)
                .hint("pass the identity of one of its recipients with --identity"));
        }
        let index = verified.index;
        let text = async |file| read_text(storage, &path, file, identities).await;
        let record = text(BackupFile::Record).await.map_err(failed)?;
        let secrets = match index.keys {
            KeyProtection::Omitted => None,
            KeyProtection::Plain => Some(text(BackupFile::Secrets).await.map_err(failed)?),
            KeyProtection::Encrypted => {
                Some(text(BackupFile::EncryptedSecrets).await.map_err(failed)?)
            }
        };
        let secrets = match secrets {
            Some(text) => KeyBundle::decode(&text).map_err(damaged)?.0,
            None => Vec::new(),
        };
        let copies = secrets.iter().map(|it| {
            let [labels, annotations] = it.metadata();
            SecretCopy {
                name: it.name().to_owned(),
                labels: labels.clone(),
                annotations: annotations.clone(),
                secret_type: it.secret_type().to_owned(),
                data: it.data().clone(),
            }
        });
        Ok(BackupContent {
            secrets: copies.collect(),
            record: serde_json::from_str(record.expose_secret()).map_err(damaged)?,
            path,
            index,
        })
    }

    /// Manifest and profile, with user data.
    pub(super) fn texts(&self) -> Result<SourceTexts, CommandError> {
        let incomplete = || {
            let message = "the backup has no Secret with the user data of its manifest";
            CommandError::new(Exit::Precondition, message)
        };
        let mut data = self.record.clone();
        if let Some(name) = manifest_secret::name(&self.record) {
            let secret = self.secrets.iter().find(|it| it.name == name);
            let text = secret.and_then(|it| it.data.get(manifest_secret::MANIFEST));
            let text = text.and_then(|it| STANDARD.decode(it).ok());
            let text = text.and_then(|it| String::from_utf8(it).ok());
            let text = text.ok_or_else(incomplete)?;
            let complete = manifest_secret::complete(&self.path.id, data, &text);
            data = complete.ok_or_else(incomplete)?;
        }
        let texts = [SHOOT, PROFILE].map(|key| {
            let text = data.remove(key).unwrap_or_default();
            (format!("{key} of the backup"), text.into_bytes())
        });
        Ok(texts.into())
    }

    /// Number of the snapshot in the name of its file.
    pub(super) fn number(&self) -> u64 {
        snapshot_number(self.index.etcd.snapshot_sha256.bytes())
    }
}

/// It was verified, so another program wrote it.
fn damaged(error: impl std::fmt::Display) -> CommandError {
    CommandError::new(Exit::No, "the backup cannot be read").cause(error.to_string())
}
