//! `kvshoot backups verify`.

use super::encryption;
use super::place::{PlaceOptions, none_found, scope, title};
use super::row::BackupRow;
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::signals::Signals;
use crate::backup::{BackupName, BackupPath, Identities};
use crate::storage::{BackupStorage, FoundBackup, StorageError, verify as verify_backup};
use crate::ui::Format;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Options of `kvshoot backups verify`.
#[derive(Debug)]
pub(crate) struct VerifyBackupsOptions {
    pub(crate) place: PlaceOptions,
    /// Display name; None for all shoots.
    pub(crate) shoot: Option<String>,
    pub(crate) backup: Option<BackupName>,
    /// All backups instead of the newest one of each shoot.
    pub(crate) all: bool,
    /// A file of age-keygen.
    pub(crate) identity: Option<PathBuf>,
    pub(crate) output: Format,
}

/// Reads backups and compares them with their hashes.
pub(crate) fn verify(
    options: &VerifyBackupsOptions,
    context: &Context,
) -> Result<Exit, CommandError> {
    let place = &options.place;
    let identities = encryption::identities(options.identity.as_deref())?;
    let storage = place.open(context)?;
    context.block_on(async {
        let signals = Signals::listen(Some(place.timeout))?;
        let verified = verify_all(options, context, &storage, identities.as_ref());
        let rows = signals
            .or_interrupted("verify the backups", verified)
            .await?;
        context.ui.list(options.output, &rows, "");
        Ok(match rows.iter().any(BackupRow::is_damaged) {
            true => Exit::No,
            false => Exit::Done,
        })
    })?
}

async fn verify_all(
    options: &VerifyBackupsOptions,
    context: &Context,
    storage: &BackupStorage,
    identities: Option<&Identities>,
) -> Result<Vec<BackupRow>, CommandError> {
    let place = &options.place;
    let shoot = options.shoot.as_deref();
    let scope = scope(shoot, options.backup.as_ref(), context);
    let _waits = place.waited_for();
    let found = storage.find(&scope).await;
    let found = found.map_err(|error| place.failed(&error))?;
    let chosen = choose(found, options.all || options.backup.is_some());
    if chosen.is_empty() {
        return Err(none_found(shoot, place));
    }
    let mut rows = Vec::new();
    let mut unread = false;
    for path in chosen {
        context
            .ui
            .status(&format!("Verifying backup {}", title(&path)));
        let (location, now) = (storage.location(&path), crate::clock::now());
        let row = |state, index| BackupRow::new(&path, location, state, index, now);
        rows.push(match verify_backup(storage, &path, identities).await {
            Ok(verified) => {
                unread |= !verified.has_read_content;
                row("Verified", Some(verified.index))
            }
            Err(error @ StorageError::Damaged { .. }) => {
                row("Damaged", None).because(error.to_string())
            }
            Err(error) => return Err(place.failed(&error)),
        });
    }
    if unread {
        context.ui.hint(
            "hashes of encrypted files were verified, but not their contents: pass --identity to decrypt them",
        );
    }
    Ok(rows)
}

/// The complete backups, or the newest one of each shoot.
fn choose(found: Vec<FoundBackup>, all: bool) -> Vec<BackupPath> {
    let complete = found.into_iter().filter(|it| it.is_complete);
    let paths = complete.map(|it| it.path);
    if all {
        return paths.collect();
    }
    // They come oldest first.
    let newest: BTreeMap<(String, String), BackupPath> = paths
        .map(|it| ((it.namespace.clone(), it.id.clone()), it))
        .collect();
    newest.into_values().collect()
}
