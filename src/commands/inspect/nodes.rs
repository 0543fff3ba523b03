//! Arguments of `kvshoot nodes`.

use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::inspect::nodes::logs::{self, NodeLogOptions};
use crate::app::inspect::nodes::{self, NodesOptions};
use crate::app::node_actions::delete::{self, NodeDeletionOptions};
use crate::app::node_actions::{self, NodeAction, NodeActionOptions};
use crate::commands::arguments::RunFlags;
use crate::ui::Format;

/// List the nodes of a cluster, show them and their logs, drain, restart, replace and delete them
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct NodesArgs {
    #[command(subcommand)]
    command: NodesCommand,
}

#[derive(Debug, clap::Subcommand)]
enum NodesCommand {
    List(NodesListArgs),
    Describe(NodesDescribeArgs),
    Console(NodesConsoleArgs),
    Logs(NodesLogsArgs),
    /// Restart the machine of a node: its instance is deleted and started again, without a drain
    Restart(NodeArgs),
    /// Replace the machine of a node, within maxSurge and maxUnavailable
    Replace(NodeArgs),
    /// Delete the machine of a node, and make its pool smaller by one
    ///
    /// The node is drained first, within maxUnavailable. minimum of the pool has to allow the smaller size. The record of the
    /// shoot keeps it: the zone of the node has one machine less, until `kvshoot scale` spreads the machines over the zones
    /// again.
    Delete(NodeArgs),
    /// Keep new pods off a node
    Cordon(NodeArgs),
    /// Let a node accept pods again
    Uncordon(NodeArgs),
    /// Keep new pods off a node, and evict its pods as their disruption budgets allow
    Drain(NodeArgs),
}

#[derive(Debug, clap::Args)]
struct NodeArgs {
    /// Name of the shoot
    name: String,
    /// Name of the node, which is that of its machine
    node: String,
    #[command(flatten)]
    run: RunFlags,
}

impl NodeArgs {
    fn options(&self, action: NodeAction) -> NodeActionOptions {
        NodeActionOptions {
            shoot: self.name.clone(),
            node: self.node.clone(),
            action,
            run: self.run.options(),
        }
    }
}

/// Show all that is known of a node and its machine
#[derive(Debug, clap::Args)]
struct NodesDescribeArgs {
    /// Name of the shoot
    name: String,
    /// Name of the node, which is that of its machine
    node: String,
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    output: Format,
}

/// Print the last lines of the serial console of a machine
///
/// KubeVirt keeps them while the instance exists (`logSerialConsole`, on by default). Escape sequences are removed, tokens
/// and passwords redacted.
#[derive(Debug, clap::Args)]
struct NodesConsoleArgs {
    /// Name of the shoot
    name: String,
    /// Name of the node, which is that of its machine
    node: String,
    /// Number of lines from the end
    #[arg(long, value_name = "LINES", default_value_t = 200)]
    tail: u32,
    /// Print new lines until the instance ends
    #[arg(short, long)]
    follow: bool,
}

/// Print the end of the kubelet's log on a node
///
/// The kubelet reads it from the journal of the node, if its configuration has `enableSystemLogQuery`. Tokens and passwords
/// are redacted.
#[derive(Debug, clap::Args)]
struct NodesLogsArgs {
    /// Name of the shoot
    name: String,
    /// Name of the node, which is that of its machine
    node: String,
    /// Number of lines from the end
    #[arg(long, value_name = "LINES", default_value_t = 200)]
    tail: u32,
    /// Another service of the node, such as containerd
    #[arg(long, value_name = "NAME", default_value = "kubelet", value_parser = parse_service)]
    service: String,
}

/// # Errors
///
/// The text is not the name of a service.
fn parse_service(text: &str) -> Result<String, String> {
    let is_plain = |it: u8| it.is_ascii_alphanumeric() || b"@._-".contains(&it);
    match text.bytes().all(is_plain) && text.starts_with(|it: char| it.is_ascii_alphanumeric()) {
        true => Ok(text.to_owned()),
        false => Err("is not a valid name of a service".to_owned()),
    }
}

/// List the nodes of a cluster with zone, status and machine
#[derive(Debug, clap::Args)]
#[command(visible_alias = "ls")]
struct NodesListArgs {
    /// Name of the shoot; optional if the namespace has only one
    name: Option<String>,
    /// Filter by pool
    #[arg(long, value_name = "NAME")]
    pool: Option<String>,
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    output: Format,
    /// Keep watching, and print each node that changes
    #[arg(short, long)]
    watch: bool,
}

pub(in crate::commands) fn run(args: &NodesArgs, context: &Context) -> Result<Exit, CommandError> {
    let (args, action) = match &args.command {
        NodesCommand::List(args) => return list(args, context),
        NodesCommand::Describe(args) => {
            return nodes::detail::describe(&args.name, &args.node, args.output, context);
        }
        NodesCommand::Console(args) => {
            let options = log_options(&args.name, &args.node, args.tail);
            return logs::console(&options, args.follow, context);
        }
        NodesCommand::Logs(args) => {
            let options = log_options(&args.name, &args.node, args.tail);
            return logs::logs(&options, &args.service, context);
        }
        NodesCommand::Delete(args) => {
            let options = NodeDeletionOptions {
                shoot: args.name.clone(),
                node: args.node.clone(),
                run: args.run.options(),
            };
            return delete::delete(&options, context);
        }
        NodesCommand::Restart(args) => (args, NodeAction::Restart),
        NodesCommand::Replace(args) => (args, NodeAction::Replace),
        NodesCommand::Cordon(args) => (args, NodeAction::Cordon),
        NodesCommand::Uncordon(args) => (args, NodeAction::Uncordon),
        NodesCommand::Drain(args) => (args, NodeAction::Drain),
    };
    node_actions::act(&args.options(action), context)
}

fn log_options(shoot: &str, node: &str, tail: u32) -> NodeLogOptions {
    NodeLogOptions {
        shoot: shoot.to_owned(),
        node: node.to_owned(),
        tail: usize::try_from(tail).unwrap_or(usize::MAX),
    }
}

fn list(args: &NodesListArgs, context: &Context) -> Result<Exit, CommandError> {
    let options = NodesOptions {
        name: args.name.clone(),
        pool: args.pool.clone(),
        output: args.output,
        watch: args.watch,
    };
    nodes::list_nodes(&options, context)
}
