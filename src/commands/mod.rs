//! The command line: arguments of each subcommand, and one call into [`crate::app`].

mod access;
mod arguments;
mod backup;
mod complete;
mod create;
mod examples;
mod global;
mod inspect;
mod logging;
mod maintain;
mod manifests;
mod overview;
mod provider;
mod shell;
mod suggestions;

use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::provider::sandbox_clock::follow_clock;
use crate::config::{self, Config};
use crate::ui::{ProgressMode, Ui, UiSettings, install_panic_hook};
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::CompleteEnv;
use global::Global;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

/// Create Kubernetes clusters from KubeVirt virtual machines
#[derive(Debug, Parser)]
#[command(
    name = "kvshoot",
    version,
    disable_help_subcommand = true,
    max_term_width = 100
)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Init(create::init::InitArgs),
    Validate(manifests::validate::ValidateArgs),
    Render(manifests::render::RenderArgs),
    Plan(create::plan::PlanArgs),
    Apply(create::apply::ApplyArgs),
    Run(create::run::RunArgs),
    Evacuate(maintain::evacuate::EvacuateArgs),
    Keep(maintain::keep::KeepCommandArgs),
    Rotate(maintain::rotate::RotateArgs),
    Repair(maintain::repair::RepairArgs),
    Scale(maintain::scale::ScaleArgs),
    Hibernate(maintain::hibernate::HibernateArgs),
    Wake(maintain::hibernate::WakeArgs),
    Upgrade(maintain::upgrade::UpgradeArgs),
    Delete(create::delete::DeleteArgs),
    Ttl(maintain::ttl::TtlArgs),
    Gc(maintain::gc::GcArgs),
    Backup(backup::create::BackupArgs),
    Backups(backup::backups::BackupsArgs),
    Restore(backup::restore::RestoreArgs),
    Etcd(maintain::etcd::EtcdArgs),
    Protect(maintain::protect::ProtectArgs),
    Unprotect(maintain::protect::UnprotectArgs),
    List(inspect::list::ListArgs),
    Get(inspect::get::GetArgs),
    Status(inspect::status::StatusArgs),
    Wait(inspect::wait::WaitArgs),
    Why(inspect::why::WhyArgs),
    Conformance(inspect::conformance::ConformanceArgs),
    Events(inspect::events::EventsArgs),
    Bundle(inspect::bundle::BundleArgs),
    Nodes(inspect::nodes::NodesArgs),
    Pools(inspect::pools::PoolsArgs),
    Images(inspect::images::ImagesArgs),
    Kubeconfig(access::kubeconfig::KubeconfigArgs),
    Exec(access::exec::ExecArgs),
    Tunnel(access::tunnel::TunnelArgs),
    Doctor(provider::doctor::DoctorArgs),
    Sandbox(provider::sandbox::SandboxArgs),
    Convert(manifests::convert::ConvertArgs),
    Explain(manifests::explain::ExplainArgs),
    Schema(manifests::explain::SchemaArgs),
    Completions(shell::completions::CompletionsArgs),
    Version(shell::version::VersionArgs),
    Help(shell::help::HelpArgs),
}

/// Runs the command line, and returns an exit code of `kvshoot help exit-codes`.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    install_panic_hook();
    config::protect_memory();
    let args: Vec<OsString> = args.into_iter().collect();
    if let Some(exit) = complete_line(&args) {
        return exit;
    }
    let mut command = command_named(args.first().map(OsString::as_os_str));
    if args.len() < 2 {
        // Like `-h`, but a bare call is not an error.
        let _ = command.print_help();
        return ExitCode::SUCCESS;
    }
    let parsed = command
        .try_get_matches_from_mut(&args)
        .and_then(|matches| Ok((Cli::from_arg_matches(&matches)?, matches)));
    match parsed {
        Ok((cli, matches)) => run(&cli, &matches),
        Err(error) => {
            let error = suggestions::improve(error, &mut command, &args);
            print_error(&error);
            ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(Exit::Usage.code()))
        }
    }
}

/// Prints help, or an error, which quotes arguments and variables and is therefore printed like text of others.
fn print_error(error: &clap::Error) {
    if !error.use_stderr() {
        // A closed pipe is not an error of help.
        let _ = error.print();
        return;
    }
    let config = Config::default();
    let ui = Ui::new(UiSettings {
        no_color: config.no_color(),
        force_color: config.force_color(),
        dumb: config.dumb_terminal(),
        unicode: config.unicode(),
        ..UiSettings::default()
    });
    let text = error.render().to_string();
    match text.strip_prefix("error: ") {
        Some(rest) => ui.problems(&format!("{} {rest}", ui.err_style().red("error:")), []),
        None => ui.problems(&text, []),
    }
}

/// The command line, from which completions and man pages are generated.
pub fn command() -> clap::Command {
    let command = hide_values(Cli::command());
    let command = complete::attach(command);
    overview::attach(examples::attach(command))
}

/// Help shows the variable of a flag, but not its current value.
fn hide_values(command: clap::Command) -> clap::Command {
    command
        .mut_args(|arg| arg.hide_env_values(true))
        .mut_subcommands(hide_values)
}

/// The command line under the name that kubectl shows for its plugin.
fn command_named(program: Option<&OsStr>) -> clap::Command {
    let name = program.and_then(|it| Path::new(it).file_stem());
    match name.is_some_and(|it| it == "kubectl-kvshoot" || it == "kubectl_kvshoot") {
        true => command().bin_name("kubectl kvshoot"),
        false => command(),
    }
}

