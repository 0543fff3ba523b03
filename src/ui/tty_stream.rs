//! Stdout or stderr: what it can, decided once, and a writer that outlives its reader.

use super::{Color, Ui, UiSettings};
use indicatif::ProgressBar;
use std::fmt;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

pub(super) struct Stream {
    sink: Mutex<Sink>,
    /// What is drawn live on this stream; text goes above it.
    live: Mutex<Option<ProgressBar>>,
    pub(super) color: bool,
    pub(super) terminal: bool,
    columns: Option<usize>,
    term: Option<console::Term>,
}

struct Sink {
    writer: Box<dyn Write + Send>,
    state: State,
}

enum State {
    Open,
    /// The reader went away; what is written from now on is for nobody.
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
            color,
            terminal,
            columns: settings.columns,
            term,
        }
    }

    /// Asked anew each time, for a window changes its size.
    pub(super) fn width(&self) -> usize {
        let of_terminal = self.term.as_ref().and_then(console::Term::size_checked);
        of_terminal
            .map(|(_, columns)| usize::from(columns))
            .or(self.columns)
            .unwrap_or(80)
    }

    pub(super) fn write(&self, text: &str) {
        self.write_bytes(text.as_bytes());
    }

    pub(super) fn write_bytes(&self, bytes: &[u8]) {
        self.above_live(|| lock(&self.sink).write(bytes));
    }

    pub(super) fn flush(&self) {
        let mut sink = lock(&self.sink);
        let result = sink.writer.flush();
        sink.note(result);
    }

    /// Why not all could be written, if a reader that went away is not the reason.
    pub(super) fn failure(&self) -> Option<String> {
        match &lock(&self.sink).state {
            State::Failed(cause) => Some(cause.clone()),
            State::Open | State::Closed => None,
        }
    }

    pub(super) fn set_live(&self, bar: Option<ProgressBar>) {
        *lock(&self.live) = bar;
    }

    /// Does what writes to the same terminal, with what is drawn live out of the way.
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

/// A panic while writing leaves no half state behind that would matter here.
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

/// One line of the log, written whole when it is dropped.
pub(super) struct LogLine {
    ui: Ui,
    line: Vec<u8>,
}

impl LogLine {
    pub(super) fn new(ui: Ui) -> Self {
        Self {
            ui,
            line: Vec::new(),
        }
    }
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
        if !line.is_empty() {
            self.ui.tell("log", line.trim_end(), &line);
        }
    }
}
