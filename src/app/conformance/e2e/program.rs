//! The test program: how it is called, and its log.

use super::options::E2eOptions;
use super::output::RunOutput;
use crate::app::access::exec::ShootAccess;
use crate::app::access::process::{self, Signal};
use crate::app::conformance::report::ReportFormat;
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::signals::Signals;
use futures::FutureExt as _;
use futures::future::Fuse;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::pin::{Pin, pin};
use std::process::Stdio;
use std::time::Duration;
use tokio::io::BufReader;
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

/// Limit for the list of all tests.
const LIST: Duration = Duration::from_secs(60);
/// Time for the end of a test after a signal: its namespace is deleted.
const GRACE: Duration = Duration::from_secs(5 * 60);
/// Time for the last output after the end of the program.
const LAST_OUTPUT: Duration = Duration::from_secs(5);

/// A program of Kubernetes' own tests.
pub(super) struct E2eProgram<'a> {
    options: &'a E2eOptions,
    /// Absolute path.
    path: PathBuf,
    /// Absolute path of the folder for the log and the reports.
    folder: PathBuf,
}

impl E2eProgram<'_> {
    /// Creates the folder for the reports.
    ///
    /// # Errors
    ///
    /// The program does not exist, or the folder cannot be created.
    pub(super) fn new(options: &E2eOptions) -> Result<E2eProgram<'_>, CommandError> {
        let failed = |path: &Path, error: &io::Error| {
            let message = format!("cannot use {}", path.display());
            CommandError::new(Exit::Usage, message).cause(error.to_string())
        };
        let program = &options.program;
        let path = fs::canonicalize(program).map_err(|it| failed(program, &it))?;
        let folder = &options.report_dir;
        let folder = fs::create_dir_all(folder)
            .and_then(|()| fs::canonicalize(folder))
            .map_err(|it| failed(folder, &it))?;
        Ok(E2eProgram {
            options,
            path,
            folder,
        })
    }

    /// The log of the program.
    pub(super) fn log(&self) -> PathBuf {
        self.folder.join("e2e.log")
    }

    /// The report of the program, with all results.
    pub(super) fn report(&self) -> PathBuf {
        self.folder.join("ginkgo/report.json")
    }

    /// Names of all specs that the program has.
    ///
    /// # Errors
    ///
    /// It cannot be run, or lists no specs.
    pub(super) async fn list_specs(&self) -> Result<Vec<String>, CommandError> {
        let failed = |cause: String| {
            let message = format!("cannot list the tests of {}", self.path.display());
            let error = CommandError::new(Exit::Precondition, message).cause(cause);
            error.hint("the program e2e.test is part of each release of Kubernetes")
        };
        let mut command = Command::new(&self.path);
        command.arg("--list-tests").stdin(Stdio::null());
        let output = command.kill_on_drop(true).output();
        let output = timeout(LIST, output).await;
        let output = output.map_err(|_| failed("it did not end within a minute".to_owned()))?;
        let output = output.map_err(|error| failed(error.to_string()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let names: Vec<String> = text.lines().filter_map(listed_name).collect();
        match names.is_empty() {
            true => Err(failed("it printed no names of tests".to_owned())),
            false => Ok(names),
        }
    }

    /// Runs specs until they have ended, or ends the program after a signal. Results are in the report.
    ///
    /// # Errors
    ///
    /// The program cannot be run, the log cannot be written, or a signal was received.
    pub(super) async fn run(
        &self,
        specs: &[String],
        access: &ShootAccess<'_>,
        signals: &Signals,
        context: &Context,
    ) -> Result<(), CommandError> {
        let (log, errors) = self.prepare_folder().map_err(|error| {
            let message = format!("cannot write to {}", self.folder.display());
            CommandError::new(Exit::Precondition, message).cause(error.to_string())
        })?;
        let started = process::spawn_captured(&self.command(specs), access.variables(), errors);
        let mut child = started.map_err(|error| CommandError {
            exit: Exit::Precondition,
            ..error
        })?;
        let is_shown = self.options.output == ReportFormat::Text;
        let cannot = |error: io::Error| {
            let message = format!("cannot follow {}", self.path.display());
            CommandError::new(Exit::Partly, message).cause(error.to_string())
        };
        let stream = child.stdout.take();
        let stream = stream.ok_or_else(|| cannot(ErrorKind::BrokenPipe.into()))?;
        let output = RunOutput::new(context, log, is_shown, specs);
        let mut reading = pin!(output.read(BufReader::new(stream)).fuse());
        let ended = tokio::select! {
            followed = follow(&mut child, reading.as_mut()) => return followed.map_err(cannot),
            () = signals.first.cancelled() => CommandError::new(signals.exit(), "interrupted"),
            // It ends by itself before.
            () = sleep(self.options.limit().saturating_add(GRACE)) => {
                CommandError::new(Exit::Timeout, "the test program did not end in time")
            }
        };
        process::send(&child, Signal::INT);
        context
            .ui
            .status("waiting for the current test to clean up; press Ctrl-C again to exit now");
        tokio::select! {
            _ = timeout(GRACE, follow(&mut child, reading)) => {}
            () = signals.second.cancelled() => {}
        }
        process::send(&child, Signal::KILL);
        Err(ended)
    }

    /// Opens the log, and removes the report of an earlier run.
    fn prepare_folder(&self) -> io::Result<(File, File)> {
        let report = self.report();
        if report.exists() {
            fs::remove_file(report)?;
        }
        let log = File::create(self.log())?;
        // Both write at the end.
        drop(log);
        let open = || File::options().append(true).open(self.log());
        Ok((open()?, open()?))
    }

    fn command(&self, specs: &[String]) -> Vec<OsString> {
        let mut folder = OsString::from("--report-dir=");
        folder.push(&self.folder);
        let timeout = format!("--ginkgo.timeout={}s", self.options.limit().as_secs());
        let mut command = vec![OsString::from(&self.path), folder, timeout.into()];
        let fixed = [
            "--provider=skeleton",
            "--report-complete-ginkgo",
            "--ginkgo.v",
            "--ginkgo.no-color",
        ];
        command.extend(fixed.map(OsString::from));
        // Each has to match all to the end of the name of a spec. The name of the suite comes before it.
        let focus = specs
            .iter()
            .map(|it| format!("--ginkgo.focus= {}$", regex::escape(it)));
        command.extend(focus.map(OsString::from));
        command
    }
}

/// Reads the output of the program until it ends.
async fn follow(
    child: &mut Child,
    mut reading: Pin<&mut Fuse<impl Future<Output = io::Result<()>>>>,
) -> io::Result<()> {
    tokio::select! {
        read = &mut reading => read?,
        _ = child.wait() => {
            // Processes that it has left behind may keep its output open.
            timeout(LAST_OUTPUT, reading).await.unwrap_or(Ok(()))?;
        }
    }
    child.wait().await?;
    Ok(())
}

/// The name in a line such as `    path/of/source.go:258: [sig-node] Pods should run`.
fn listed_name(line: &str) -> Option<String> {
    let (_, rest) = line.split_once(": [sig-")?;
    Some(format!("[sig-{rest}"))
}
