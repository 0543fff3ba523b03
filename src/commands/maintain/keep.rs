//! Arguments of `kvshoot keep`.

use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::in_cluster::pod::CLAIMS;
use crate::app::in_cluster::{IMAGE, parse_image, parse_object_name};
use crate::app::keep::deployment::{self, DeploymentOptions};
use crate::app::keep::election;
use crate::app::keep::monitoring;
use crate::app::keep::options::{KeepOptions, ServeAddress};
use crate::commands::arguments::RunFlags;
use crate::state::duty::Duty;
use crate::ui::parse_duration;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use std::path::PathBuf;
use std::time::Duration;

/// Keep clusters as they were applied last, until Ctrl-C
///
/// Watches the clusters, and applies the last applied manifest again when something is due: objects or machines that
/// are missing, certificates near their end, requests of kubelets for certificates, machines on hosts that are being
/// drained. Restarts and replaces machines whose node is not healthy, and detaches volumes that hang after their machine is
/// gone. Makes the backups that manifests schedule, and updates Kubernetes and machine images in maintenance windows.
/// Deletes clusters whose expiry has passed. Of several that run at the same time, one acts and the others wait. A
/// cluster is locked only while something is due; nothing else is written.
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct KeepCommandArgs {
    /// Name of the shoot [default: all shoots of the namespace]
    name: Option<String>,
    /// Keep all shoots of the namespace, which is the default
    #[arg(long, conflicts_with = "name")]
    all: bool,
    /// Leave out a duty (repeatable)
    #[arg(long, value_name = "DUTY", value_parser = duties())]
    skip: Vec<Duty>,
    /// Time that the CSI driver has to detach a volume of a node that is gone
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = parse_duration)]
    detach_after: Duration,
    /// Directory with the volumes for backups to pvc:NAME, each mounted below its name
    #[arg(long, value_name = "DIR", default_value = CLAIMS, value_hint = clap::ValueHint::DirPath)]
    claims_dir: PathBuf,
    /// Serve metrics at http://ADDRESS/metrics; with :PORT, on all addresses. Anyone who can connect can read them
    #[arg(long, value_name = "ADDRESS", value_parser = ServeAddress::parse)]
    metrics_address: Option<ServeAddress>,
    /// Serve the cluster autoscalers of the shoots; with :PORT, on all addresses. Each connects with its own certificate
    #[arg(long, value_name = "ADDRESS", value_parser = ServeAddress::parse)]
    autoscaler_address: Option<ServeAddress>,
    /// Print a Deployment that runs this command, with a ServiceAccount of minimal permissions
    #[arg(long)]
    print: bool,
    /// Print a ServiceMonitor, alert rules and a dashboard for the metrics of the Deployment
    #[arg(long, conflicts_with_all = ["print", "metrics_address", "autoscaler_address"])]
    print_monitoring: bool,
    /// PersistentVolumeClaim for backups that the Deployment mounts (repeatable)
    #[arg(long, value_name = "NAME", requires = "print", value_parser = parse_object_name)]
    backup_claim: Vec<String>,
    /// Secret with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY for the backups of the Deployment
    #[arg(long, value_name = "NAME", requires = "print", value_parser = parse_object_name)]
    credentials_secret: Option<String>,
    /// Image of the Deployment, with kvshoot in its PATH
    #[arg(long, value_name = "IMAGE", default_value = IMAGE, requires = "print", value_parser = parse_image)]
    image: String,
    #[command(flatten)]
    run: RunFlags,
}

/// Reads the name of a duty.
fn duties() -> impl TypedValueParser<Value = Duty> {
    let names = Duty::ALL.map(|it| PossibleValue::new(it.name()).help(it.description()));
    PossibleValuesParser::new(names)
        .map(|name| Duty::parse(&name).expect("the parser accepts names of duties only"))
}

pub(in crate::commands) fn run(
    args: &KeepCommandArgs,
    context: &Context,
) -> Result<Exit, CommandError> {
    let options = KeepOptions {
        name: args.name.clone(),
        skipped: args.skip.iter().copied().collect(),
        detach_after: args.detach_after,
        claims: args.claims_dir.clone(),
        metrics: args.metrics_address,
        autoscaler: args.autoscaler_address,
        run: args.run.options(),
    };
    if args.print_monitoring {
        return monitoring::print(&options, context);
    }
    let deployment = DeploymentOptions {
        image: args.image.clone(),
        claims: args.backup_claim.clone(),
        credentials: args.credentials_secret.clone(),
    };
    match args.print {
        true => deployment::print(&options, &deployment, context),
        false => election::keep(&options, context),
    }
}
