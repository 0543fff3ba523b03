//! Arguments of `kvshoot backup`.

use super::arguments::StorageArgs;
use crate::app::backup::create::{self, BackupOptions};
use crate::app::backup::place::DEFAULT_DESTINATION;
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::storage::BackupDestination;
use crate::ui::Format;
use std::path::PathBuf;

/// Back up a cluster: its etcd, manifest and keys
///
/// A backup is a directory with an etcd snapshot, the manifests, the record, and the root keys of the cluster. With
/// recipients, snapshot and keys are encrypted with age. Without them, the keys are left out. A backup becomes visible
/// when all its files were read back and agree with their hashes.
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct BackupArgs {
    /// Name of the shoot
    name: String,
    /// Directory, or s3://BUCKET/PREFIX, for the backup
    #[arg(
        long,
        value_name = "DEST",
        env = "KVSHOOT_BACKUPS",
        default_value = DEFAULT_DESTINATION,
        value_hint = clap::ValueHint::DirPath
    )]
    to: BackupDestination,
    /// Encrypt to an age recipient (repeatable)
    #[arg(short, long, value_name = "RECIPIENT")]
    recipient: Vec<String>,
    /// Encrypt to the recipients in a file, one per line (repeatable)
    #[arg(short = 'R', long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    recipients_file: Vec<PathBuf>,
    /// Include the keys without encryption
    #[arg(long, conflicts_with_all = ["recipient", "recipients_file"])]
    with_plain_keys: bool,
    /// Output format; table prints the location of the backup
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    output: Format,
    #[command(flatten)]
    storage: StorageArgs,
}

pub(in crate::commands) fn run(args: &BackupArgs, context: &Context) -> Result<Exit, CommandError> {
    let options = BackupOptions {
        place: args.storage.options(&args.to),
        name: args.name.clone(),
        recipients: args.recipient.clone(),
        recipient_files: args.recipients_file.clone(),
        with_plain_keys: args.with_plain_keys,
        output: args.output,
    };
    create::backup(&options, context)
}
