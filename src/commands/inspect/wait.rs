//! Arguments of `kvshoot wait`.

use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::inspect::wait::{self, WaitOptions};
use crate::app::inspect::wait_condition::{WaitCondition, parse};
use crate::ui::parse_duration;
use std::time::Duration;

/// Wait for a condition on a cluster
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct WaitArgs {
    /// Name of the shoot
    name: String,
    /// Condition (repeatable): ready, api-server, nodes (all ready), nodes=N (at least N ready), deleted, or
    /// condition=TYPE[=STATUS] for a condition that status shows
    #[arg(
        long = "for",
        value_name = "CONDITION",
        default_value = "ready",
        value_parser = parse
    )]
    conditions: Vec<WaitCondition>,
    /// Time limit; with 0s, check once and exit with code 1 if the condition is not met
    #[arg(long, value_name = "TIME", default_value = "30m", value_parser = parse_duration)]
    timeout: Duration,
}

pub(in crate::commands) fn run(args: &WaitArgs, context: &Context) -> Result<Exit, CommandError> {
    let options = WaitOptions {
        name: args.name.clone(),
        conditions: args.conditions.clone(),
        timeout: args.timeout,
    };
    wait::wait(&options, context)
}
