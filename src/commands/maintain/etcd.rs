//! Arguments of `kvshoot etcd`.

use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::etcd::defragment::{self, DefragmentOptions};
use crate::commands::arguments::RunFlags;
use crate::plan::DefragmentationScope;

/// Care for the etcd of a cluster
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct EtcdArgs {
    #[command(subcommand)]
    command: EtcdCommand,
}

#[derive(Debug, clap::Subcommand)]
enum EtcdCommand {
    #[command(visible_alias = "defragment")]
    Defrag(DefragmentArgs),
}

/// Defragment etcd, which gives free space of its database back to the volume
///
/// Members are defragmented one after the other; each one does not answer for about a second per 100 MB of data. With
/// several members, the leader hands over first, so that clients that try again lose no time. Databases with less than
/// 1 MiB or a tenth of free space are left alone.
#[derive(Debug, clap::Args)]
struct DefragmentArgs {
    /// Name of the shoot
    name: String,
    /// Only databases with more than 100 MiB and 45 % of free space
    #[arg(long)]
    when_worthwhile: bool,
    #[command(flatten)]
    run: RunFlags,
}

pub(in crate::commands) fn run(args: &EtcdArgs, context: &Context) -> Result<Exit, CommandError> {
    let EtcdCommand::Defrag(args) = &args.command;
    let options = DefragmentOptions {
        name: args.name.clone(),
        scope: match args.when_worthwhile {
            true => DefragmentationScope::Worthwhile,
            false => DefragmentationScope::All,
        },
        run: args.run.options(),
    };
    defragment::defragment(&options, context)
}
