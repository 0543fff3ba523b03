//! Arguments of `kvshoot ttl`.

use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::expiry::{self, Lifetime, NewExpiry, parse_lifetime};
use jiff::Timestamp;

/// Show or set the expiry of a cluster; gc deletes expired clusters
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct TtlArgs {
    /// Name of the shoot
    name: String,
    /// New lifetime from now (2h), or added to the current expiry (+2h)
    #[arg(value_name = "TIME", value_parser = parse_lifetime, conflicts_with_all = ["until", "never"])]
    life: Option<Lifetime>,
    /// New expiry, for example 2026-12-24T18:00:00Z
    #[arg(long, value_name = "TIMESTAMP", conflicts_with = "never")]
    until: Option<Timestamp>,
    /// Remove the expiry
    #[arg(long)]
    never: bool,
}

pub(in crate::commands) fn run(args: &TtlArgs, context: &Context) -> Result<Exit, CommandError> {
    let new = match (args.life, args.until) {
        (Some(lifetime), _) => Some(NewExpiry::In(lifetime)),
        (None, Some(until)) => Some(NewExpiry::At(until)),
        (None, None) => args.never.then_some(NewExpiry::Never),
    };
    expiry::ttl(&args.name, new, context)
}
