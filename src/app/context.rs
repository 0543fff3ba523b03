//! The context of one invocation: options for the provider cluster, output, configuration and the async runtime.

use super::error::{CommandError, Exit};
use crate::cluster::oldest_request;
use crate::config::{Config, quoted};
use crate::ui::{CiSystem, RunLabel, Ui, UiSettings};
use std::cell::RefCell;
use std::ffi::OsString;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use tokio::time::sleep;
use tracing::span::EnteredSpan;
use tracing::{Instrument as _, Span};

/// The sandbox that is used when no name is given.
pub(crate) const DEFAULT_SANDBOX: &str = "default";

/// Time between two looks at what a command waits for.
const INTERVAL: Duration = Duration::from_millis(500);
/// Reported while a command computes.
const BUSY: &str = "this computer: there is much to process";

/// Options that select the provider cluster.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProviderOptions {
    pub(crate) kubeconfig: Option<PathBuf>,
    pub(crate) context: Option<String>,
    pub(crate) cluster: Option<String>,
    pub(crate) user: Option<String>,
    pub(crate) namespace: Option<String>,
    /// Name of the sandbox that is the provider cluster.
    pub(crate) sandbox: Option<String>,
    /// Allows exec plugins in kubeconfigs from manifests.
    pub(crate) allow_exec: bool,
    /// Folders whose files manifests may name.
    pub(crate) allow_files: Vec<PathBuf>,
    /// Names of the options that came from the command line, not from the environment.
    pub(crate) typed: Vec<&'static str>,
}

/// The context of one invocation.
pub(crate) struct Context {
    pub(crate) provider: ProviderOptions,
    pub(crate) ui: Ui,
    pub(crate) config: Config,
    /// Identifies this invocation in events and locks.
    pub(crate) run_id: String,
    /// Creates the selected sandbox if it does not exist.
    pub(crate) creates_sandbox: bool,
    runtime: OnceLock<Runtime>,
}

impl Context {
    /// `verb` is set for commands that change things: their event stream always ends with an event.
    pub(crate) fn new(
        provider: ProviderOptions,
        output: UiSettings,
        verb: Option<&'static str>,
    ) -> Self {
        let config = Config::default();
        let run_id = config.run_id();
        let ui = Ui::new(UiSettings {
            ci: config.ci(),
            ci_system: forge(config),
            no_color: config.no_color(),
            unicode: config.unicode(),
            force_color: config.force_color(),
            dumb: config.dumb_terminal(),
            columns: config.columns(),
            run: verb.map(|verb| RunLabel {
                verb,
                id: run_id.clone(),
            }),
            ..output
        });
        Self {
            provider,
            ui,
            config,
            run_id,
            creates_sandbox: matches!(verb, Some("apply" | "run")),
            runtime: OnceLock::new(),
        }
    }

    /// Runs a future to completion. The runtime starts when it is first needed.
    pub(crate) fn block_on<F: Future>(&self, future: F) -> Result<F::Output, CommandError> {
        if self.runtime.get().is_none() {
            let runtime = self.new_runtime().map_err(|error| {
                CommandError::new(Exit::Precondition, "cannot start the async runtime")
                    .cause(error.to_string())
            })?;
            // A context stays on its thread, so that the cell is still empty.
            let _ = self.runtime.set(runtime);
        }
        let runtime = self.runtime.get().expect("the runtime was just set");
        let future = self.report_waits(future);
        Ok(runtime.block_on(future.instrument(self.run_span())))
    }

    /// Reports slow requests of a future while it runs, and that it is busy: a plan for the answers of a hostile server
    /// takes long.
    async fn report_waits<F: Future>(&self, future: F) -> F::Output {
        let alive = Arc::new(Mutex::new(Instant::now()));
        let last = alive.clone();
        let _reporter = WaitReporter::start(&self.ui, move || {
            let is_busy = lock(&last).elapsed() > 4 * INTERVAL;
            oldest_request().or_else(|| is_busy.then(|| BUSY.to_owned()))
        });
        let mut future = pin!(future);
        loop {
            tokio::select! {
                output = &mut future => break output,
                () = sleep(INTERVAL) => *lock(&alive) = Instant::now(),
            }
        }
    }

    /// Does work without requests, and reports that it is busy if that takes long: large manifests on a slow computer.
    pub(crate) fn report_busy<T>(&self, work: impl FnOnce() -> T) -> T {
        let _reporter = WaitReporter::start(&self.ui, || Some(BUSY.to_owned()));
        work()
    }

    /// Spawned tasks do not inherit the span of their parent, so every worker thread enters that of the run.
    fn new_runtime(&self) -> std::io::Result<Runtime> {
        thread_local! {
            static RUN: RefCell<Option<EnteredSpan>> = const { RefCell::new(None) };
        }
        let span = self.run_span();
        Builder::new_multi_thread()
            .enable_all()
            .on_thread_start(move || {
                RUN.set(Some(span.clone().entered()));
            })
            .on_thread_stop(|| drop(RUN.take()))
            .build()
    }

