//! `kvshoot backup`.

use super::encryption;
use super::place::PlaceOptions;
use super::prune::delete_pruned;
use super::row::BackupRow;
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit, failed};
use crate::app::inspect::shoot_summary::{ShootSummary, find};
use crate::app::provider::connect::connect;
use crate::app::signals::Signals;
use crate::app::version;
use crate::backup::{
    BackedUpSecret, BackupFile, BackupIndex, BackupName, BackupPath, EtcdState, FORMAT_VERSION,
    KeyBundle, KeyProtection, Recipients, RetentionPolicy, Sha256Sum, ShootIdentity,
    SnapshotReader, readme,
};
use crate::cluster::{ApiClient, EtcdSnapshot, RecordSnapshot, SecretCopy};
use crate::pki::random_suffix;
use crate::state::json::to_json;
use crate::state::names::display_name;
use crate::state::record::backup::{LAST_BACKUP, LastBackup};
use crate::state::record::etcd::EtcdRecord;
use crate::state::record::{ETCD, PROFILE, SHOOT, manifest_secret};
use crate::storage::{BackupStorage, BackupWriter, StorageError};
use crate::ui::{Format, count, format_duration, format_size};
use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use std::path::PathBuf;
use tokio::io::AsyncRead;
use tokio::time::Instant;

/// Options of `kvshoot backup`.
#[derive(Debug)]
pub(crate) struct BackupOptions {
    pub(crate) place: PlaceOptions,
    /// Display name of the shoot.
    pub(crate) name: String,
    /// age recipients.
    pub(crate) recipients: Vec<String>,
    pub(crate) recipient_files: Vec<PathBuf>,
    /// Writes keys without encryption if there are no recipients.
    pub(crate) with_plain_keys: bool,
    /// Backs up the member with the newest data if etcd has no quorum.
    pub(crate) without_quorum: bool,
    /// Retention of earlier backups; without one, they are all kept.
    pub(crate) policy: RetentionPolicy,
    pub(crate) output: Format,
}

/// Everything of a backup but the snapshot.
struct BackupContents {
    path: BackupPath,
    recipients: Option<Recipients>,
    manifest: String,
    profile: String,
    /// Data of the record as JSON.
    record: String,
    /// None if they are omitted.
    keys: Option<SecretString>,
    /// Without files, and without the length and hash of the snapshot.
    index: BackupIndex,
}

/// Creates a backup of a shoot.
pub(crate) fn backup(options: &BackupOptions, context: &Context) -> Result<Exit, CommandError> {
    let recipients = encryption::recipients(&options.recipients, &options.recipient_files)?;
    let protection = KeyProtection::of(recipients.as_ref(), options.with_plain_keys);
    let storage = options.place.open(context)?;
    context.block_on(async {
        let signals = Signals::listen(Some(options.place.timeout))?;
        let created = async {
            let provider = connect(context).await?;
            let record = find(&provider, &options.name, context).await?;
            if protection == KeyProtection::Omitted {
                context.ui.warn(
                    "without recipients, the backup has no keys and is not encrypted: it can be restored only while the shoot's Secrets exist",
                );
                context.ui.hint(
                    "pass --recipient, or --with-plain-keys to include the keys without encryption",
                );
            }
            let text = format!("Backing up shoot {} to {}", options.name, options.place.destination);
            context.ui.status(&text);
            let run = BackupRun {
                provider: &provider,
                record: &record,
                protection,
                recipients,
                place: &options.place,
                storage: &storage,
                without_quorum: options.without_quorum,
                context,
            };
            run.back_up().await
        };
        let (path, index) = signals.or_interrupted("back up the shoot", created).await?;
        let location = storage.location(&path);
        match options.output {
            Format::Json | Format::Yaml => {
                let now = crate::clock::now();
                let row = BackupRow::new(&path, location, "Complete", Some(index), now);
                context.ui.value(options.output, &row);
            }
            Format::Table | Format::Wide | Format::Name => {
                context.ui.data(&format!("{location}\n"));
            }
        }
        if options.policy != RetentionPolicy::default() {
            let pruned = delete_pruned(&options.place, &path, options.policy, context, &storage);
            let deleted = signals.or_interrupted("delete earlier backups", pruned).await?;
            context.ui.status(&format!("Deleted {}", count(deleted, "earlier backup")));
        }
        Ok(Exit::Done)
    })?
}

