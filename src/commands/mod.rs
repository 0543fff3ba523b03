//! One file a subcommand: arguments, then wiring. What a subcommand decides stands elsewhere.

mod addons;
mod apply;
mod bundle;
mod child;
mod complete;
mod completions;
mod convert;
mod cronjob;
mod delete;
mod doctor;
mod error;
mod evacuate;
mod events;
mod exec;
mod explain;
mod gc;
mod get;
mod global;
mod health;
mod help;
mod history;
mod images;
mod kubeconfig;
mod list;
mod load;
mod logging;
mod nodes;
mod plan;
mod pools;
mod protect;
mod provider;
mod reach;
mod render;
mod run;
mod running;
mod sandbox;
mod shoots;
mod signals;
mod status;
mod ttl;
mod tunnel;
mod validate;
mod version;
mod wait;
mod why;

use crate::config::Config;
use crate::ui::install_panic_hook;
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::CompleteEnv;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

pub(crate) use error::{CommandError, Exit};
pub(crate) use global::{Context, Global};

/// Make Kubernetes clusters out of KubeVirt virtual machines
#[derive(Debug, Parser)]
#[command(
    name = "kvshoot",
    version,
    disable_help_subcommand = true,
    max_term_width = 100,
    after_help = "More: kvshoot help exit-codes, environment, control-plane or provider"
)]
struct Cli {
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
    Run(run::EphemeralArgs),
    Evacuate(evacuate::EvacuateArgs),
    Delete(delete::DeleteArgs),
    Ttl(ttl::TtlArgs),
    Gc(gc::GcArgs),
    Protect(protect::ProtectArgs),
    Unprotect(protect::UnprotectArgs),
    List(list::ListArgs),
    Get(get::GetArgs),
    Status(status::StatusArgs),
    Wait(wait::WaitArgs),
    Why(why::WhyArgs),
    Events(events::EventsArgs),
    Bundle(bundle::BundleArgs),
    Nodes(nodes::NodesArgs),
    Pools(pools::PoolsArgs),
    Images(images::ImagesArgs),
    Kubeconfig(kubeconfig::KubeconfigArgs),
    Exec(exec::ExecArgs),
    Tunnel(tunnel::TunnelArgs),
    Doctor(doctor::DoctorArgs),
    Sandbox(sandbox::SandboxArgs),
    Convert(convert::ConvertArgs),
    Explain(explain::ExplainArgs),
    Schema(explain::SchemaArgs),
    Completions(completions::CompletionsArgs),
    Version(version::VersionArgs),
    Help(help::HelpArgs),
}

/// Runs what was asked for, and gives the exit code; `kvshoot help exit-codes` lists them.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    install_panic_hook();
    let args: Vec<OsString> = args.into_iter().collect();
    if let Some(exit) = complete(&args) {
        return exit;
    }
    let parsed = command_as(args.first().map(OsString::as_os_str))
        .try_get_matches_from(args)
        .and_then(|matches| Ok((Cli::from_arg_matches(&matches)?, matches)));
    match parsed {
        Ok((cli, matches)) => run(cli, &matches),
        Err(error) => {
            // Help that nobody reads to its end is no error.
            let _ = error.print();
            ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(Exit::Usage.code()))
        }
    }
}

/// The command line; its completions and manual pages are made from it.
pub fn command() -> clap::Command {
    hide_values(Cli::command())
}

/// Help shows which variable stands for a flag, not what it holds now.
fn hide_values(command: clap::Command) -> clap::Command {
    command
        .mut_args(|arg| arg.hide_env_values(true))
        .mut_subcommands(hide_values)
}

/// As a plugin of kubectl, it is called so.
fn command_as(program: Option<&OsStr>) -> clap::Command {
    let name = program.and_then(|it| Path::new(it).file_stem());
    match name.is_some_and(|it| it == "kubectl-kvshoot" || it == "kubectl_kvshoot") {
        true => command().bin_name("kubectl kvshoot"),
        false => command(),
    }
}

/// Answers the shell, when it is the shell that asks.
fn complete(args: &[OsString]) -> Option<ExitCode> {
    complete::remember(args);
    let directory = Config::default().current_dir();
    let done = CompleteEnv::with_factory(command)
        .bin("kvshoot")
        .try_complete(args, directory.as_deref());
    match done {
        Ok(false) => None,
        Ok(true) => Some(ExitCode::SUCCESS),
        Err(error) => {
            // Nobody reads what stands here but a shell.
            let _ = error.print();
            Some(ExitCode::from(Exit::Usage.code()))
        }
    }
}

fn run(mut cli: Cli, matches: &ArgMatches) -> ExitCode {
    let settled = cli.global.settle(matches);
    let context = Context::new(cli.global, cli.command.verb());
    let result = settled
        .and_then(|()| context.log())
        .and_then(|()| cli.command.run(&context));
    let mut exit = result.unwrap_or_else(|error| error.tell(&context.ui));
    if let Some(cause) = context.ui.write_failure()
        && exit == Exit::Done
    {
        exit = CommandError::new(Exit::No, "cannot write the result")
            .cause(cause)
            .tell(&context.ui);
    }
    context.ui.close(exit.code());
    context.leave();
    ExitCode::from(exit.code())
}

impl Command {
    /// Of a command whose events programs may read to their end.
    fn verb(&self) -> Option<&'static str> {
        match self {
            Command::Apply(_) => Some("apply"),
            Command::Run(_) => Some("run"),
            Command::Evacuate(_) => Some("evacuate"),
            Command::Delete(_) => Some("delete"),
            Command::Gc(_) => Some("gc"),
            _ => None,
        }
    }

    fn run(&self, context: &Context) -> Result<Exit, CommandError> {
        match self {
            Command::Validate(args) => validate::run(args, context),
            Command::Render(args) => render::run(args, context),
            Command::Plan(args) => plan::run(args, context),
            Command::Apply(args) => apply::run(args, context),
            Command::Run(args) => run::run(args, context),
            Command::Evacuate(args) => evacuate::run(args, context),
            Command::Delete(args) => delete::run(args, context),
            Command::Ttl(args) => ttl::run(args, context),
            Command::Gc(args) => gc::run(args, context),
            Command::Protect(args) => protect::protect(args, context),
            Command::Unprotect(args) => protect::unprotect(args, context),
            Command::List(args) => list::run(args, context),
            Command::Get(args) => get::run(args, context),
            Command::Status(args) => status::run(args, context),
            Command::Wait(args) => wait::run(args, context),
            Command::Why(args) => why::run(args, context),
            Command::Events(args) => events::run(args, context),
            Command::Bundle(args) => bundle::run(args, context),
            Command::Nodes(args) => nodes::run(args, context),
            Command::Pools(args) => pools::run(args, context),
            Command::Images(args) => images::run(args, context),
            Command::Kubeconfig(args) => kubeconfig::run(args, context),
            Command::Exec(args) => exec::run(args, context),
            Command::Tunnel(args) => tunnel::run(args, context),
            Command::Doctor(args) => doctor::run(args, context),
            Command::Sandbox(args) => sandbox::run(args, context),
            Command::Convert(args) => convert::run(args, context),
            Command::Explain(args) => explain::run(args, context),
            Command::Schema(args) => explain::schema(args, context),
            Command::Completions(args) => completions::run(args, context),
            Command::Version(args) => version::run(args, context),
            Command::Help(args) => help::run(args, context),
        }
    }
}
