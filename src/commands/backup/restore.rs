//! Arguments of `kvshoot restore`.

use crate::app::backup::place::{DEFAULT_DESTINATION, PlaceOptions};
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::restore::{self, RestoreOptions};
use crate::backup::{BackupDestination, BackupName, parse_s3_endpoint};
use crate::commands::arguments::RunFlags;
use jiff::Timestamp;
use std::path::PathBuf;

/// Restore a cluster from a backup, where it was or as a new one
///
/// The backup is verified before anything is written. An existing cluster keeps its machines and addresses; its
/// objects are replaced, and are backed up before if etcd answers. In another namespace or provider cluster, the cluster
/// gets new machines and addresses, and keeps its keys. The same command resumes an interrupted restore.
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct RestoreArgs {
    /// Name of the shoot
    name: String,
    /// Name of the backup [default: the newest one]
    #[arg(value_parser = super::backups::parse_name)]
    backup: Option<BackupName>,
    /// Directory, or s3://BUCKET/PREFIX, where the backups are
    #[arg(
        long,
        value_name = "DEST",
        env = "KVSHOOT_BACKUPS",
        default_value = DEFAULT_DESTINATION,
        value_hint = clap::ValueHint::DirPath
    )]
    from: BackupDestination,
    /// URL of an S3 server other than AWS [default: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL]
    #[arg(long, value_name = "URL", value_parser = parse_s3_endpoint)]
    s3_endpoint: Option<String>,
    /// Restore the newest backup that is not newer than this RFC 3339 time
    #[arg(long, value_name = "TIME", conflicts_with = "backup")]
    to_time: Option<Timestamp>,
    /// Namespace that the backup was made in [default: that of the command, or the only one with backups]
    #[arg(long, value_name = "NAMESPACE")]
    backup_namespace: Option<String>,
    /// File of age-keygen that can decrypt the backup
    #[arg(short, long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    identity: Option<PathBuf>,
    /// Create the roots and keys that were deleted, and change nothing else
    #[arg(long)]
    secrets_only: bool,
    /// Skip the confirmation prompt
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    run: RunFlags,
}

pub(in crate::commands) fn run(
    args: &RestoreArgs,
    context: &Context,
) -> Result<Exit, CommandError> {
    let run = args.run.options();
    let options = RestoreOptions {
        place: PlaceOptions {
            destination: args.from.clone(),
            s3_endpoint: args.s3_endpoint.clone(),
            timeout: run.timeout,
        },
        name: args.name.clone(),
        backup: args.backup.clone(),
        to_time: args.to_time,
        backup_namespace: args.backup_namespace.clone(),
        identity: args.identity.clone(),
        yes: args.yes,
        secrets_only: args.secrets_only,
        run,
    };
    restore::restore(&options, context)
}
