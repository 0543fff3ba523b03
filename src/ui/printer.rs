//! The printer that all commands use.

use super::ci_log_groups::{self, LogGroup};
use super::error_message::{ErrorMessage, indented};
use super::format::style::Style;
use super::format::width;
use super::json_events::JsonEvents;
use super::panic;
use super::settings::{ProgressMode, UiSettings};
use super::tty_stream::Stream;
use crate::state::printable::one_line;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

/// Time without output after which a waiting command reports what it waits for.
const SILENCE: Duration = Duration::from_secs(4);

/// Prints to stdout and stderr. Cheap to clone; all clones write to the same streams.
#[derive(Debug, Clone)]
pub(crate) struct Ui {
    pub(super) out: Arc<Stream>,
    pub(super) err: Arc<Stream>,
    pub(super) settings: Arc<UiSettings>,
    /// Set with `--progress=json`: everything on stderr is an event then.
    pub(super) json: Option<Arc<JsonEvents>>,
}

impl Ui {
    pub(crate) fn new(settings: UiSettings) -> Self {
        let out = Stream::stdout(&settings);
        let err = Stream::stderr(&settings);
        let ui = Self::with_streams(out, err, settings);
        if let Some(json) = &ui.json {
            panic::end_events_on_panic(Arc::clone(json));
        }
        ui
    }

    pub(super) fn with_streams(out: Stream, err: Stream, settings: UiSettings) -> Self {
        let err = Arc::new(err);
        let json = settings
            .run
            .clone()
            .filter(|_| settings.progress == ProgressMode::Json)
            .map(|run| Arc::new(JsonEvents::new(Arc::clone(&err), run)));
        Self {
            out: Arc::new(out),
            err,
            settings: Arc::new(settings),
            json,
        }
    }

    /// Prints the result of the command. A reader that closes early (`| head`) is not an error.
    pub(crate) fn data(&self, text: &str) {
        self.err.above_live(|| self.out.write(text));
    }

    /// Prints one line of the result, folded only on a terminal that is too narrow.
    pub(crate) fn line(&self, text: &str) {
        let columns = match self.out.terminal {
            true => self.width(),
            false => usize::MAX,
        };
        self.data(&width::folded(text, columns));
    }

    /// Prints binary results.
    pub(crate) fn bytes(&self, bytes: &[u8]) {
        self.err.above_live(|| self.out.write_bytes(bytes));
    }

    /// True if results go to a terminal.
    pub(crate) fn is_terminal(&self) -> bool {
        self.out.terminal
    }

    /// Prints a line about progress or an empty result, unless `--quiet` is set.
    pub(crate) fn status(&self, text: &str) {
        if !self.settings.quiet {
            self.print("info", text, &indented(text, "  "));
        }
    }

    /// Prints what the command waits for after a few seconds without output, unless progress is off or is JSON.
    pub(crate) fn still_waiting(&self, what: impl FnOnce() -> Option<String>) {
        let is_off = matches!(
            self.progress_mode(),
            ProgressMode::None | ProgressMode::Json
        );
        if is_off || self.err.silence() < SILENCE || self.out.silence() < SILENCE {
            return;
        }
        if let Some(what) = what() {
            self.err.write_text(&format!("Waiting for {what}\n"));
        }
    }

    /// Prints a warning.
    pub(crate) fn warn(&self, text: &str) {
        let prefix = self.err_style().yellow("warning:");
        self.print(
            "warning",
            text,
            &format!("{prefix} {}", indented(text, "  ")),
        );
    }

    /// Prints a hint on what to do next, a complete command or a sentence, unless `--quiet` is set.
    pub(crate) fn hint(&self, text: &str) {
        if !self.settings.quiet {
            let prefix = self.err_style().cyan("hint:");
            self.print("hint", text, &format!("{prefix} {}", indented(text, "  ")));
        }
    }

    /// Prints problems of manifests: `text` for people, or each of `values` with its level for programs.
    pub(crate) fn problems(
        &self,
        text: &str,
        values: impl IntoIterator<Item = (&'static str, serde_json::Value)>,
    ) {
        let values = values.into_iter();
        if let Some(json) = &self.json {
            return values.for_each(|(_, problem)| json.problem(problem));
        }
        self.err.write_text(&with_newline(text));
        for (level, problem) in values {
            let annotation = ci_log_groups::annotation(self.settings.ci_system, level, &problem);
            if let Some(annotation) = annotation {
                self.err.write_command(&annotation);
            }
        }
    }

    /// Prints an error, its causes, and finally its hints.
    pub(crate) fn failure(&self, error: ErrorMessage<'_>) {
        match &self.json {
            Some(json) => json.fail(error),
            None => self.err.write_text(&error.text(self.err_style())),
        }
    }

    /// Begins a group of log lines that CI systems show collapsed below `title`; it ends when dropped.
    ///
    /// `name` consists of letters and underscores.
    pub(crate) fn log_group(&self, name: &'static str, title: &str) -> LogGroup<'_> {
        let system = self.settings.ci_system.filter(|_| self.json.is_none());
        LogGroup::begin(&self.err, system, name, title)
    }

    /// Returns the error that prevented writing the result, unless the reader closed the stream.
    pub(crate) fn write_failure(&self) -> Option<String> {
        self.out.flush();
        self.out.failure()
    }

    /// Ends the JSON event stream, if there is one. Later output is dropped.
    pub(crate) fn close(&self, exit_code: u8) {
        if let Some(json) = &self.json {
            json.close(exit_code);
        }
    }

    /// Writer for one line of the log, printed above the live view.
    pub(crate) fn log_writer(&self) -> impl Write + use<> {
        LogLine {
            ui: self.clone(),
            line: Vec::new(),
        }
    }

    /// Style for text printed with [`Ui::data`].
    pub(crate) fn style(&self) -> Style {
        Style { on: self.out.color }
    }

    /// Style for text printed with [`Ui::problems`].
    pub(crate) fn err_style(&self) -> Style {
        Style { on: self.err.color }
    }

    /// Columns of stdout.
    pub(crate) fn width(&self) -> usize {
        self.out.width()
    }

    /// Columns of stderr.
    pub(crate) fn err_width(&self) -> usize {
        self.err.width()
    }

    /// Resolves `--progress=auto`.
    pub(super) fn progress_mode(&self) -> ProgressMode {
        let settings = &self.settings;
        let interactive = self.err.terminal && !settings.ci && !settings.dumb;
        match settings.progress {
            ProgressMode::Auto if settings.quiet => ProgressMode::None,
            ProgressMode::Auto if interactive => ProgressMode::Tty,
            ProgressMode::Auto => ProgressMode::Plain,
            // A live view needs a terminal.
            ProgressMode::Tty if !self.err.terminal => ProgressMode::Plain,
            mode => mode,
        }
    }

    fn print(&self, level: &'static str, text: &str, line: &str) {
        match &self.json {
            Some(json) => json.note(level, text),
            None => self.err.write_text(&with_newline(line)),
        }
    }
}

fn with_newline(line: &str) -> String {
    match line.ends_with('\n') {
        true => line.to_owned(),
        false => format!("{line}\n"),
    }
}

/// One line of the log, printed at once when dropped.
struct LogLine {
    ui: Ui,
    line: Vec<u8>,
}

impl Write for LogLine {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.line.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for LogLine {
    fn drop(&mut self) {
        let line = String::from_utf8_lossy(&self.line);
        let line = line.trim_end();
        if !line.is_empty() {
            self.ui.print("log", line, &one_line(line));
        }
    }
}
