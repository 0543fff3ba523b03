//! Options of `kvshoot restore`.

use crate::app::backup::place::PlaceOptions;
use crate::app::run::session::RunOptions;
use crate::backup::BackupName;
use jiff::Timestamp;
use std::path::PathBuf;

/// Options of `kvshoot restore`.
#[derive(Debug)]
pub(crate) struct RestoreOptions {
    pub(crate) place: PlaceOptions,
    /// Display name of the shoot.
    pub(crate) name: String,
    pub(crate) backup: Option<BackupName>,
    /// Chooses the newest backup that is not newer.
    pub(crate) to_time: Option<Timestamp>,
    /// Namespace that the backup was made in, if it is not that of the command.
    pub(crate) backup_namespace: Option<String>,
    /// A file of age-keygen.
    pub(crate) identity: Option<PathBuf>,
    pub(crate) yes: bool,
    /// Brings back roots and keys alone.
    pub(crate) secrets_only: bool,
    pub(crate) run: RunOptions,
}
