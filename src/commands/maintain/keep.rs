//! Arguments of `kvshoot keep`.

use crate::app::context::Context;
use crate::app::cronjob::{self, parse_image};
use crate::app::error::{CommandError, Exit};
use crate::app::keep::options::KeepOptions;
use crate::app::keep::{deployment, election};
use crate::commands::arguments::RunFlags;
use crate::state::duty::Duty;

/// Keep clusters as they were applied last, until Ctrl-C
///
/// Watches the clusters, and applies the last applied manifest again when something is due: objects or machines that
/// are missing, certificates near their end, requests of kubelets for certificates, machines on hosts that are being
/// drained. Deletes clusters whose expiry has passed. Of several that run at the same time, one acts and the others wait.
/// A cluster is locked only while something is due; nothing else is written.
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct KeepCommandArgs {
    /// Name of the shoot [default: all shoots of the namespace]
    name: Option<String>,
    /// Keep all shoots of the namespace, which is the default
    #[arg(long, conflicts_with = "name")]
    all: bool,
    /// Leave out a duty (repeatable)
    #[arg(long, value_name = "DUTY")]
    skip: Vec<SkippedDuty>,
    /// Print a Deployment that runs this command, with a ServiceAccount of minimal permissions
    #[arg(long)]
    print: bool,
    /// Image of the Deployment, with kvshoot in its PATH
    #[arg(long, value_name = "IMAGE", default_value = cronjob::IMAGE, requires = "print", value_parser = parse_image)]
    image: String,
    #[command(flatten)]
    run: RunFlags,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum SkippedDuty {
    /// Create missing objects
    Objects,
    /// Create missing machines, and replace those of drains and repair
    Machines,
    /// Renew certificates of the control plane
    Certificates,
    /// Approve certificates of kubelets
    Requests,
    /// Replace machines on hosts that are being drained
    Drains,
    /// Restart and replace machines whose node is not healthy
    Repair,
    /// Stop and start clusters by their schedules
    Hibernation,
    /// Delete expired clusters
    Expiry,
}

impl SkippedDuty {
    fn duty(self) -> Duty {
        match self {
            SkippedDuty::Objects => Duty::Objects,
            SkippedDuty::Machines => Duty::Machines,
            SkippedDuty::Certificates => Duty::Certificates,
            SkippedDuty::Requests => Duty::Requests,
            SkippedDuty::Drains => Duty::Drains,
            SkippedDuty::Repair => Duty::Repair,
            SkippedDuty::Hibernation => Duty::Hibernation,
            SkippedDuty::Expiry => Duty::Expiry,
        }
    }
}

pub(in crate::commands) fn run(
    args: &KeepCommandArgs,
    context: &Context,
) -> Result<Exit, CommandError> {
    let options = KeepOptions {
        name: args.name.clone(),
        skipped: args.skip.iter().map(|it| it.duty()).collect(),
        run: args.run.options(),
    };
    match args.print {
        true => deployment::print(&options, &args.image, context),
        false => election::keep(&options, context),
    }
}
