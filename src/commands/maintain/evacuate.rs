//! Arguments of `kvshoot evacuate`.

use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::evacuate::{self, EvacuateOptions};
use crate::commands::arguments::{CronJobArgs, RunFlags};

/// Migrate or replace machines on provider nodes that are being drained
///
/// When a node of the provider cluster is drained, KubeVirt leaves machines with evictionStrategy External to another
/// controller, and the drain waits. This command has KubeVirt migrate each such machine if it can. Otherwise it drains the
/// node, deletes the machine and creates a new one, within maxSurge and maxUnavailable. It does so by applying the last
/// applied manifest again. Machines with other strategies are handled by KubeVirt. Certificates that kubelets have requested
/// are approved as well, as by apply.
#[derive(Debug, clap::Args)]
#[command(mut_arg("schedule", |arg| arg.default_value(SCHEDULE)))]
pub(in crate::commands) struct EvacuateArgs {
    /// Name of the shoot [default: all shoots of the namespace]
    name: Option<String>,
    /// Keep watching until Ctrl-C; --timeout then limits each run
    #[arg(short, long)]
    watch: bool,
    /// Print a CronJob that runs this command, with a ServiceAccount of minimal permissions
    #[arg(long, conflicts_with = "watch")]
    print_cronjob: bool,
    #[command(flatten)]
    cronjob: CronJobArgs,
    #[command(flatten)]
    run: RunFlags,
}

/// Every minute, since the drain waits for it.
const SCHEDULE: &str = "* * * * *";

pub(in crate::commands) fn run(
    args: &EvacuateArgs,
    context: &Context,
) -> Result<Exit, CommandError> {
    let options = EvacuateOptions {
        name: args.name.clone(),
        watch: args.watch,
        run: args.run.options(),
    };
    match args.print_cronjob {
        true => evacuate::print_cronjob(&options, &args.cronjob.options(), context),
        false => evacuate::evacuate(&options, context),
    }
}
