//! Arguments of `kvshoot gc`.

use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::gc::{self, GcOptions, GcScope};
use crate::commands::arguments::{CronJobArgs, RunFlags};

/// Delete expired clusters and orphaned objects
///
/// Keeps clusters that are protected or have no expiry, and everything that kvshoot did not create.
#[derive(Debug, clap::Args)]
#[command(mut_arg("schedule", |arg| arg.default_value(SCHEDULE)))]
pub(in crate::commands) struct GcArgs {
    /// Delete expired clusters only
    #[arg(long, conflicts_with = "orphans")]
    expired: bool,
    /// Delete objects of clusters without a record only
    #[arg(long)]
    orphans: bool,
    /// Print what would be deleted; exit with code 1 if there is anything
    #[arg(long)]
    dry_run: bool,
    /// Print a CronJob that runs this command, with a ServiceAccount of minimal permissions
    #[arg(long, conflicts_with = "dry_run")]
    print_cronjob: bool,
    #[command(flatten)]
    cronjob: CronJobArgs,
    #[command(flatten)]
    run: RunFlags,
}

/// Every ten minutes.
const SCHEDULE: &str = "*/10 * * * *";

pub(in crate::commands) fn run(args: &GcArgs, context: &Context) -> Result<Exit, CommandError> {
    let options = GcOptions {
        scope: match (args.expired, args.orphans) {
            (true, _) => GcScope::Expired,
            (_, true) => GcScope::Orphans,
            _ => GcScope::All,
        },
        dry_run: args.dry_run,
        run: args.run.options(),
    };
    if args.print_cronjob {
        gc::print_cronjob(&options, &args.cronjob.options(), context);
        return Ok(Exit::Done);
    }
    gc::gc(&options, context)
}
