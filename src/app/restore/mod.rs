//! `kvshoot restore`: a shoot gets the data of a backup, in its namespace or in another one.
//!
//! The stage of a restore is in the record, see [`crate::state::record::etcd::EtcdRestore`]. A run that was killed anywhere is
//! resumed by the same command.

mod options;
mod report;
mod run;
mod source;

use crate::app::apply::RecordExpectation;
use crate::app::backup::encryption;
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit, failed};
use crate::app::lifecycle::recorded::RecordedRun;
use crate::app::manifests::files::SourceTexts;
use crate::app::provider::connect::connect;
use crate::app::provider::prepare::prepare;
use crate::app::signals::Signals;
use crate::backup::Identities;
use crate::cluster::{ApiClient, RecordSnapshot};
use crate::render::images::image;
use crate::state::names::id_of;
use crate::state::record::etcd::{EtcdRecord, EtcdRestore};
use crate::state::record::{ETCD, PROFILE, SHOOT};
use crate::storage::BackupStorage;
use crate::validate::ValidShoot;
pub(crate) use options::RestoreOptions;
use source::{BackupContent, choose};

/// A restore whose backup was verified, and whose destination was looked at.
struct PreparedRestore<'a> {
    options: &'a RestoreOptions,
    context: &'a Context,
    storage: BackupStorage,
    identities: Option<Identities>,
    backup: BackupContent,
    provider: ApiClient,
    shoot: ValidShoot,
    /// That of the existing shoot; None if there is none.
    record: Option<RecordSnapshot>,
    /// A restore that was begun.
    under_way: Option<EtcdRestore>,
}

/// Restores a shoot after confirmation.
pub(crate) fn restore(options: &RestoreOptions, context: &Context) -> Result<Exit, CommandError> {
    let identities = encryption::identities(options.identity.as_deref())?;
    let storage = options.place.open(context)?;
    context.block_on(async {
        let signals = Signals::listen(Some(options.run.timeout))?;
        let prepared = prepare_restore(options, context, storage, identities);
        let restore = signals.or_interrupted("read the backup", prepared).await?;
        restore.confirm()?;
        if options.secrets_only {
            return restore.secrets_only(&signals).await;
        }
        if restore.under_way.is_none() {
            let protected = async {
                restore.protect().await;
                Ok(())
            };
            signals
                .or_interrupted("back up the existing objects", protected)
                .await?;
        }
        let restored = restore.run(&signals).await?;
        let exit = restore.apply(&signals).await?;
        if exit == Exit::Done {
            restore.report(&restored);
            restore.report_unmatched().await;
        }
        Ok(exit)
    })?
}

async fn prepare_restore<'a>(
    options: &'a RestoreOptions,
    context: &'a Context,
    storage: BackupStorage,
    identities: Option<Identities>,
) -> Result<PreparedRestore<'a>, CommandError> {
    let provider = connect(context).await?;
    let id = id_of(&options.name);
    let record = provider.record(&id).await.map_err(failed)?;
    let under_way = record.as_ref().and_then(under_way);
    let path = choose(options, &storage, &provider, under_way.as_ref()).await?;
    let title = path.name.as_str();
    let status = format!("Verifying backup {title} of shoot {}", options.name);
    context.ui.status(&status);
    let backup = BackupContent::read(&options.place, &storage, path, identities.as_ref()).await?;
    let texts = match &record {
        Some(record) => {
            let complete = provider.complete_record(record.clone()).await;
            texts(&complete.map_err(failed)?)
        }
        None => backup.texts()?,
    };
    let prepared = prepare(texts, context).await?;
    let mut shoots = prepared.loaded.shoots;
    let [_] = shoots.as_slice() else {
        let message = "the backup has no manifest of a shoot";
        return Err(CommandError::new(Exit::Precondition, message));
    };
    let shoot = shoots.remove(0);
    let provider = prepared.providers.of(&shoot.id).clone();
    let restore = PreparedRestore {
        options,
        context,
        storage,
        identities,
        backup,
        provider,
        shoot,
        record,
        under_way,
    };
    restore.check_versions()?;
    Ok(restore)
}

/// Manifest and profile of the existing shoot.
fn texts(record: &RecordSnapshot) -> SourceTexts {
    let of = |key: &str| record.data.get(key).cloned().unwrap_or_default();
    [SHOOT, PROFILE]
        .map(|key| (format!("{key} of the record"), of(key).into_bytes()))
        .into()
}

fn under_way(record: &RecordSnapshot) -> Option<EtcdRestore> {
    let etcd: EtcdRecord = serde_json::from_str(record.data.get(ETCD)?).ok()?;
    etcd.restore
}