/// A backup of one shoot.
pub(crate) struct BackupRun<'a> {
    pub(crate) provider: &'a ApiClient,
    pub(crate) record: &'a RecordSnapshot,
    pub(crate) protection: KeyProtection,
    pub(crate) recipients: Option<Recipients>,
    pub(crate) place: &'a PlaceOptions,
    pub(crate) storage: &'a BackupStorage,
    /// The member with the newest data may be backed up if there is no quorum.
    pub(crate) without_quorum: bool,
    pub(crate) context: &'a Context,
}

/// Directory of the backups that are made before a restore. In a place of their own, they are never taken for the newest
/// backup, which the same restore looks for after it was killed.
const BEFORE_RESTORE: &str = "before-restore";

/// Backs up the objects that a restore replaces, without keys: they stay. Returns the location.
pub(crate) async fn protect(
    provider: &ApiClient,
    record: &RecordSnapshot,
    place: &PlaceOptions,
    context: &Context,
) -> Result<String, CommandError> {
    let place = PlaceOptions {
        destination: place.destination.child(BEFORE_RESTORE),
        s3_endpoint: place.s3_endpoint.clone(),
        timeout: place.timeout,
    };
    let storage = place.open(context)?;
    let run = BackupRun {
        provider,
        record,
        protection: KeyProtection::Omitted,
        recipients: None,
        place: &place,
        storage: &storage,
        without_quorum: true,
        context,
    };
    let (path, _) = run.create().await?;
    Ok(storage.location(&path))
}

impl BackupRun<'_> {
    /// Backs up the shoot, notes that in its record, and reports it.
    pub(crate) async fn back_up(&self) -> Result<(BackupPath, BackupIndex), CommandError> {
        let begun = Instant::now();
        let (path, index) = self.create().await?;
        self.note_in_record(&path, &index).await;
        let text = format!(
            "Backed up shoot {} in {} ({}, revision {})",
            index.shoot.name,
            format_duration(begun.elapsed()),
            format_size(index.bytes()),
            index.etcd.revision
        );
        self.context.ui.status(&text);
        Ok((path, index))
    }

    /// Notes the backup for `kvshoot status`. The backup is complete without it.
    async fn note_in_record(&self, path: &BackupPath, index: &BackupIndex) {
        let last = LastBackup {
            name: path.name.to_string(),
            created: index.created.to_string(),
            location: self.storage.location(path),
            revision: index.etcd.revision,
        };
        let note = json!({ LAST_BACKUP: to_json(&last) });
        if let Err(error) = self.provider.annotate(self.record, note).await {
            let ui = &self.context.ui;
            ui.warn(&format!(
                "kvshoot status does not show this backup: {error}"
            ));
        }
    }

    async fn create(&self) -> Result<(BackupPath, BackupIndex), CommandError> {
        let (provider, record) = (self.provider, self.record);
        // Keys first: a snapshot has nothing that was encrypted with a later key.
        let keys = match self.protection {
            KeyProtection::Omitted => None,
            KeyProtection::Encrypted | KeyProtection::Plain => {
                let secrets = provider
                    .root_secrets(&record.name, manifest_secret::name(&record.data))
                    .await
                    .map_err(failed)?;
                Some(key_bundle(secrets).encode())
            }
        };
        let now = crate::clock::now();
        // As precise as the name of the backup.
        let created = now.round(jiff::Unit::Millisecond).unwrap_or(now);
        let snapshot = self.snapshot().await?;
        let contents = BackupContents {
            path: new_path(record, created)?,
            recipients: self.recipients.clone(),
            manifest: of_record(record, SHOOT),
            profile: of_record(record, PROFILE),
            record: to_json(&record.data),
            keys,
            index: index(record, self.protection, created, &snapshot),
        };
        let path = contents.path.clone();
        let _waits = self.place.waited_for();
        let written = write(self.storage, contents, snapshot.bytes).await;
        let index = written.map_err(|error| self.place.failed(&error))?;
        Ok((path, index))
    }

    /// # Errors
    ///
    /// No member agrees with a quorum, unless one without it is enough and answers.
    async fn snapshot(&self) -> Result<EtcdSnapshot, CommandError> {
        let (provider, id) = (self.provider, &self.record.name);
        let error = match EtcdSnapshot::open(provider, id).await {
            Ok(snapshot) => return Ok(snapshot),
            Err(error) => error,
        };
        let newest = EtcdSnapshot::open_without_quorum(provider, id).await;
        match newest {
            Ok((member, snapshot)) if self.without_quorum => {
                self.context.ui.warn(&format!(
                    "etcd has no quorum: the backup has the data of {member}, and may lack the last changes that were acknowledged"
                ));
                Ok(snapshot)
            }
            Ok((member, _)) => Err(failed(error).hint(format!(
                "etcd has no quorum: to back up the data of {member}, which may lack the last changes, pass --without-quorum"
            ))),
            Err(_) => Err(failed(error)),
        }
    }
}

