//! Stdout and stderr: their capabilities, and writing that tolerates a closed reader.

use super::format::ascii::to_ascii;
use super::format::style::{Color, printable};
use super::settings::UiSettings;
use crate::state::printable::{after_space_and_color, without_commands};
use indicatif::ProgressBar;
use std::fmt;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// An output stream.
pub(super) struct Stream {
    sink: Mutex<Sink>,
    /// The live view on this stream; text is printed above it.
    live: Mutex<Option<ProgressBar>>,
    last_write: Mutex<Instant>,
    line: Mutex<UnfinishedLine>,
    pub(super) color: bool,
    pub(super) terminal: bool,
    pub(super) unicode: bool,
    columns: Option<usize>,
    term: Option<console::Term>,
}

/// The end of the last line as long as it is not complete.
#[derive(Default)]
struct UnfinishedLine(String);

impl UnfinishedLine {
    /// At least the length of a workflow command's beginning.
    const LENGTH: usize = 64;

    /// Returns what continues the line, so that no workflow command begins in one text and ends in the next.
    fn continued(&mut self, text: String) -> String {
        // Commands in the lines after it are broken already.
        let first = text.split_inclusive('\n').next().unwrap_or_default();
        let both = format!("{}{first}", self.0);
        let text = match without_commands(&both) == both {
            true => text,
            false => format!("\\{text}"),
        };
        let begin = text.rfind('\n').map(|it| it + 1);
        match begin {
            Some(begin) => text[begin..].clone_into(&mut self.0),
            None => self.0 += &text,
        }
        let from = self.0.len().saturating_sub(Self::LENGTH);
        let from = (from..=self.0.len()).find(|it| self.0.is_char_boundary(*it));
        if let Some(from) = from.filter(|it| *it > 0) {
            // What is kept is not the begin of the line, unless nothing precedes it.
            let before = match after_space_and_color(&self.0[..from]) {
                "" => "",
                _ => "x",
            };
            self.0.replace_range(..from, before);
        }
        text
    }
}

struct Sink {
    writer: Box<dyn Write + Send>,
    state: State,
}

enum State {
    Open,
    /// The reader closed the pipe; output is discarded.
    Closed,
    Failed(String),
}

impl Stream {
    pub(super) fn stdout(settings: &UiSettings) -> Self {
        let terminal = io::stdout().is_terminal();
        let term = terminal.then(console::Term::stdout);
        Self::new(Box::new(io::stdout()), terminal, term, settings)
    }

    pub(super) fn stderr(settings: &UiSettings) -> Self {
        let terminal = io::stderr().is_terminal();
        let term = terminal.then(console::Term::stderr);
        Self::new(Box::new(io::stderr()), terminal, term, settings)
    }

    pub(super) fn new(
        writer: Box<dyn Write + Send>,
        terminal: bool,
        term: Option<console::Term>,
        settings: &UiSettings,
    ) -> Self {
        let color = match settings.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto if settings.no_color => false,
            Color::Auto if settings.force_color => true,
            Color::Auto => terminal && !settings.dumb,
        };
        Self {
            sink: Mutex::new(Sink {
                writer,
                state: State::Open,
            }),
            live: Mutex::new(None),
            last_write: Mutex::new(Instant::now()),
            line: Mutex::default(),
            color,
            terminal,
            unicode: settings.unicode,
            columns: settings.columns,
            term,
        }
    }

    /// Columns, read on every call since a window can be resized.
    pub(super) fn width(&self) -> usize {
        self.term
            .as_ref()
            .and_then(console::Term::size_checked)
            .map(|(_, columns)| usize::from(columns))
            .or(self.columns)
            .unwrap_or(80)
    }

    /// Writes text for people, in ASCII if the locale requires it.
    pub(super) fn write_text(&self, text: &str) {
        match self.unicode {
            true => self.write(text),
            false => self.write(&to_ascii(text)),
        }
    }

    /// Writes text of anyone: only the control characters of own colors pass, and no workflow command of a CI system.
    pub(super) fn write(&self, text: &str) {
        let mut line = lock(&self.line);
        let text = line.continued(printable(text));
        self.write_bytes(text.as_bytes());
    }

    /// Writes a workflow command of kvshoot itself.
    pub(super) fn write_command(&self, command: &str) {
        self.write_bytes(command.as_bytes());
    }

    pub(super) fn write_bytes(&self, bytes: &[u8]) {
        *lock(&self.last_write) = Instant::now();
        self.above_live(|| lock(&self.sink).write(bytes));
    }

    pub(super) fn flush(&self) {
        let mut sink = lock(&self.sink);
        let result = sink.writer.flush();
        sink.note(result);
    }

    /// Returns the error that prevented writing, unless the reader closed the stream.
    pub(super) fn failure(&self) -> Option<String> {
        match &lock(&self.sink).state {
            State::Failed(cause) => Some(cause.clone()),
            State::Open | State::Closed => None,
        }
    }

    /// Time since the last output; none while a live view changes by itself.
    pub(super) fn silence(&self) -> Duration {
        match *lock(&self.live) {
            Some(_) => Duration::ZERO,
            None => lock(&self.last_write).elapsed(),
        }
    }

    pub(super) fn set_live(&self, bar: Option<ProgressBar>) {
        *lock(&self.live) = bar;
    }

    /// Runs `write`, which prints to the same terminal, with the live view hidden.
    pub(super) fn above_live(&self, write: impl FnOnce()) {
        let live = lock(&self.live).clone();
        match live {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }
}

impl Sink {
    fn write(&mut self, bytes: &[u8]) {
        if matches!(self.state, State::Open) {
            let result = self.writer.write_all(bytes);
            self.note(result);
        }
    }

    fn note(&mut self, result: io::Result<()>) {
        match result {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::BrokenPipe => self.state = State::Closed,
            Err(error) => self.state = State::Failed(error.to_string()),
        }
    }
}

/// Ignores poisoning: a panic while writing leaves the state consistent.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream")
            .field("terminal", &self.terminal)
            .field("color", &self.color)
            .finish_non_exhaustive()
    }
}
