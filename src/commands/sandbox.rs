use super::global::SANDBOX;
use super::running::spoken;
use super::{CommandError, Context, Exit, complete};
use crate::cluster::{KubeconfigFiles, KubeconfigSource};
use crate::sandbox::{self, Dirs, Fault, Guest, Sandbox, SandboxError, Step, Up};
use crate::ui::Steps;
use clap_complete::engine::ArgValueCompleter;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

/// Run a provider cluster on this computer, without a hypervisor
#[derive(Debug, clap::Args)]
pub(super) struct SandboxArgs {
    /// Name of the sandbox, several of which may run side by side; that of --sandbox, or `default`, when absent
    #[arg(long, global = true, value_name = "NAME")]
    name: Option<String>,
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
        #[arg(default_value = "*", value_name = "NAME", add = ArgValueCompleter::new(complete::sandbox_machines))]
        prefix: String,
    },
    /// Pods of control planes crash whenever they start
    PodCrash {
        /// How the names of the pods begin
        #[arg(default_value = "*", value_name = "NAME")]
        prefix: String,
    },
    /// Machines run, and nothing happens inside
    GuestBoot {
        /// How the names of the machines begin
        #[arg(default_value = "*", value_name = "NAME", add = ArgValueCompleter::new(complete::sandbox_machines))]
        prefix: String,
    },
    /// Machines cannot reach the API server of their cluster
    GuestNetwork {
        /// How the names of the machines begin
        #[arg(default_value = "*", value_name = "NAME", add = ArgValueCompleter::new(complete::sandbox_machines))]
        prefix: String,
    },
    /// Machines have a clock that is years behind
    GuestClock {
        /// How the names of the machines begin
        #[arg(default_value = "*", value_name = "NAME", add = ArgValueCompleter::new(complete::sandbox_machines))]
        prefix: String,
    },
    /// Nodes are heard of no more, though their machines run
    NodeSilent {
        /// How the names of the machines begin
        #[arg(default_value = "*", value_name = "NAME", add = ArgValueCompleter::new(complete::sandbox_machines))]
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
    let meant = args.name.as_deref().or(context.global.sandbox());
    let name = meant.unwrap_or(SANDBOX);
    let sandbox = Sandbox::new(name, &dirs).map_err(failure)?;
    match &args.command {
        SandboxCommand::Install(args) => {
            let mut steps = Telling::new(context);
            let from = args.from.as_deref();
            let installation =
                sandbox::install(&dirs, from, args.cdi, &mut steps.tell()).map_err(failure)?;
            drop(steps);
            let text = format!("the sandbox's programs are there, {}", installation.way);
            context.ui.status(&text);
        }
        SandboxCommand::Up(args) => up(args, &sandbox, &dirs, context)?,
        SandboxCommand::Down => {
            let any = sandbox.down(&mut Telling::new(context).tell());
            context.ui.status(match any.map_err(failure)? {
                true => "the sandbox is down; its data is kept",
                false => "the sandbox was not running",
            });
        }
        SandboxCommand::Reset => {
            let done = sandbox.reset(&mut Telling::new(context).tell());
            done.map_err(failure)?;
            context.ui.status("the sandbox and its data are gone");
        }
        SandboxCommand::Status => return status(&sandbox, context),
        SandboxCommand::Kubeconfig => {
            let text = std::fs::read_to_string(sandbox.kubeconfig())
                .map_err(|_| failure(SandboxError::NotRunning(name.to_owned())))?;
            context.ui.data(&text);
        }
        SandboxCommand::Fail(args) => fail(args, &sandbox, context)?,
    }
    Ok(Exit::Done)
}

fn up(
    args: &InstallArgs,
    sandbox: &Sandbox,
    dirs: &Dirs,
    context: &Context,
) -> Result<(), CommandError> {
    let mut steps = Telling::new(context);
    let begun = steps.begun;
    // Without the flag it stays as it is.
    let cdi = args.cdi || sandbox.cdi().map_err(failure)? == Some(true);
    let from = args.from.as_deref();
    let installation = sandbox::install(dirs, from, cdi, &mut steps.tell()).map_err(failure)?;
    let up = sandbox
        .up(&installation, cdi, &mut steps.tell())
        .map_err(failure)?;
    drop(steps);
    context.ui.status(&match up {
        Up::Already => "the sandbox runs already".to_owned(),
        Up::Started => format!("the sandbox is up, after {}", spoken(begun.elapsed())),
    });
    let kubeconfig = sandbox.kubeconfig();
    context
        .ui
        .hint(&format!("export KUBECONFIG={}", kubeconfig.display()));
    Ok(())
}

