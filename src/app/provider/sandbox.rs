//! `kvshoot sandbox`.

use crate::app::context::{Context, DEFAULT_SANDBOX};
use crate::app::error::{CommandError, Exit};
use crate::app::provider::fetch::fetch;
use crate::app::provider::sandbox_clock::{self, ClockChange};
use crate::app::provider::sandbox_dirs::paths;
use crate::app::provider::sandbox_doctor::doctor;
use crate::app::provider::sandbox_error::{RAISE_INOTIFY, failure};
use crate::app::provider::sandbox_guests::{self, GuestChoice};
use crate::app::provider::sandbox_steps::StepReporter;
use crate::clock;
use crate::cluster::{KubeconfigFiles, KubeconfigSource};
use crate::sandbox::{
    self, Dirs, Fault, InotifyShortage, ProgramSources, ReleaseArchives, Sandbox, SandboxError,
    StartOutcome,
};
use crate::ui::{Format, ListRow, format_duration};
use serde::Serialize;
use std::ffi::OsString;
use std::path::PathBuf;

/// Where the programs of the sandbox come from.
#[derive(Debug, Clone, Default)]
pub(crate) struct InstallOptions {
    /// A directory with the programs, instead of downloading or building them.
    pub(crate) from: Option<PathBuf>,
    /// URL of a copy of the release archives.
    pub(crate) mirror: Option<String>,
    /// Builds the programs even if the release has archives of them.
    pub(crate) build: bool,
    /// Runs CDI's controllers instead of simulated imports.
    pub(crate) cdi: bool,
}

impl InstallOptions {
    fn sources(&self) -> ProgramSources {
        let archives = ReleaseArchives::new(self.mirror.as_deref(), fetch);
        ProgramSources {
            from: self.from.clone(),
            archives: (!self.build).then_some(archives),
        }
    }
}

/// An operation on a sandbox.
#[derive(Debug)]
pub(crate) enum SandboxOperation {
    Install {
        options: InstallOptions,
        /// Installs what virtual machines need, too.
        guests: bool,
    },
    Up {
        options: InstallOptions,
        /// An existing sandbox keeps its virtual machines if there is none.
        guests: Option<GuestChoice>,
    },
    Down,
    DownAll,
    List(Format),
    /// Checks this computer.
    Doctor(Format),
    Status,
    Reset,
    Kubeconfig,
    /// Shows its clock, after a change if there is one.
    Clock(Option<ClockChange>),
    Inject(Fault),
    /// All, or those with this name.
    ClearFaults(Option<String>),
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
        SandboxOperation::Install { options, guests } => {
            install(options, *guests, &dirs, context)?;
        }
        SandboxOperation::Up { options, guests } => {
            up(options, *guests, &sandbox, &dirs, context)?;
        }
        SandboxOperation::Down => down(&sandbox, "the sandbox", context)?,
        SandboxOperation::DownAll => down_all(&dirs, context)?,
        SandboxOperation::List(output) => list(*output, &dirs, context)?,
        SandboxOperation::Reset => {
            let done = sandbox.reset(&mut StepReporter::new(context).reporter());
            done.map_err(failure)?;
            context.ui.status("Deleted the sandbox and its data");
        }
        SandboxOperation::Doctor(output) => return Ok(doctor(&dirs, *output, context)),
        SandboxOperation::Status => return status(&sandbox, name, context),
        SandboxOperation::Kubeconfig => {
            let text = std::fs::read_to_string(sandbox.kubeconfig())
                .map_err(|_| failure(SandboxError::NotRunning(name.to_owned())))?;
            context.ui.data(&text);
        }
        SandboxOperation::Clock(change) => sandbox_clock::clock(&sandbox, *change, context)?,
        SandboxOperation::Inject(fault) => {
            let done = sandbox.fail(fault, &mut StepReporter::new(context).reporter());
            done.map_err(failure)?;
        }
        SandboxOperation::ClearFaults(name) => {
            let mut steps = StepReporter::new(context);
            let done = match name {
                Some(name) => sandbox.clear_faults_of(name, &mut steps.reporter()),
                None => sandbox.clear_faults(&mut steps.reporter()),
            };
            done.map_err(failure)?;
        }
        SandboxOperation::ListFaults => {
            let faults = sandbox.faults().map_err(failure)?;
            let lines: Vec<String> = faults.iter().map(describe).collect();
            context.ui.data(&lines.concat());
        }
    }
    Ok(Exit::Done)
}

/// `title` is the sandbox in messages.
fn down(sandbox: &Sandbox, title: &str, context: &Context) -> Result<(), CommandError> {
    let was_running = sandbox.down(&mut StepReporter::new(context).reporter());
    context.ui.status(&match was_running.map_err(failure)? {
        true => format!("Stopped {title}; its data is kept"),
        false => format!("{title} is not running", title = capitalized(title)),
    });
    Ok(())
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|it| it.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// Stops all sandboxes, also if one of them cannot be stopped.
fn down_all(dirs: &Dirs, context: &Context) -> Result<(), CommandError> {
    let sandboxes = Sandbox::all(dirs).map_err(failure)?;
    if sandboxes.is_empty() {
        context.ui.status("No sandboxes found");
    }
    let stop = |it: &Sandbox| down(it, &format!("sandbox {}", it.name()), context);
    let mut errors = sandboxes.iter().filter_map(|it| stop(it).err());
    let first = errors.next();
    errors.for_each(|error| {
        error.report(&context.ui);
    });
    first.map_or(Ok(()), Err)
}

fn list(output: Format, dirs: &Dirs, context: &Context) -> Result<(), CommandError> {
    let sandboxes = Sandbox::all(dirs).map_err(failure)?;
    let rows: Vec<SandboxRow> = sandboxes.iter().map(SandboxRow::of).collect();
    context.ui.list(output, &rows, "no sandboxes found");
    Ok(())
}

/// A sandbox in a list.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SandboxRow {
    name: String,
    status: &'static str,
    /// Address of the API server; empty if the state of the sandbox cannot be read.
    server: String,
    /// Resident memory of all processes in MiB.
    memory_mib: u64,
    directory: PathBuf,
}

