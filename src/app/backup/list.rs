//! `kvshoot backups list`.

use super::place::{PlaceOptions, scope};
use super::row::BackupRow;
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::signals::Signals;
use crate::backup::BackupIndex;
use crate::storage::{BackupStorage, FoundBackup, StorageError, read_index};
use crate::ui::Format;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use jiff::Timestamp;

/// Options of `kvshoot backups list`.
#[derive(Debug)]
pub(crate) struct ListBackupsOptions {
    pub(crate) place: PlaceOptions,
    /// Display name; None for all shoots.
    pub(crate) shoot: Option<String>,
    pub(crate) output: Format,
}

/// Indexes that are read at once.
const CONCURRENCY: usize = 8;

/// Lists backups, oldest first.
pub(crate) fn list(options: &ListBackupsOptions, context: &Context) -> Result<Exit, CommandError> {
    let place = &options.place;
    let storage = place.open(context)?;
    let scope = scope(options.shoot.as_deref(), None, context);
    context.block_on(async {
        let signals = Signals::listen(Some(place.timeout))?;
        let found = async {
            let _waits = place.waited_for();
            let found = match storage.find(&scope).await {
                // A destination without backups does not exist yet.
                Err(StorageError::NotFound { .. }) => Vec::new(),
                found => found.map_err(|error| place.failed(&error))?,
            };
            let with_index = with_index(&storage, found).await;
            with_index.map_err(|error| place.failed(&error))
        };
        let found = signals.or_interrupted("list the backups", found).await?;
        let now = crate::clock::now();
        let rows: Vec<BackupRow> = found
            .into_iter()
            .map(|(backup, index)| row(&storage, &backup, index, now))
            .collect();
        let none = format!("no backups found in {}", place.destination);
        context.ui.list(options.output, &rows, &none);
        Ok(Exit::Done)
    })?
}

/// The index of a backup, or why it cannot be used; None if the backup is not complete.
pub(super) type FoundIndex = Option<Result<BackupIndex, String>>;

/// Reads the indexes of backups, in the same order.
///
/// # Errors
///
/// The destination does not respond. A damaged index is not an error.
pub(super) async fn with_index(
    storage: &BackupStorage,
    found: Vec<FoundBackup>,
) -> Result<Vec<(FoundBackup, FoundIndex)>, StorageError> {
    let reads = found.into_iter().map(async |backup| {
        if !backup.is_complete {
            return Ok((backup, None));
        }
        let index = match read_index(storage, &backup.path).await {
            Ok(index) => Some(Ok(index)),
            Err(error @ StorageError::Damaged { .. }) => Some(Err(error.to_string())),
            // Deleted since.
            Err(StorageError::NotFound { .. }) => None,
            Err(error) => return Err(error),
        };
        Ok((backup, index))
    });
    stream::iter(reads)
        .buffered(CONCURRENCY)
        .try_collect()
        .await
}

fn row(
    storage: &BackupStorage,
    backup: &FoundBackup,
    index: FoundIndex,
    now: Timestamp,
) -> BackupRow {
    let location = storage.location(&backup.path);
    let row = |state, index| BackupRow::new(&backup.path, location, state, index, now);
    match index {
        None => row("Incomplete", None),
        Some(Ok(index)) => row("Complete", Some(index)),
        Some(Err(reason)) => row("Damaged", None).because(reason),
    }
}
