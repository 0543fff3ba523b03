//! `kvshoot sandbox`.

use crate::app::context::{Context, DEFAULT_SANDBOX};
use crate::app::error::{CommandError, Exit};
use crate::cluster::{Kubeconfigs, Source};
use crate::sandbox::{self, Dirs, Fault, Sandbox, SandboxError, StartOutcome, Step};
use crate::ui::{Preparation, format_duration};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Where the programs of the sandbox come from.
#[derive(Debug, Clone, Default)]
pub(crate) struct InstallOptions {
    /// A directory with the programs, instead of building them.
    pub(crate) from: Option<PathBuf>,
    /// Runs CDI's controllers instead of simulated imports.
    pub(crate) cdi: bool,
}

/// An operation on a sandbox.
#[derive(Debug)]
pub(crate) enum SandboxOperation {
    Install(InstallOptions),
    Up(InstallOptions),
    Down,
    Status,
    Reset,
    Kubeconfig,
    Inject(Fault),
    ClearFaults,
    ListFaults,
}

/// Runs an operation on a sandbox; on that of `--sandbox` if no name is given.
pub(crate) fn run(
    name: Option<&str>,
    operation: &SandboxOperation,
    context: &Context,
) -> Result<Exit, CommandError> {
    let dirs = paths(context)?;
    let selected = name.or(context.provider.sandbox.as_deref());
    let name = selected.unwrap_or(DEFAULT_SANDBOX);
    let sandbox = Sandbox::new(name, &dirs).map_err(failure)?;
    match operation {
        SandboxOperation::Install(options) => install(options, &dirs, context)?,
        SandboxOperation::Up(options) => up(options, &sandbox, &dirs, context)?,
        SandboxOperation::Down => {
            let was_running = sandbox.down(&mut StepReporter::new(context).reporter());
            context.ui.status(match was_running.map_err(failure)? {
                true => "Stopped the sandbox; its data is kept",
                false => "The sandbox is not running",
            });
        }
        SandboxOperation::Reset => {
            let done = sandbox.reset(&mut StepReporter::new(context).reporter());
            done.map_err(failure)?;
            context.ui.status("Deleted the sandbox and its data");
        }
        SandboxOperation::Status => return status(&sandbox, name, context),
        SandboxOperation::Kubeconfig => {
            let text = std::fs::read_to_string(sandbox.kubeconfig())
                .map_err(|_| failure(SandboxError::NotRunning(name.to_owned())))?;
            context.ui.data(&text);
        }
        SandboxOperation::Inject(fault) => sandbox.fail(fault).map_err(failure)?,
        SandboxOperation::ClearFaults => sandbox.heal().map_err(failure)?,
        SandboxOperation::ListFaults => {
            let faults = sandbox.faults().map_err(failure)?;
            let lines: Vec<String> = faults.iter().map(describe).collect();
            context.ui.data(&lines.concat());
        }
    }
    Ok(Exit::Done)
}

fn install(options: &InstallOptions, dirs: &Dirs, context: &Context) -> Result<(), CommandError> {
    let mut steps = StepReporter::new(context);
    let from: Option<&Path> = options.from.as_deref();
    let installation =
        sandbox::install(dirs, from, options.cdi, &mut steps.reporter()).map_err(failure)?;
    drop(steps);
    let text = format!(
        "Installed the programs of the sandbox, {}",
        installation.origin
    );
    context.ui.status(&text);
    Ok(())
}

fn up(
    options: &InstallOptions,
    sandbox: &Sandbox,
    dirs: &Dirs,
    context: &Context,
) -> Result<(), CommandError> {
    let mut steps = StepReporter::new(context);
    let started = steps.started;
    // Without the flag, an existing sandbox keeps its mode.
    let cdi = options.cdi || sandbox.cdi().map_err(failure)? == Some(true);
    let from = options.from.as_deref();
    let installation = sandbox::install(dirs, from, cdi, &mut steps.reporter()).map_err(failure)?;
    let up = sandbox
        .up(&installation, cdi, &mut steps.reporter())
        .map_err(failure)?;
    drop(steps);
    context.ui.status(&match up {
        StartOutcome::AlreadyRunning => "The sandbox is already running".to_owned(),
        StartOutcome::Started => format!(
            "Started the sandbox in {}",
            format_duration(started.elapsed())
        ),
    });
    let kubeconfig = sandbox.kubeconfig();
    context
        .ui
        .hint(&format!("export KUBECONFIG={}", kubeconfig.display()));
    Ok(())
}

