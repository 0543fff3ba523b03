//! Prints; nothing else does. Results go to stdout, all else to stderr.

mod age;
mod ask;
mod fold;
mod output;
mod panic;
pub(crate) mod problems;
mod progress;
mod steps;
mod stream;
mod style;
mod table;
mod width;
mod words;

use progress::json::JsonLog;
use std::io::Write;
use std::sync::Arc;
use stream::Stream;

pub(crate) use age::age;
pub(crate) use ask::Refused;
pub(crate) use fold::{Fold, Forge};
pub(crate) use output::{Format, Row, wide};
pub(crate) use panic::{FAULT, tell_panics};
pub(crate) use progress::{Progress, ProgressMode};
pub(crate) use steps::Steps;
pub(crate) use style::{Color, Style};
pub(crate) use table::Table;
pub(crate) use words::{count, format_duration, parse_duration};

/// What decides how to talk, as flags and the environment have it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Settings {
    pub(crate) color: Color,
    pub(crate) progress: ProgressMode,
    pub(crate) quiet: bool,
    pub(crate) no_input: bool,
    /// Nobody watches, and nobody answers.
    pub(crate) ci: bool,
    /// Who shows what goes to stderr, if that is known.
    pub(crate) forge: Option<Forge>,
    pub(crate) no_color: bool,
    pub(crate) force_color: bool,
    /// `TERM=dumb`.
    pub(crate) dumb: bool,
    /// `COLUMNS`, for where no terminal tells its width.
    pub(crate) columns: Option<usize>,
    /// Set when the command changes things, so that its event stream has an end whatever happens.
    pub(crate) run: Option<Run>,
}

/// One invocation that changes things.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    /// `apply` or `delete`.
    pub(crate) verb: &'static str,
    pub(crate) id: String,
}

/// Cheap to clone; every clone writes to the same two streams.
#[derive(Debug, Clone)]
pub(crate) struct Ui {
    out: Arc<Stream>,
    err: Arc<Stream>,
    settings: Arc<Settings>,
    /// Set when events are told as JSON: then all that goes to stderr does.
    json: Option<Arc<JsonLog>>,
}

/// What a command failed of. Message and causes are lower-case fragments.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Failure<'a> {
    pub(crate) message: &'a str,
    pub(crate) causes: &'a [String],
    pub(crate) hints: &'a [String],
}

impl Ui {
    pub(crate) fn new(settings: Settings) -> Self {
        let out = Stream::stdout(&settings);
        let err = Stream::stderr(&settings);
        Self::with_streams(out, err, settings)
    }

    fn with_streams(out: Stream, err: Stream, settings: Settings) -> Self {
        let err = Arc::new(err);
        let json = settings
            .run
            .clone()
            .filter(|_| settings.progress == ProgressMode::Json)
            .map(|run| Arc::new(JsonLog::new(Arc::clone(&err), run)));
        if let Some(json) = &json {
            panic::end_stream_at_panic(Arc::clone(json));
        }
        Self {
            out: Arc::new(out),
            err,
            settings: Arc::new(settings),
            json,
        }
    }

    /// The result of the command. A reader that goes away early (`| head`) is no error.
    pub(crate) fn data(&self, text: &str) {
        self.err.above_live(|| self.out.write(text));
    }

    /// One line of the result; folded where a terminal is too narrow for it, and nowhere else.
    pub(crate) fn line(&self, text: &str) {
        let columns = match self.out.terminal {
            true => self.width(),
            false => usize::MAX,
        };
        self.data(&width::folded(text, columns));
    }

    /// The same for what is no text.
    pub(crate) fn bytes(&self, bytes: &[u8]) {
        self.err.above_live(|| self.out.write_bytes(bytes));
    }

    /// Whether results go to a person's screen.
    pub(crate) fn is_terminal(&self) -> bool {
        self.out.terminal
    }

    /// One line on how it goes, for people; not with `--quiet`.
    pub(crate) fn status(&self, text: &str) {
        if !self.settings.quiet {
            self.tell("info", text, text);
        }
    }

    /// Something that the person should know, and that stops nothing.
    pub(crate) fn warn(&self, text: &str) {
        let word = self.err_style().yellow("warning:");
        self.tell("warning", text, &format!("{word} {text}"));
    }

    /// What to do next: a whole command, or a sentence.
    pub(crate) fn hint(&self, text: &str) {
        if !self.settings.quiet {
            let word = self.err_style().cyan("hint:");
            self.tell("hint", text, &format!("{word} {text}"));
        }
    }

    /// What is wrong with manifests: laid out for people, each by itself as data for programs, with its level.
    pub(crate) fn problems(
        &self,
        text: &str,
        values: impl IntoIterator<Item = (&'static str, serde_json::Value)>,
    ) {
        let values = values.into_iter();
        match &self.json {
            Some(json) => values.for_each(|it| json.problem(it.1)),
            None => {
                self.err.write(&ended(text));
                values.for_each(|(level, it)| self.annotate(level, &it));
            }
        }
    }

    /// The error, its causes, and last what to do about it.
    pub(crate) fn failure(&self, failure: Failure<'_>) {
        if let Some(json) = &self.json {
            return json.fail(failure);
        }
        self.err.write(&self.failure_text(failure));
    }

    /// Why not all of the result could be written, if a reader that went away is not the reason.
    pub(crate) fn unwritten(&self) -> Option<String> {
        self.out.flush();
        self.out.failure()
    }

    /// Ends the stream of events, when there is one. Nothing is told after it.
    pub(crate) fn close(&self, exit_code: u8) {
        if let Some(json) = &self.json {
            json.close(exit_code);
        }
    }

    /// The reader of a run's events that `--progress` and the terminal ask for.
    pub(crate) fn progress(&self) -> Progress {
        Progress::new(self)
    }

    /// Tells how a preparation goes, the way that `--progress` and the terminal ask for.
    pub(crate) fn steps(&self) -> Steps {
        Steps::new(self)
    }

    /// Where log lines go, so that they stay above what is drawn live.
    pub(crate) fn log_writer(&self) -> impl Write + use<> {
        stream::LogLine::new(self.clone())
    }

    /// Paints what goes to stdout by [`Ui::data`], or leaves it plain.
    pub(crate) fn style(&self) -> Style {
        Style { on: self.out.color }
    }

    /// Paints what goes to stderr by [`Ui::problems`], or leaves it plain.
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

    fn tell(&self, level: &'static str, text: &str, line: &str) {
        match &self.json {
            Some(json) => json.note(level, text),
            None => self.err.write(&ended(line)),
        }
    }

    fn failure_text(&self, failure: Failure<'_>) -> String {
        let style = self.err_style();
        let mut text = format!("{} {}\n", style.red("error:"), failure.message);
        for (index, cause) in failure.causes.iter().enumerate() {
            text += &match failure.causes.len() {
                1 => format!("  because {}\n", indented(cause, "  ")),
                _ => format!("  {}: {}\n", index + 1, indented(cause, "     ")),
            };
        }
        for hint in failure.hints {
            text += &format!("{} {}\n", style.cyan("hint:"), indented(hint, "      "));
        }
        text
    }
}

/// Later lines of `text` stand below its first one.
fn indented(text: &str, by: &str) -> String {
    text.trim_end().replace('\n', &format!("\n{by}"))
}

fn ended(line: &str) -> String {
    match line.ends_with('\n') {
        true => line.to_owned(),
        false => format!("{line}\n"),
    }
}

#[cfg(test)]
mod tests;