fn status(sandbox: &Sandbox, context: &Context) -> Result<Exit, CommandError> {
    let Some(status) = sandbox.status().map_err(failure)? else {
        context.ui.status("there is no such sandbox");
        return Ok(Exit::No);
    };
    let mut text = String::new();
    let names = status.processes.iter().map(|process| process.name.len());
    let width = names.max().unwrap_or_default().max(24);
    for process in &status.processes {
        let state = match (process.alive, process.memory) {
            (true, Some(memory)) => format!("running  {memory:>5} MiB"),
            (true, None) => "running".to_owned(),
            (false, _) => format!("ended    see {}", process.log.display()),
        };
        text.push_str(&format!(
            "{:<width$} {:>8}  {state}\n",
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
        FailCommand::PodCrash { prefix } => Fault::PodCrash {
            prefix: prefix.clone(),
        },
        FailCommand::GuestBoot { prefix } => inside(Guest::Boot, prefix),
        FailCommand::GuestNetwork { prefix } => inside(Guest::Network, prefix),
        FailCommand::GuestClock { prefix } => inside(Guest::Clock, prefix),
        FailCommand::NodeSilent { prefix } => inside(Guest::Silent, prefix),
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

fn inside(what: Guest, prefix: &str) -> Fault {
    let prefix = prefix.to_owned();
    Fault::Guest { what, prefix }
}

fn describe(fault: &Fault) -> String {
    match fault {
        Fault::Import404 => "import-404\n".to_owned(),
        Fault::ImportStuck => "import-stuck\n".to_owned(),
        Fault::NoRoom { zone } => format!("no-room {zone}\n"),
        Fault::VmCrash { prefix } => format!("vm-crash {prefix}\n"),
        Fault::PodCrash { prefix } => format!("pod-crash {prefix}\n"),
        Fault::Guest { what, prefix } => format!("{} {prefix}\n", what.name()),
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
    let (cache, state) = (context.config.cache_dir(), context.config.state_dir());
    let dirs = cache.zip(state).map(|(cache, state)| Dirs {
        cache,
        state,
        path: context.config.path(),
        own: context.config.executable(),
    });
    dirs.ok_or_else(|| {
        let error = CommandError::new(Exit::Precondition, "cannot tell where your home folder is");
        error.hint("set HOME")
    })
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
        | SandboxError::Older(_)
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
            .hint("install Go 1.26 or newer: the sandbox builds its programs with it, once")
            .hint("or take them from a computer that has them: kvshoot sandbox install --from DIR"),
        SandboxError::Build { output, .. } => told
            .cause(last_lines(&output))
            .hint("run the same command again; what is built already is kept"),
        SandboxError::Ended { log, tail, .. } => {
            let has_no_watchers = tail.contains("inotify") || tail.contains("too many open files");
            let told = told.cause(tail);
            // One of each process of a control plane, for each of its certificates; systems allow 128 to a user.
            let told = match has_no_watchers {
                true => told.hint("sysctl -w fs.inotify.max_user_instances=1024 allows more programs to watch files"),
                false => told,
            };
            told.hint(format!("all of its log is in {}", log.display()))
        }
        SandboxError::Slow { last, .. } => told.cause(last),
        SandboxError::Kubectl { stderr, .. } => told.cause(stderr),
        SandboxError::State { .. } => told.hint("kvshoot sandbox reset deletes the sandbox's data"),
        SandboxError::OtherMode { .. } | SandboxError::Older(_) => {
            told.hint("run kvshoot sandbox reset first, or give it another --name")
        }
        SandboxError::NotRunning(_) => told.hint("kvshoot sandbox up starts it"),
        _ => told,
    }
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(12)..].join("\n")
}

/// Tells the steps of what takes long.
struct Telling {
    begun: Instant,
    steps: Steps,
}

impl Telling {
    fn new(context: &Context) -> Telling {
        Telling {
            begun: Instant::now(),
            steps: context.ui.steps(),
        }
    }

    fn tell(&mut self) -> impl FnMut(Step) + use<'_> {
        |step| match step.stays {
            true => self.steps.note(&step.title),
            false => self
                .steps
                .step(self.begun.elapsed(), &step.title, step.count),
        }
    }
}

/// The way to a sandbox, whether it runs or not.
pub(super) fn source(context: &Context, name: &str) -> Option<KubeconfigSource> {
    let sandbox = Sandbox::new(name, &paths(context).ok()?).ok()?;
    Some(KubeconfigSource::Files(KubeconfigFiles {
        files: vec![sandbox.kubeconfig()],
        ..KubeconfigFiles::default()
    }))
}

/// The kubeconfig of a sandbox; apply makes the sandbox when it is not there.
pub(super) async fn kubeconfig(context: &Context, name: &str) -> Result<PathBuf, CommandError> {
    let dirs = paths(context)?;
    let name = name.to_owned();
    if context.makes_sandbox {
        let mut steps = Telling::new(context);
        // On a thread of its own, so that a signal is heard meanwhile.
        let made = tokio::task::spawn_blocking(move || {
            sandbox::ensure(&name, &dirs, &mut steps.tell()).map_err(failure)
        });
        return made.await.expect("a panic ends the program");
    }
    let sandbox = Sandbox::new(&name, &dirs).map_err(failure)?;
    match sandbox.status().map_err(failure)? {
        Some(status) if status.healthy => Ok(sandbox.kubeconfig()),
        _ => Err(failure(SandboxError::NotRunning(name))),
    }
}