fn status(sandbox: &Sandbox, name: &str, context: &Context) -> Result<Exit, CommandError> {
    let Some(status) = sandbox.status().map_err(failure)? else {
        context
            .ui
            .status(&format!("sandbox {name:?} does not exist"));
        return Ok(Exit::No);
    };
    let mut text = String::new();
    let names = status.processes.iter().map(|process| process.name.len());
    let width = names.max().unwrap_or_default().max(24);
    for process in &status.processes {
        let state = match (process.alive, process.memory) {
            (true, Some(memory)) => format!("running  {memory:>5} MiB"),
            (true, None) => "running".to_owned(),
            (false, _) => format!("exited   see {}", process.log.display()),
        };
        text.push_str(&format!(
            "{:<width$} {:>8}  {state}\n",
            process.name, process.pid
        ));
    }
    let imports = if status.cdi { "CDI" } else { "simulated" };
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

/// The cache and state directories of the sandbox.
fn paths(context: &Context) -> Result<Dirs, CommandError> {
    let (cache, state) = (context.config.cache_dir(), context.config.state_dir());
    let dirs = cache.zip(state).map(|(cache, state)| Dirs {
        cache,
        state,
        path: context.config.path(),
        own: context.config.executable(),
    });
    dirs.ok_or_else(|| {
        let error = CommandError::new(Exit::Precondition, "cannot find the home directory");
        error.hint("set HOME")
    })
}

fn failure(error: SandboxError) -> CommandError {
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
    let mut converted = CommandError::new(exit, error.to_string());
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        converted = converted.cause(cause.to_string());
        source = cause.source();
    }
    match error {
        SandboxError::NoGo | SandboxError::OldGo { .. } => converted
            .hint("install Go 1.26 or newer, which is needed to build the programs of the sandbox once")
            .hint("or copy them from another computer: kvshoot sandbox install --from DIR"),
        SandboxError::Build { output, .. } => converted
            .cause(last_lines(&output))
            .hint("run the same command again; programs that are already built are kept"),
        SandboxError::Ended { log, tail, .. } => {
            let has_no_watchers = tail.contains("inotify") || tail.contains("too many open files");
            let error = converted.cause(tail);
            // Each control plane process needs one per certificate; the default limit is 128 per user.
            let error = match has_no_watchers {
                true => error.hint("raise the inotify limit: sysctl -w fs.inotify.max_user_instances=1024"),
                false => error,
            };
            error.hint(format!("complete log: {}", log.display()))
        }
        SandboxError::Slow { last, .. } => converted.cause(last),
        SandboxError::Kubectl { stderr, .. } => converted.cause(stderr),
        SandboxError::State { .. } => converted.hint("delete the data of the sandbox: kvshoot sandbox reset"),
        SandboxError::OtherMode { .. } | SandboxError::Older(_) => {
            converted.hint("run kvshoot sandbox reset first, or pass another --name")
        }
        SandboxError::NotRunning(name) => converted.hint(match name.as_str() {
            DEFAULT_SANDBOX => "start it: kvshoot sandbox up".to_owned(),
            name => format!("start it: kvshoot sandbox up --name={name}"),
        }),
        _ => converted,
    }
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(12)..].join("\n")
}

/// Reports the steps of a long operation.
struct StepReporter {
    started: Instant,
    steps: Preparation,
}

impl StepReporter {
    fn new(context: &Context) -> StepReporter {
        StepReporter {
            started: Instant::now(),
            steps: context.ui.preparation(),
        }
    }

    fn reporter(&mut self) -> impl FnMut(Step) + use<'_> {
        |step| match step.stays {
            true => self.steps.note(&step.title),
            false => self
                .steps
                .step(self.started.elapsed(), &step.title, step.count),
        }
    }
}

/// The kubeconfig of a sandbox, which may be stopped.
pub(crate) fn source(context: &Context, name: &str) -> Option<Source> {
    let sandbox = Sandbox::new(name, &paths(context).ok()?).ok()?;
    Some(Source::Files(Kubeconfigs {
        files: vec![sandbox.kubeconfig()],
        ..Kubeconfigs::default()
    }))
}

/// The kubeconfig of a running sandbox. apply and run create the sandbox if it does not exist.
pub(crate) async fn kubeconfig(context: &Context, name: &str) -> Result<PathBuf, CommandError> {
    let dirs = paths(context)?;
    let name = name.to_owned();
    if context.creates_sandbox {
        let mut steps = StepReporter::new(context);
        // On a separate thread, so that signals are handled meanwhile.
        let created = tokio::task::spawn_blocking(move || {
            sandbox::ensure(&name, &dirs, &mut steps.reporter()).map_err(failure)
        });
        return created.await.expect("a panic ends the program");
    }
    let sandbox = Sandbox::new(&name, &dirs).map_err(failure)?;
    match sandbox.status().map_err(failure)? {
        Some(status) if status.healthy => Ok(sandbox.kubeconfig()),
        _ => Err(failure(SandboxError::NotRunning(name))),
    }
}