impl SandboxRow {
    fn of(sandbox: &Sandbox) -> SandboxRow {
        let row = SandboxRow {
            name: sandbox.name().to_owned(),
            status: "unknown",
            server: String::new(),
            memory_mib: 0,
            directory: sandbox.folder().to_owned(),
        };
        match sandbox.status() {
            // Only a lock remains of a sandbox that was never started.
            Ok(None) => SandboxRow {
                status: "stopped",
                ..row
            },
            Ok(Some(status)) => SandboxRow {
                status: match status.processes.iter().any(|it| it.alive) {
                    _ if status.healthy => "running",
                    true => "unhealthy",
                    false => "stopped",
                },
                memory_mib: status.processes.iter().filter_map(|it| it.memory).sum(),
                server: status.server,
                ..row
            },
            Err(_) => row,
        }
    }
}

impl ListRow for SandboxRow {
    fn headers() -> &'static [&'static str] {
        &["NAME", "STATUS", "SERVER", "MEMORY"]
    }

    fn wide_headers() -> &'static [&'static str] {
        &["DIRECTORY"]
    }

    fn cells(&self) -> Vec<String> {
        let memory = match self.memory_mib {
            0 => String::new(),
            memory => format!("{memory} MiB"),
        };
        let status = self.status.to_owned();
        vec![self.name.clone(), status, self.server.clone(), memory]
    }

    fn wide_cells(&self) -> Vec<String> {
        vec![self.directory.display().to_string()]
    }

    fn name(&self) -> String {
        format!("sandbox/{}", self.name)
    }
}

fn install(
    options: &InstallOptions,
    guests: bool,
    dirs: &Dirs,
    context: &Context,
) -> Result<(), CommandError> {
    let mut steps = StepReporter::new(context);
    let installation =
        sandbox::install(dirs, &options.sources(), options.cdi, &mut steps.reporter())
            .map_err(failure)?;
    if guests {
        sandbox_guests::install(dirs, &mut steps.reporter()).map_err(failure)?;
    }
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
    guests: Option<GuestChoice>,
    sandbox: &Sandbox,
    dirs: &Dirs,
    context: &Context,
) -> Result<(), CommandError> {
    let mut steps = StepReporter::new(context);
    let started = steps.started;
    // Without the flag, an existing sandbox keeps its mode.
    let cdi = options.cdi || sandbox.cdi().map_err(failure)? == Some(true);
    let installation =
        sandbox::install(dirs, &options.sources(), cdi, &mut steps.reporter()).map_err(failure)?;
    let guests = match guests {
        Some(choice) => choice.prepare(dirs, &mut steps.reporter()),
        None => sandbox.guests(),
    };
    let guests = guests.map_err(failure)?;
    let up = sandbox
        .up(&installation, cdi, guests, &mut steps.reporter())
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
    if let Some(clock) = sandbox_clock::moved_time(sandbox) {
        text.push_str(&format!("clock    {clock}\n"));
    }
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

/// Warns before a shoot is created whose control plane could not watch its certificates.
fn warn_of_inotify_shortage(context: &Context) {
    if let Some(InotifyShortage { free, needed }) = sandbox::inotify_shortage() {
        context.ui.warn(&format!(
            "{free} inotify instances are free, and the control plane of a shoot needs about {needed}"
        ));
        context.ui.hint(RAISE_INOTIFY);
    }
}

/// PATH with the kubectl of the sandbox at this address. None if PATH has one that works, or if the server is not a sandbox.
pub(crate) fn path_with_kubectl(context: &Context, server: &str) -> Option<OsString> {
    let directory = sandbox::programs_at(server, &paths(context).ok()?)?;
    match clock::seconds_ahead() {
        0 => context.config.path_with(&directory, "kubectl"),
        // Another kubectl has the clock of this computer, by which certificates are not valid yet.
        _ => context.config.path_beginning_with(&directory),
    }
}

/// The kubeconfig of a sandbox, which may be stopped.
pub(crate) fn source(context: &Context, name: &str) -> Option<KubeconfigSource> {
    let sandbox = Sandbox::new(name, &paths(context).ok()?).ok()?;
    Some(KubeconfigSource::Files(KubeconfigFiles {
        files: vec![sandbox.kubeconfig()],
        ..KubeconfigFiles::default()
    }))
}

/// The kubeconfig of a running sandbox. apply and run create the sandbox if it does not exist.
pub(crate) async fn kubeconfig(context: &Context, name: &str) -> Result<PathBuf, CommandError> {
    let dirs = paths(context)?;
    let name = name.to_owned();
    let sandbox = Sandbox::new(&name, &dirs).map_err(failure)?;
    if context.creates_sandbox {
        warn_of_inotify_shortage(context);
        let options = InstallOptions {
            mirror: context.config.sandbox_mirror(),
            ..InstallOptions::default()
        };
        let mut steps = StepReporter::new(context);
        // On a separate thread, so that signals are handled meanwhile.
        let created = tokio::task::spawn_blocking(move || {
            sandbox::ensure(&name, &dirs, &options.sources(), &mut steps.reporter())
                .map_err(failure)
        });
        return created.await.expect("a panic ends the program");
    }
    match sandbox.status().map_err(failure)? {
        Some(status) if status.healthy => Ok(sandbox.kubeconfig()),
        _ => Err(failure(SandboxError::NotRunning(name))),
    }
}