/// Completes the line if a shell asks for it.
fn complete_line(args: &[OsString]) -> Option<ExitCode> {
    complete::remember(args, command);
    let directory = Config::default().current_dir();
    let done = CompleteEnv::with_factory(command)
        .bin("kvshoot")
        .try_complete(args, directory.as_deref());
    match done {
        Ok(false) => None,
        Ok(true) => Some(ExitCode::SUCCESS),
        Err(error) => {
            // Only a shell reads this.
            let _ = error.print();
            Some(ExitCode::from(Exit::Usage.code()))
        }
    }
}

fn run(cli: &Cli, matches: &ArgMatches) -> ExitCode {
    let mut settings = cli.global.output_settings();
    if let Command::Keep(_) = cli.command
        && matches!(settings.progress, ProgressMode::Auto | ProgressMode::Tty)
        && !settings.quiet
    {
        // It has no end, and works on several clusters at the same time.
        settings.progress = ProgressMode::Plain;
    }
    let options = match cli.global.provider_options(matches) {
        Ok(options) => options,
        Err(error) => {
            let exit = error.report(&Ui::new(UiSettings { ..settings }));
            return ExitCode::from(exit.code());
        }
    };
    let context = Context::new(options, settings, cli.command.verb());
    follow_clock(&context);
    let (verbose, format, file) = cli.global.log();
    let result =
        logging::start(&context.ui, verbose, format, file).and_then(|()| cli.command.run(&context));
    let mut exit = result.unwrap_or_else(|error| error.report(&context.ui));
    if let Some(cause) = context.ui.write_failure()
        && exit == Exit::Done
    {
        exit = CommandError::new(Exit::No, "cannot write the result")
            .cause(cause)
            .report(&context.ui);
    }
    context.ui.close(exit.code());
    context.shutdown();
    ExitCode::from(exit.code())
}

impl Command {
    /// The name of a command that changes things, for its event stream.
    fn verb(&self) -> Option<&'static str> {
        match self {
            Command::Apply(_) => Some("apply"),
            Command::Run(_) => Some("run"),
            Command::Evacuate(_) => Some("evacuate"),
            Command::Keep(_) => Some("keep"),
            Command::Rotate(_) => Some("rotate"),
            Command::Scale(_) => Some("scale"),
            Command::Hibernate(_) => Some("hibernate"),
            Command::Wake(_) => Some("wake"),
            Command::Upgrade(_) => Some("upgrade"),
            Command::Delete(_) => Some("delete"),
            Command::Etcd(_) => Some("etcd"),
            Command::Gc(_) => Some("gc"),
            Command::Restore(_) => Some("restore"),
            _ => None,
        }
    }

    fn run(&self, context: &Context) -> Result<Exit, CommandError> {
        match self {
            Command::Init(args) => create::init::run(args, context),
            Command::Validate(args) => manifests::validate::run(args, context),
            Command::Render(args) => manifests::render::run(args, context),
            Command::Plan(args) => create::plan::run(args, context),
            Command::Apply(args) => create::apply::run(args, context),
            Command::Run(args) => create::run::run(args, context),
            Command::Evacuate(args) => maintain::evacuate::run(args, context),
            Command::Keep(args) => maintain::keep::run(args, context),
            Command::Rotate(args) => maintain::rotate::run(args, context),
            Command::Repair(args) => maintain::repair::run(args, context),
            Command::Scale(args) => maintain::scale::run(args, context),
            Command::Hibernate(args) => maintain::hibernate::hibernate(args, context),
            Command::Wake(args) => maintain::hibernate::wake(args, context),
            Command::Upgrade(args) => maintain::upgrade::run(args, context),
            Command::Delete(args) => create::delete::run(args, context),
            Command::Ttl(args) => maintain::ttl::run(args, context),
            Command::Gc(args) => maintain::gc::run(args, context),
            Command::Backup(args) => backup::create::run(args, context),
            Command::Backups(args) => backup::backups::run(args, context),
            Command::Restore(args) => backup::restore::run(args, context),
            Command::Etcd(args) => maintain::etcd::run(args, context),
            Command::Protect(args) => maintain::protect::protect(args, context),
            Command::Unprotect(args) => maintain::protect::unprotect(args, context),
            Command::List(args) => inspect::list::run(args, context),
            Command::Get(args) => inspect::get::run(args, context),
            Command::Status(args) => inspect::status::run(args, context),
            Command::Wait(args) => inspect::wait::run(args, context),
            Command::Why(args) => inspect::why::run(args, context),
            Command::Conformance(args) => inspect::conformance::run(args, context),
            Command::Events(args) => inspect::events::run(args, context),
            Command::Bundle(args) => inspect::bundle::run(args, context),
            Command::Nodes(args) => inspect::nodes::run(args, context),
            Command::Pools(args) => inspect::pools::run(args, context),
            Command::Images(args) => inspect::images::run(args, context),
            Command::Kubeconfig(args) => access::kubeconfig::run(args, context),
            Command::Exec(args) => access::exec::run(args, context),
            Command::Tunnel(args) => access::tunnel::run(args, context),
            Command::Doctor(args) => provider::doctor::run(args, context),
            Command::Sandbox(args) => provider::sandbox::run(args, context),
            Command::Convert(args) => manifests::convert::run(args, context),
            Command::Explain(args) => manifests::explain::run(args, context),
            Command::Schema(args) => manifests::explain::schema(args, context),
            Command::Completions(args) => shell::completions::run(args, context),
            Command::Version(args) => shell::version::run(args, context),
            Command::Help(args) => shell::help::run(args, command(), context),
        }
    }
}
