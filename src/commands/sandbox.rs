use super::{CommandError, Context, Exit};
use crate::sandbox::{self, Dirs, Fault, Sandbox, SandboxError, Step, Up};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

/// Run a provider cluster on this computer, without a hypervisor
#[derive(Debug, clap::Args)]
pub(super) struct SandboxArgs {
    /// Name of the sandbox; several may run side by side
    #[arg(long, global = true, default_value = "default", value_name = "NAME")]
    name: String,
    #[command(subcommand)]
    command: SandboxCommand,
}

#[derive(Debug, clap::Subcommand)]
enum SandboxCommand {
    /// Get the sandbox's programs; building them takes about ten minutes, once
    Install(InstallArgs),
    /// Start the sandbox, on the data that it has; install it first when need be
    Up(InstallArgs),
    /// Stop the sandbox and keep its data
    Down,
    /// Show the sandbox's processes; fails when it does not run
    Status,
    /// Stop the sandbox and delete its data
    Reset,
    /// Print the sandbox's kubeconfig
    Kubeconfig,
    /// Make things go wrong
    #[command(subcommand)]
    Fail(FailCommand),
}

#[derive(Debug, clap::Args)]
struct InstallArgs {
    /// Folder that has the programs, instead of building them
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
    /// Run CDI's real controllers, instead of simulated imports
    #[arg(long)]
    cdi: bool,
}

#[derive(Debug, clap::Subcommand)]
enum FailCommand {
    /// Images are not found at their address
    #[command(name = "import-404")]
    Import404,
    /// Imports of images do not get on
    ImportStuck,
    /// The hosts of a zone are full
    NoRoom {
        /// Zone, or `default` for hosts in no zone
        zone: String,
    },
    /// Machines fail whenever they start
    VmCrash {
        /// How the names of the machines begin
        #[arg(default_value = "*", value_name = "NAME")]
        prefix: String,
    },
    /// A quota stands in the namespace
    Quota {
        /// What is limited, such as requests.memory=4Gi
        #[arg(default_value = "pods=0", value_name = "RESOURCE=AMOUNT", value_parser = limit)]
        limits: Vec<(String, String)>,
    },
    /// Take all faults back
    None,
    /// Show the faults there are
    List,
}

pub(super) fn run(args: &SandboxArgs, context: &Context) -> Result<Exit, CommandError> {
    let dirs = paths(context)?;
    let sandbox = Sandbox::new(&args.name, &dirs).map_err(failure)?;
    let begun = Instant::now();
    let mut tell = |step: Step| progress(context, begun, &step);
    match &args.command {
        SandboxCommand::Install(args) => {
            let installation =
                sandbox::install(&dirs.cache, args.from.as_deref(), args.cdi, &mut tell)
                    .map_err(failure)?;
            context
                .ui
                .status(&format!("Installed {}", installation.way));
        }
        SandboxCommand::Up(args) => {
            // Without the flag it stays as it is.
            let cdi = args.cdi || sandbox.cdi().map_err(failure)? == Some(true);
            let installation = sandbox::install(&dirs.cache, args.from.as_deref(), cdi, &mut tell)
                .map_err(failure)?;
            let up = sandbox.up(&installation, cdi, &mut tell).map_err(failure)?;
            let kubeconfig = sandbox.kubeconfig();
            context.ui.status(&match up {
                Up::Already => "The sandbox runs already".to_owned(),
                Up::Started => format!("The sandbox is up after {:.1?}", begun.elapsed()),
            });
            context
                .ui
                .status(&format!("export KUBECONFIG={}", kubeconfig.display()));
        }
        SandboxCommand::Down => {
            let any = sandbox.down(&mut tell).map_err(failure)?;
            context.ui.status(if any {
                "The sandbox is down; its data is kept"
            } else {
                "The sandbox was not running"
            });
        }
        SandboxCommand::Reset => {
            sandbox.reset(&mut tell).map_err(failure)?;
            context.ui.status("The sandbox and its data are gone");
        }
        SandboxCommand::Status => return status(&sandbox, context),
        SandboxCommand::Kubeconfig => {
            let text = std::fs::read_to_string(sandbox.kubeconfig())
                .map_err(|_| failure(SandboxError::NotRunning(args.name.clone())))?;
            context.ui.data(&text);
        }
        SandboxCommand::Fail(args) => fail(args, &sandbox, context)?,
    }
    Ok(Exit::Done)
}

fn status(sandbox: &Sandbox, context: &Context) -> Result<Exit, CommandError> {
    let Some(status) = sandbox.status().map_err(failure)? else {
        context.ui.status("There is no such sandbox");
        return Ok(Exit::No);
    };
    let mut text = String::new();
    for process in &status.processes {
        let state = match (process.alive, process.memory) {
            (true, Some(memory)) => format!("running  {memory:>5} MiB"),
            (true, None) => "running".to_owned(),
            (false, _) => format!("ended    see {}", process.log.display()),
        };
        text.push_str(&format!(
            "{:<24} {:>8}  {state}\n",
            process.name, process.pid
        ));
    }
    let imports = if status.cdi { "CDI's own" } else { "simulated" };
    let health = if status.healthy {
        "healthy"
    } else {
        "not running"
    };
    text.push_str(&format!("server   {}\n", status.server));
    text.push_str(&format!("imports  {imports}\n"));
    text.push_str(&format!("data     {}\n", status.folder.display()));
    text.push_str(&format!("health   {health}\n"));
    context.ui.data(&text);
    Ok(if status.healthy { Exit::Done } else { Exit::No })
}

