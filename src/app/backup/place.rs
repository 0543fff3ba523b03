//! The destination of a command, and errors of destinations.

use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::backup::{BackupDestination, BackupName, BackupPath, BackupScope};
use crate::cluster::InFlight;
use crate::state::names::{display_name, id_of};
use crate::storage::{BackupStorage, S3Settings, StorageError};
use std::time::Duration;

/// The directory of backups, below the current one.
pub(crate) const DEFAULT_DESTINATION: &str = "backups";

/// Options of all commands about backups.
#[derive(Debug)]
pub(crate) struct PlaceOptions {
    pub(crate) destination: BackupDestination,
    /// Overrides the URL of the environment.
    pub(crate) s3_endpoint: Option<String>,
    pub(crate) timeout: Duration,
}

impl PlaceOptions {
    /// # Errors
    ///
    /// Credentials are missing, or settings are invalid.
    pub(crate) fn open(&self, context: &Context) -> Result<BackupStorage, CommandError> {
        let config = &context.config;
        let settings = S3Settings {
            endpoint: self.s3_endpoint.clone().or(config.s3_endpoint()),
            region: config.aws_region(),
            access_key_id: config.aws_access_key_id(),
            secret_access_key: config.aws_secret_access_key(),
            session_token: config.aws_session_token(),
            ca_bundle: config.aws_ca_bundle(),
        };
        BackupStorage::open(&self.destination, &settings).map_err(|error| self.failed(&error))
    }

    /// For people, the command waits for this destination until the result is dropped.
    pub(crate) fn waited_for(&self) -> InFlight {
        InFlight::work(self.destination.to_string())
    }

    /// Converts an error of this destination.
    pub(crate) fn failed(&self, error: &StorageError) -> CommandError {
        let converted = CommandError::new(exit_of(error), error.to_string());
        let is_bucket = matches!(self.destination, BackupDestination::Bucket { .. });
        match error {
            StorageError::Denied { .. } | StorageError::Settings(_) if is_bucket => converted.hint(
                "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and --s3-endpoint",
            ),
            StorageError::Failed { .. } if is_bucket && self.s3_endpoint.is_none() => {
                converted.hint("for a server other than AWS, pass --s3-endpoint URL")
            }
            StorageError::NoMatchingIdentity { .. } => {
                converted.hint("pass the identity of one of its recipients with --identity")
            }
            StorageError::PodsOnly { .. } => {
                converted.hint("print a CronJob that does, with kvshoot backup --print-cronjob")
            }
            StorageError::Full { .. } => {
                converted.hint("free space there; earlier backups are not affected")
            }
            _ => converted,
        }
    }
}

fn exit_of(error: &StorageError) -> Exit {
    match error {
        StorageError::NotFound { .. } => Exit::NotFound,
        StorageError::Damaged { .. } => Exit::No,
        StorageError::PodsOnly { .. } => Exit::Usage,
        StorageError::Failed { .. }
        | StorageError::Denied { .. }
        | StorageError::Full { .. }
        | StorageError::Source { .. }
        | StorageError::NoMatchingIdentity { .. }
        | StorageError::Settings(_) => Exit::Precondition,
    }
}

/// Backups of a shoot, or of all. A namespace counts only if it was given for this command: backups are also read without
/// a provider cluster.
pub(crate) fn scope(
    shoot: Option<&str>,
    name: Option<&BackupName>,
    context: &Context,
) -> BackupScope {
    let options = &context.provider;
    let is_typed = options.typed.contains(&"namespace");
    BackupScope {
        namespace: options.namespace.clone().filter(|_| is_typed),
        id: shoot.map(id_of),
        name: name.cloned(),
    }
}

/// The error of a command that finds no backups.
pub(crate) fn none_found(shoot: Option<&str>, place: &PlaceOptions) -> CommandError {
    let of = shoot.map_or_else(String::new, |it| format!(" of shoot {it:?}"));
    let message = format!("no backups{of} found in {}", place.destination);
    CommandError::new(Exit::NotFound, message)
}

/// A backup for messages.
pub(crate) fn title(path: &BackupPath) -> String {
    format!("{} of shoot {}", path.name, display_name(&path.id))
}
