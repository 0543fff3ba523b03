//! Arguments of `kvshoot repair`.

use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::repair::{self, RepairOptions};
use crate::ui::parse_duration;
use std::time::Duration;

/// Detach volumes that hang after their machine is gone
///
/// The CSI driver detaches the volumes of a node that is gone. If it cannot, no other node can use them, and `kvshoot why`
/// reports that. This command ends such an attachment if neither a machine, an instance nor a pod of the provider cluster
/// has the volume. It exits with code 1 if an attachment is left.
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct RepairArgs {
    /// Name of the shoot
    name: String,
    /// Time that the CSI driver has to detach a volume itself
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = parse_duration)]
    older_than: Duration,
    /// Print what would be repaired; exit with code 1 if there is anything
    #[arg(long)]
    dry_run: bool,
    /// Time limit
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = parse_duration)]
    timeout: Duration,
}

pub(in crate::commands) fn run(args: &RepairArgs, context: &Context) -> Result<Exit, CommandError> {
    let options = RepairOptions {
        name: args.name.clone(),
        older_than: args.older_than,
        dry_run: args.dry_run,
        timeout: args.timeout,
    };
    repair::repair(&options, context)
}