fn fail(command: &FailCommand, sandbox: &Sandbox, context: &Context) -> Result<(), CommandError> {
    let fault = match command {
        FailCommand::None => return sandbox.heal().map_err(failure),
        FailCommand::List => {
            let faults = sandbox.faults().map_err(failure)?;
            let lines: Vec<String> = faults.iter().map(describe).collect();
            context.ui.data(&lines.concat());
            return Ok(());
        }
        FailCommand::Import404 => Fault::Import404,
        FailCommand::ImportStuck => Fault::ImportStuck,
        FailCommand::NoRoom { zone } => Fault::NoRoom { zone: zone.clone() },
        FailCommand::VmCrash { prefix } => Fault::VmCrash {
            prefix: prefix.clone(),
        },
        FailCommand::Quota { limits } => Fault::Quota {
            namespace: context
                .global
                .namespace
                .clone()
                .unwrap_or_else(|| "default".to_owned()),
            hard: limits.iter().cloned().collect::<BTreeMap<_, _>>(),
        },
    };
    sandbox.fail(&fault).map_err(failure)
}

fn describe(fault: &Fault) -> String {
    match fault {
        Fault::Import404 => "import-404\n".to_owned(),
        Fault::ImportStuck => "import-stuck\n".to_owned(),
        Fault::NoRoom { zone } => format!("no-room {zone}\n"),
        Fault::VmCrash { prefix } => format!("vm-crash {prefix}\n"),
        Fault::Quota { namespace, hard } => {
            let limits: Vec<String> = hard
                .iter()
                .map(|(key, value)| format!("{key}={value}"))
                .collect();
            format!("quota {} --namespace {namespace}\n", limits.join(" "))
        }
    }
}

fn limit(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((resource, amount)) if !resource.is_empty() && !amount.is_empty() => {
            Ok((resource.to_owned(), amount.to_owned()))
        }
        _ => Err("is not of the form RESOURCE=AMOUNT".to_owned()),
    }
}

/// Cache and state, where this system keeps such things.
fn paths(context: &Context) -> Result<Dirs, CommandError> {
    let config = &context.config;
    match (config.cache_dir(), config.state_dir()) {
        (Some(cache), Some(state)) => Ok(Dirs { cache, state }),
        _ => {
            let error =
                CommandError::new(Exit::Precondition, "cannot tell where your home folder is");
            Err(error.hint("Set HOME."))
        }
    }
}

pub(super) fn failure(error: SandboxError) -> CommandError {
    let exit = match &error {
        SandboxError::Name(_) => Exit::Usage,
        SandboxError::Busy { .. } => Exit::Held,
        SandboxError::NotRunning(_) => Exit::NotFound,
        SandboxError::Slow { .. } => Exit::Timeout,
        SandboxError::NoGo
        | SandboxError::OldGo { .. }
        | SandboxError::Missing { .. }
        | SandboxError::OtherMode { .. }
        | SandboxError::Io { .. }
        | SandboxError::State { .. } => Exit::Precondition,
        SandboxError::Build { .. }
        | SandboxError::Ended { .. }
        | SandboxError::Kubectl { .. }
        | SandboxError::Immortal(_) => Exit::Infrastructure,
        SandboxError::Pki(_) => Exit::Bug,
    };
    let mut told = CommandError::new(exit, error.to_string());
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        told = told.cause(cause.to_string());
        source = cause.source();
    }
    match error {
        SandboxError::NoGo | SandboxError::OldGo { .. } => told
            .hint("Install Go 1.26 or newer; the sandbox builds its programs with it, once.")
            .hint(
                "Or take them from a computer that has them: `kvshoot sandbox install --from DIR`.",
            ),
        SandboxError::Build { output, .. } => told
            .cause(last_lines(&output))
            .hint("Run the same command again; what is built already is kept."),
        SandboxError::Ended { log, tail, .. } => told
            .cause(tail)
            .hint(format!("All of its log is in {}.", log.display())),
        SandboxError::Slow { last, .. } => told.cause(last),
        SandboxError::Kubectl { stderr, .. } => told.cause(stderr),
        SandboxError::State { .. } => {
            told.hint("`kvshoot sandbox reset` deletes the sandbox's data.")
        }
        SandboxError::OtherMode { .. } => {
            told.hint("Run `kvshoot sandbox reset` first, or give it another --name.")
        }
        SandboxError::NotRunning(_) => told.hint("Start it with `kvshoot sandbox up`."),
        _ => told,
    }
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(12)..].join("\n")
}

fn progress(context: &Context, begun: Instant, step: &Step) {
    let seconds = begun.elapsed().as_secs_f32();
    match step.count {
        // A line every so often is enough where lines are not overwritten.
        Some((done, total)) if done % 250 == 0 || done == total => {
            context.ui.status(&format!(
                "{seconds:6.1} s  {}: {done} of {total} packages",
                step.title
            ));
        }
        Some(_) => {}
        None => context
            .ui
            .status(&format!("{seconds:6.1} s  {}", step.title)),
    }
}

/// The kubeconfig of a sandbox; apply makes the sandbox when it is not there.
pub(super) fn kubeconfig(context: &Context, name: &str) -> Result<PathBuf, CommandError> {
    let dirs = paths(context)?;
    if context.makes_sandbox {
        let begun = Instant::now();
        return sandbox::ensure(name, &dirs, &mut |step| progress(context, begun, &step))
            .map_err(failure);
    }
    let sandbox = Sandbox::new(name, &dirs).map_err(failure)?;
    match sandbox.status().map_err(failure)? {
        Some(status) if status.healthy => Ok(sandbox.kubeconfig()),
        _ => Err(failure(SandboxError::NotRunning(name.to_owned()))),
    }
}
