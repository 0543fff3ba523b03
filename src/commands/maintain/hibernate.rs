//! Arguments of `kvshoot hibernate` and `kvshoot wake`.

use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::lifecycle::hibernate::{self, HibernateOptions};
use crate::commands::arguments::RunFlags;

/// Stop a cluster, and keep its data
///
/// Nodes are drained, for at most 15 minutes, and their machines halted; then the control plane stops, etcd last. Disks,
/// volumes, keys and addresses stay. The cluster hibernates until it is woken, by the command, by a changed manifest or by
/// a schedule; applying the same manifest does not wake it. Each step is resumed where it was interrupted.
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct HibernateArgs {
    /// Name of the shoot
    name: String,
    /// Stop it although its webhooks may keep it from starting again
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    run: RunFlags,
}

/// Start a hibernated cluster
///
/// Certificates that have ended are renewed, then etcd, the API server and the other parts of the control plane start, and
/// the machines with their disks. Machines that were halted for more than 66 hours are replaced, because the certificates
/// of their kubelets may have ended.
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct WakeArgs {
    /// Name of the shoot
    name: String,
    #[command(flatten)]
    run: RunFlags,
}

pub(in crate::commands) fn hibernate(
    args: &HibernateArgs,
    context: &Context,
) -> Result<Exit, CommandError> {
    let options = HibernateOptions {
        name: args.name.clone(),
        hibernates: true,
        force: args.force,
        run: args.run.options(),
    };
    hibernate::hibernate(&options, context)
}

pub(in crate::commands) fn wake(args: &WakeArgs, context: &Context) -> Result<Exit, CommandError> {
    let options = HibernateOptions {
        name: args.name.clone(),
        hibernates: false,
        force: false,
        run: args.run.options(),
    };
    hibernate::hibernate(&options, context)
}
