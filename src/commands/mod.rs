//! One file a subcommand: arguments, then wiring. What a subcommand decides stands elsewhere.

mod apply;
mod completions;
mod delete;
mod error;
mod explain;
mod get;
mod global;
mod help;
mod images;
mod list;
mod load;
mod nodes;
mod plan;
mod pools;
mod render;
mod sandbox;
mod status;
mod validate;
mod version;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

pub(crate) use error::{CommandError, Exit};
pub(crate) use global::{Context, Global};

/// Make Kubernetes clusters out of KubeVirt virtual machines
#[derive(Debug, Parser)]
#[command(
    name = "kvshoot",
    version,
    disable_help_subcommand = true,
    max_term_width = 100
)]
pub struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Validate(validate::ValidateArgs),
    Render(render::RenderArgs),
    Plan(plan::PlanArgs),
    Apply(apply::ApplyArgs),
    Delete(delete::DeleteArgs),
    List(list::ListArgs),
    Get(get::GetArgs),
    Status(status::StatusArgs),
    Nodes(nodes::NodesArgs),
    Pools(pools::PoolsArgs),
    Images(images::ImagesArgs),
    Sandbox(sandbox::SandboxArgs),
    Explain(explain::ExplainArgs),
    Schema(explain::SchemaArgs),
    Completions(completions::CompletionsArgs),
    Version(version::VersionArgs),
    Help(help::HelpArgs),
}

/// Runs what was asked for, and gives the exit code; `kvshoot help exit-codes` lists them.
pub fn run(cli: Cli) -> ExitCode {
    let context = Context::new(cli.global);
    let result = match &cli.command {
        Command::Validate(args) => validate::run(args, &context),
        Command::Render(args) => render::run(args, &context),
        Command::Plan(args) => plan::run(args, &context),
        Command::Apply(args) => apply::run(args, &context),
        Command::Delete(args) => delete::run(args, &context),
        Command::List(args) => list::run(args, &context),
        Command::Get(args) => get::run(args, &context),
        Command::Status(args) => status::run(args, &context),
        Command::Nodes(args) => nodes::run(args, &context),
        Command::Pools(args) => pools::run(args, &context),
        Command::Images(args) => images::run(args, &context),
        Command::Sandbox(args) => sandbox::run(args, &context),
        Command::Explain(args) => explain::run(args, &context),
        Command::Schema(args) => explain::schema(args, &context),
        Command::Completions(args) => completions::run(args, &context),
        Command::Version(args) => version::run(args, &context),
        Command::Help(args) => help::run(args, &context),
    };
    let exit = result.unwrap_or_else(|error| context.ui.failure(&error));
    ExitCode::from(exit.code())
}
