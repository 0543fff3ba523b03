//! Arguments of `kvshoot backup`.

use super::arguments::{KeepArgs, StorageArgs};
use crate::app::backup::create::{self, BackupOptions};
use crate::app::backup::cronjob;
use crate::app::backup::place::DEFAULT_DESTINATION;
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::in_cluster::parse_object_name;
use crate::backup::BackupDestination;
use crate::commands::arguments::CronJobArgs;
use crate::ui::Format;
use std::path::PathBuf;

/// Back up a cluster: its etcd, manifest and keys
///
/// A backup is a directory with an etcd snapshot, the manifests, the record, and the root keys of the cluster. With
/// recipients, snapshot and keys are encrypted with age. Without them, the keys are left out. A backup becomes visible
/// when all its files were read back and agree with their hashes. With --keep options, earlier backups of the shoot that
/// none of them keeps are deleted afterwards, as by kvshoot backups prune.
#[derive(Debug, clap::Args)]
#[command(mut_arg("schedule", |arg| arg.default_value(SCHEDULE)))]
pub(in crate::commands) struct BackupArgs {
    /// Name of the shoot
    name: String,
    /// Directory, or s3://BUCKET/PREFIX, for the backup; with --print-cronjob also pvc:NAME, a PersistentVolumeClaim
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
    /// Back up the member of etcd with the newest data if there is no quorum
    #[arg(long)]
    without_quorum: bool,
    /// Output format; table prints the location of the backup
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    output: Format,
    #[command(flatten)]
    keep: KeepArgs,
    /// Print a CronJob that runs this command, with a ServiceAccount of minimal permissions
    #[arg(long)]
    print_cronjob: bool,
    /// Secret with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY for the CronJob
    #[arg(long, value_name = "NAME", requires = "print_cronjob", value_parser = parse_object_name)]
    credentials_secret: Option<String>,
    #[command(flatten)]
    cronjob: CronJobArgs,
    #[command(flatten)]
    storage: StorageArgs,
}

/// Every five minutes.
const SCHEDULE: &str = "*/5 * * * *";

pub(in crate::commands) fn run(args: &BackupArgs, context: &Context) -> Result<Exit, CommandError> {
    let options = BackupOptions {
        place: args.storage.options(&args.to),
        name: args.name.clone(),
        recipients: args.recipient.clone(),
        recipient_files: args.recipients_file.clone(),
        with_plain_keys: args.with_plain_keys,
        without_quorum: args.without_quorum,
        policy: args.keep.policy(),
        output: args.output,
    };
    match args.print_cronjob {
        true => {
            let secret = args.credentials_secret.clone();
            cronjob::print(&options, secret, &args.cronjob.options(), context)
        }
        false => create::backup(&options, context),
    }
}