fn of_record(record: &RecordSnapshot, key: &str) -> String {
    record.data.get(key).cloned().unwrap_or_default()
}

fn key_bundle(secrets: Vec<SecretCopy>) -> KeyBundle {
    let secrets = secrets.into_iter();
    KeyBundle(
        secrets
            .map(|it| {
                let metadata = [it.labels, it.annotations];
                BackedUpSecret::new(&it.name, metadata, &it.secret_type, it.data)
            })
            .collect(),
    )
}

fn new_path(record: &RecordSnapshot, created: Timestamp) -> Result<BackupPath, CommandError> {
    let suffix = random_suffix().map_err(|error| {
        CommandError::new(Exit::Precondition, "cannot name the backup").cause(error.to_string())
    })?;
    let path = BackupName::new(created, &suffix)
        .and_then(|name| BackupPath::parse(&record.namespace, &record.name, name.as_str()));
    path.ok_or_else(|| CommandError::new(Exit::Bug, "the name of the shoot is not a valid path"))
}

fn index(
    record: &RecordSnapshot,
    keys: KeyProtection,
    created: Timestamp,
    snapshot: &EtcdSnapshot,
) -> BackupIndex {
    BackupIndex {
        format_version: FORMAT_VERSION,
        kvshoot_version: version::VERSION.to_string(),
        created,
        shoot: ShootIdentity {
            name: display_name(&record.name),
            namespace: record.namespace.to_string(),
            id: record.name.to_string(),
            uid: record.uid.to_string(),
        },
        kubernetes_version: ShootSummary::of(record, None).kubernetes_version,
        etcd: EtcdState {
            version: snapshot.version.clone(),
            cluster_id: snapshot.cluster_id.clone(),
            revision: snapshot.revision,
            incarnation: incarnation(record),
            snapshot_bytes: 0,
            snapshot_sha256: Sha256Sum::of(b""),
        },
        keys,
        recipients: Vec::new(),
        files: Vec::new(),
    }
}

/// None if the record does not know the cluster of etcd yet.
fn incarnation(record: &RecordSnapshot) -> Option<u64> {
    let text = record.data.get(ETCD)?;
    let etcd: EtcdRecord = serde_json::from_str(text).ok()?;
    Some(etcd.incarnation.into())
}

/// Writes all files, or none: what was written before an error is deleted.
async fn write(
    storage: &BackupStorage,
    contents: BackupContents,
    snapshot: impl AsyncRead + Unpin + Send,
) -> Result<BackupIndex, StorageError> {
    let mut writer = BackupWriter::begin(storage, &contents.path, contents.recipients.clone())?;
    match write_files(&mut writer, &contents, snapshot).await {
        Ok(index) => writer.finish(index).await,
        Err(error) => {
            writer.discard().await;
            Err(error)
        }
    }
}

async fn write_files(
    writer: &mut BackupWriter,
    contents: &BackupContents,
    snapshot: impl AsyncRead + Unpin + Send,
) -> Result<BackupIndex, StorageError> {
    let mut index = contents.index.clone();
    let text = readme(&index.shoot, index.keys, &index.etcd.version);
    let keys = contents.keys.as_ref().map(ExposeSecret::expose_secret);
    let mut snapshot = SnapshotReader::new(snapshot);
    for file in BackupFile::of(index.keys) {
        let text = match file {
            BackupFile::Readme => &text,
            BackupFile::Shoot => &contents.manifest,
            BackupFile::CloudProfile => &contents.profile,
            BackupFile::Record => &contents.record,
            BackupFile::Secrets | BackupFile::EncryptedSecrets => keys.unwrap_or_default(),
            BackupFile::Snapshot | BackupFile::EncryptedSnapshot => {
                writer.add(file, &mut snapshot).await?;
                continue;
            }
        };
        writer.add(file, text.as_bytes()).await?;
    }
    // Reading it to its end has checked it already.
    let checked = snapshot.hasher().check();
    index.etcd.snapshot_sha256 = checked.map_err(|error| StorageError::Source {
        what: index.snapshot().name().to_owned(),
        why: error.to_string(),
    })?;
    index.etcd.snapshot_bytes = snapshot.hasher().length();
    index.recipients = contents
        .recipients
        .as_ref()
        .map(|it| it.names().to_vec())
        .unwrap_or_default();
    Ok(index)
}
