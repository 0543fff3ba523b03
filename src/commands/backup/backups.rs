//! Arguments of `kvshoot backups`.

use super::arguments::{KeepArgs, SourceArgs};
use crate::app::backup::list::{self, ListBackupsOptions};
use crate::app::backup::prune::{self, PruneBackupsOptions};
use crate::app::backup::verify::{self, VerifyBackupsOptions};
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::backup::BackupName;
use crate::ui::Format;
use std::path::PathBuf;

/// List, verify and prune backups
///
/// These commands need no provider cluster. Without --namespace, they find the backups of all namespaces.
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct BackupsArgs {
    #[command(subcommand)]
    command: BackupsCommand,
}

#[derive(Debug, clap::Subcommand)]
enum BackupsCommand {
    List(ListBackupsArgs),
    Verify(VerifyBackupsArgs),
    Prune(PruneBackupsArgs),
}

/// List backups, oldest first
#[derive(Debug, clap::Args)]
struct ListBackupsArgs {
    /// Name of the shoot [default: all shoots]
    name: Option<String>,
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    output: Format,
    #[command(flatten)]
    source: SourceArgs,
}

/// Read backups, and compare them with their hashes
///
/// Exits with code 1 if a backup is damaged. With --identity, encrypted files are decrypted as well.
#[derive(Debug, clap::Args)]
struct VerifyBackupsArgs {
    /// Name of the shoot [default: all shoots]
    name: Option<String>,
    /// Name of the backup [default: the newest one of each shoot]
    #[arg(value_parser = parse_name)]
    backup: Option<BackupName>,
    /// Verify all backups instead of the newest ones
    #[arg(long, conflicts_with = "backup")]
    all: bool,
    /// File of age-keygen that can decrypt the backups
    #[arg(short, long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    identity: Option<PathBuf>,
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    output: Format,
    #[command(flatten)]
    source: SourceArgs,
}

/// Delete backups that no option keeps
///
/// A backup is kept if one of the --keep options keeps it. Hours, days and weeks are those of UTC. The newest backups are
/// verified until one is intact; that one is always kept, and without one nothing is deleted. A shoot that was created
/// again under the same name has backups of its own.
#[derive(Debug, clap::Args)]
#[command(mut_group("keep", |group| group.required(true)))]
struct PruneBackupsArgs {
    /// Name of the shoot
    name: String,
    #[command(flatten)]
    keep: KeepArgs,
    /// Print what would be deleted; exit with code 1 if there is anything
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    source: SourceArgs,
}

pub(in crate::commands) fn run(
    args: &BackupsArgs,
    context: &Context,
) -> Result<Exit, CommandError> {
    match &args.command {
        BackupsCommand::List(args) => {
            let options = ListBackupsOptions {
                place: args.source.options(),
                shoot: args.name.clone(),
                output: args.output,
            };
            list::list(&options, context)
        }
        BackupsCommand::Verify(args) => {
            let options = VerifyBackupsOptions {
                place: args.source.options(),
                shoot: args.name.clone(),
                backup: args.backup.clone(),
                all: args.all,
                identity: args.identity.clone(),
                output: args.output,
            };
            verify::verify(&options, context)
        }
        BackupsCommand::Prune(args) => {
            let options = PruneBackupsOptions {
                place: args.source.options(),
                shoot: args.name.clone(),
                policy: args.keep.policy(),
                dry_run: args.dry_run,
            };
            prune::prune(&options, context)
        }
    }
}

pub(super) fn parse_name(text: &str) -> Result<BackupName, String> {
    let example = "expected the name of a backup, such as 20261123T215652.104Z-x7k2p";
    BackupName::parse(text).ok_or_else(|| example.to_owned())
}
