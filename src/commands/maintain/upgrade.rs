//! Arguments of `kvshoot upgrade`.

use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::lifecycle::upgrade::{self, UpgradeOptions};
use crate::commands::arguments::RunFlags;
use crate::state::upgrade::UpgradeCheck;
use crate::ui::Format;
use clap::ValueEnum;
use clap::builder::PossibleValue;
use std::path::PathBuf;

/// Upgrade Kubernetes: the control plane, then the pools
///
/// Before anything is changed, checks look for what the upgrade would break or wait for. Each finding has the name of
/// its check, an object and a remedy; --ignore ignores all findings of a check.
///
/// Minor versions cannot be skipped, and no version can be downgraded. Without --to, the newest patch of the current
/// minor version is chosen. Machines are replaced, within maxSurge and maxUnavailable of their pools.
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct UpgradeArgs {
    /// Name of the shoot
    name: String,
    /// List the versions of the control plane and the pools, and those that the CloudProfile offers
    #[arg(long, conflicts_with_all = ["to", "pools", "control_plane_only", "ignore"])]
    list: bool,
    /// Output format of --list
    #[arg(
        short,
        long,
        value_name = "FORMAT",
        default_value = "table",
        requires = "list"
    )]
    output: Format,
    /// Version such as 1.34.2, or 1.34 for its newest patch
    #[arg(long, value_name = "VERSION")]
    to: Option<String>,
    /// Pools that follow the control plane; the others keep their version [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pools: Vec<String>,
    /// Let all pools keep their version
    #[arg(long, conflicts_with = "pools")]
    control_plane_only: bool,
    /// Upgrade in spite of what a check finds (repeatable)
    #[arg(long, value_name = "CHECK", value_delimiter = ',')]
    ignore: Vec<UpgradeCheck>,
    /// CloudProfile with the offered versions, instead of that of the last apply
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    profile: Option<PathBuf>,
    #[command(flatten)]
    run: RunFlags,
}

impl ValueEnum for UpgradeCheck {
    fn value_variants<'a>() -> &'a [UpgradeCheck] {
        &UpgradeCheck::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.id()).help(self.about()))
    }
}

pub(in crate::commands) fn run(
    args: &UpgradeArgs,
    context: &Context,
) -> Result<Exit, CommandError> {
    let named = !args.pools.is_empty() || args.control_plane_only;
    let options = UpgradeOptions {
        name: args.name.clone(),
        to: args.to.clone(),
        pools: named.then(|| args.pools.iter().cloned().collect()),
        images: Vec::new(),
        ignored: args.ignore.iter().copied().collect(),
        profile: args.profile.clone(),
        run: args.run.options(),
    };
    match args.list {
        true => upgrade::list(&options, args.output, context),
        false => upgrade::upgrade(&options, context),
    }
}
