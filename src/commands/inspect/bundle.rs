//! Arguments of `kvshoot bundle`.

use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::support_bundle::collect::{self, BundleOptions};
use crate::ui::parse_duration;
use std::path::PathBuf;
use std::time::Duration;

/// Create a support bundle
///
/// The archive contains the objects of both clusters, events, logs and the record. It contains no secrets: Secrets are
/// listed with names and lengths only.
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct BundleArgs {
    /// Name of the shoot; PROJECT/NAME outside the project `local`
    name: String,
    /// Archive to write, or - for standard output [default: NAME-TIME.tar.gz]
    #[arg(short, long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    output: Option<PathBuf>,
    /// Time limit; data that is not read by then is listed as missing
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = parse_duration)]
    timeout: Duration,
}

pub(in crate::commands) fn run(args: &BundleArgs, context: &Context) -> Result<Exit, CommandError> {
    let options = BundleOptions {
        name: args.name.clone(),
        output: args.output.clone(),
        timeout: args.timeout,
    };
    collect::bundle(&options, context)
}