/// The tag of an image; empty if it has none, as with a digest alone.
fn tag(image: &str) -> &str {
    let name = image.split('@').next().unwrap_or_default();
    let last = name.rsplit('/').next().unwrap_or_default();
    last.split_once(':').map_or("", |it| it.1)
}

/// Compares major and minor versions; false if one of them is not a version.
fn is_lower(version: &str, than: &str) -> bool {
    let minor = |version: &str| -> Option<(u32, u32)> {
        let mut parts = version.trim_start_matches('v').split('.');
        Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
    };
    match (minor(version), minor(than)) {
        (Some(version), Some(than)) => version < than,
        _ => false,
    }
}

impl PreparedRestore<'_> {
    /// An older API server may not know objects of a newer one.
    fn check_versions(&self) -> Result<(), CommandError> {
        let index = &self.backup.index;
        let etcd = image(&self.shoot, "etcd");
        let pairs = [
            (
                "Kubernetes",
                index.kubernetes_version.as_str(),
                self.shoot.kubernetes.as_str(),
            ),
            ("etcd", &index.etcd.version, tag(&etcd)),
        ];
        match pairs.into_iter().find(|it| is_lower(it.2, it.1)) {
            None => Ok(()),
            Some((program, newest, wanted)) => {
                let message = format!(
                    "the backup is of {program} {newest}, and the shoot has {wanted}: a backup cannot be restored into a lower version"
                );
                Err(CommandError::new(Exit::Precondition, message)
                    .hint("apply the shoot with the version of the backup first"))
            }
        }
    }

    fn confirm(&self) -> Result<(), CommandError> {
        let name = &self.options.name;
        let namespace = self.provider.namespace();
        let ui = &self.context.ui;
        let index = &self.backup.index;
        let what = match (&self.record, self.options.secrets_only) {
            (_, true) => format!(
                "this will create the missing Secrets of shoot {name} in namespace {namespace}"
            ),
            (Some(_), _) => format!(
                "this will replace all objects of shoot {name} in namespace {namespace} by those of {}; its API server stops meanwhile",
                index.created
            ),
            (None, _) => format!(
                "this will create shoot {name} in namespace {namespace} with the objects of {}",
                index.created
            ),
        };
        if self.options.yes {
            return Ok(());
        }
        ui.warn(&what);
        let answer = ui.confirm_name(&format!("Type {name} to restore it"), name);
        answer.map_err(|it| CommandError::refused(it, &format!("restore shoot {name}"), "--yes"))
    }

    /// Backs up the existing objects, if etcd answers.
    async fn protect(&self) {
        let Some(record) = &self.record else { return };
        let ui = &self.context.ui;
        let place = &self.options.place;
        let saved =
            crate::app::backup::create::protect(&self.provider, record, place, self.context);
        match saved.await {
            Ok(location) => ui.status(&format!("Backed up the existing objects to {location}")),
            Err(error) => ui.warn(&format!(
                "the existing objects are not backed up: {}",
                error.message
            )),
        }
    }

    /// Reconciles the rest: controllers, members of etcd, machines.
    async fn apply(&self, signals: &Signals) -> Result<Exit, CommandError> {
        let run = RecordedRun {
            verb: "restore",
            run: self.options.run,
            context: self.context,
            signals,
            provider: &self.provider,
            expects: RecordExpectation::Any,
        };
        Ok(run.apply(&self.shoot).await?.exit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_lower_by_its_minor_version() {
        for (version, than, wanted) in [
            ("1.33.9", "1.34.0", true),
            ("1.34.0", "1.34.5", false),
            ("1.36.3", "1.34.5", false),
            ("3.5.21-0", "3.6.8", true),
            ("3.6.8-0", "3.6.9", false),
            ("4.0.0", "3.9.0", false),
            ("", "3.6.8", false),
            ("latest", "3.6.8", false),
        ] {
            assert_eq!(is_lower(version, than), wanted, "{version} {than}");
        }
    }

    #[test]
    fn the_tag_of_an_image_is_its_version() {
        for (image, wanted) in [
            ("registry.k8s.io/etcd:3.6.8-0", "3.6.8-0"),
            ("localhost:5000/etcd:3.5.1", "3.5.1"),
            ("localhost:5000/etcd", ""),
            ("example.org/etcd@sha256:abc", ""),
            ("example.org/etcd:3.6.8@sha256:abc", "3.6.8"),
        ] {
            assert_eq!(tag(image), wanted, "{image}");
        }
    }
}
