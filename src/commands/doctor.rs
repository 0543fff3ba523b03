use super::{CommandError, Context, Exit};
use crate::cluster;

/// Look whether a provider cluster has what kvshoot needs
#[derive(Debug, clap::Args)]
pub(super) struct DoctorArgs {
    /// Print the roles that kvshoot needs, and look at nothing
    #[arg(long)]
    rbac: bool,
}

pub(super) fn run(args: &DoctorArgs, context: &Context) -> Result<Exit, CommandError> {
    if args.rbac {
        let namespace = context.global.namespace.as_deref();
        context.ui.data(&cluster::rbac(namespace));
        return Ok(Exit::Done);
    }
    Ok(Exit::Done)
}