    /// Span of all log lines of this invocation.
    fn run_span(&self) -> Span {
        tracing::info_span!("run", id = %self.run_id)
    }

    /// Ends without waiting for background tasks, such as a name that is being resolved.
    pub(crate) fn shutdown(self) {
        if let Some(runtime) = self.runtime.into_inner() {
            runtime.shutdown_background();
        }
    }

    /// A command line for hints: it repeats the options that were typed, and relies on the environment otherwise.
    pub(crate) fn hint_command(&self, words: &[&str]) -> String {
        self.command_line(words, |name| self.provider.typed.contains(&name))
    }

    /// A command line that finds the same provider cluster in any environment.
    pub(crate) fn full_command(&self, words: &[&str]) -> String {
        self.command_line(words, |_| true)
    }

    fn command_line(&self, words: &[&str], includes: impl Fn(&str) -> bool) -> String {
        let options = &self.provider;
        let flag = |name: &str, value: &Option<String>| {
            let value = value.as_ref().filter(|_| includes(name))?;
            Some(format!("--{name}={value}"))
        };
        let kubeconfig = options
            .kubeconfig
            .as_ref()
            .map(|path| path.display().to_string());
        let flags = [
            flag("sandbox", &options.sandbox),
            flag(
                "kubeconfig",
                &kubeconfig.filter(|_| options.sandbox.is_none()),
            ),
            flag("context", &options.context),
            flag("cluster", &options.cluster),
            flag("user", &options.user),
            flag("namespace", &options.namespace),
        ];
        let (command, arguments) = words.split_at(words.len().min(1));
        let own = |words: &[&str]| -> Vec<String> {
            words
                .iter()
                .map(|word| quoted((*word).to_owned()))
                .collect()
        };
        let flags = flags.into_iter().flatten().map(quoted).collect();
        [
            vec![self.config.program()],
            own(command),
            flags,
            own(arguments),
        ]
        .concat()
        .join(" ")
    }

    /// Environment variables with which a child process with another KUBECONFIG finds the same provider cluster.
    pub(crate) fn variables(&self) -> Vec<(&'static str, OsString)> {
        let options = &self.provider;
        let files: Vec<PathBuf> = self.config.kubeconfigs();
        let existing: Vec<&PathBuf> = files.iter().filter(|path| path.exists()).collect();
        let kubeconfig = match (&options.kubeconfig, existing.as_slice()) {
            _ if options.sandbox.is_some() => None,
            (Some(file), _) => Some(file),
            (None, [file]) => Some(*file),
            (None, _) => None,
        };
        let kubeconfig = kubeconfig.and_then(|path| std::path::absolute(path).ok());
        let text = |value: &Option<String>| value.as_ref().map(OsString::from);
        [
            ("KVSHOOT_KUBECONFIG", kubeconfig.map(OsString::from)),
            ("KVSHOOT_SANDBOX", text(&options.sandbox)),
            ("KVSHOOT_CONTEXT", text(&options.context)),
            ("KVSHOOT_CLUSTER", text(&options.cluster)),
            ("KVSHOOT_USER", text(&options.user)),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
    }
}

fn forge(config: Config) -> Option<CiSystem> {
    match (config.github(), config.gitlab()) {
        (true, _) => Some(CiSystem::GitHub),
        (false, true) => Some(CiSystem::GitLab),
        (false, false) => None,
    }
}

/// Reports what a command waits for, from a thread of its own, until it is dropped.
struct WaitReporter {
    _running: mpsc::Sender<()>,
}

impl WaitReporter {
    /// `waits_for` returns None if there is nothing to wait for.
    fn start(ui: &Ui, waits_for: impl Fn() -> Option<String> + Send + 'static) -> WaitReporter {
        let ui = ui.clone();
        let (running, dropped) = mpsc::channel();
        thread::spawn(move || {
            while dropped.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                ui.still_waiting(&waits_for);
            }
        });
        WaitReporter { _running: running }
    }
}

fn lock(time: &Mutex<Instant>) -> MutexGuard<'_, Instant> {
    time.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_repeat_only_the_options_that_were_typed() {
        let options = ProviderOptions {
            namespace: Some("lab".to_owned()),
            sandbox: Some("two".to_owned()),
            typed: vec!["namespace"],
            ..ProviderOptions::default()
        };
        let context = Context::new(options, UiSettings::default(), None);
        let command = |line: String| line.split_once(' ').map(|it| it.1.to_owned()).unwrap();
        assert_eq!(
            command(context.hint_command(&["delete", "dev"])),
            "delete --namespace=lab dev"
        );
        assert_eq!(
            command(context.full_command(&["delete", "dev"])),
            "delete --sandbox=two --namespace=lab dev"
        );
    }
}
