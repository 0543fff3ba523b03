//! The terminal below the live view.

use crate::ui::format::style::printable;
use console::{Term, measure_text_width};
use indicatif::TermLike;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::fmt;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Begins and ends a synchronized update: the terminal shows all of a frame at once. The cursor is hidden only within
/// a frame, so that it is visible again however the program ends.
const BEGIN_FRAME: &str = "\x1b[?2026h\x1b[?25l";
const END_FRAME: &str = "\x1b[?25h\x1b[?2026l";

/// Writes each frame at once, one terminal line per line.
///
/// indicatif fills each line with spaces and relies on the terminal to wrap it, so a frame is one long line. When the
/// width changes, terminals wrap it again, and indicatif erases a wrong number of rows. So this type takes only the
/// lines from indicatif, and moves and erases by itself.
#[derive(Debug)]
pub(in crate::ui) struct FrameTerminal {
    term: Box<dyn TermLike>,
    state: Mutex<FrameState>,
}

#[derive(Debug, Default)]
struct FrameState {
    next: NextFrame,
    shown: ShownFrame,
}

/// A frame that indicatif has begun to draw.
#[derive(Debug, Default)]
struct NextFrame {
    /// Rows of the shown frame that indicatif erases.
    erased_rows: usize,
    lines: Vec<String>,
    /// Set between a line and the spaces after it.
    filler_follows: bool,
}

/// The frame on the terminal. The cursor is after its last line.
#[derive(Debug, Default)]
struct ShownFrame {
    /// Columns of the terminal when the frame was drawn.
    columns: usize,
    /// Columns of each line.
    widths: Vec<usize>,
}

impl FrameTerminal {
    pub(in crate::ui) fn stderr() -> FrameTerminal {
        FrameTerminal::new(Box::new(Term::stderr()))
    }

    pub(super) fn new(term: Box<dyn TermLike>) -> FrameTerminal {
        FrameTerminal {
            term,
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, FrameState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TermLike for FrameTerminal {
    fn width(&self) -> u16 {
        self.term.width()
    }

    fn height(&self) -> u16 {
        self.term.height()
    }

    fn move_cursor_up(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_down(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_right(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_left(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.state().next.lines.push(printable(text));
        Ok(())
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        let next = &mut self.state().next;
        if !next.filler_follows {
            next.lines.push(printable(text));
        }
        next.filler_follows = !next.filler_follows;
        Ok(())
    }

    fn clear_line(&self) -> io::Result<()> {
        self.state().next.erased_rows += 1;
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        let mut state = self.state();
        let next = std::mem::take(&mut state.next);
        let columns = usize::from(self.width()).max(1);
        let erase = state.shown.erase(next.erased_rows, columns);
        let widths = next.lines.iter().map(|line| measure_text_width(line));
        state.shown = ShownFrame {
            columns,
            widths: widths.collect(),
        };
        let frame = erase + &next.lines.join("\r\n");
        if frame.is_empty() {
            return Ok(());
        }
        self.term
            .write_str(&format!("{BEGIN_FRAME}{frame}{END_FRAME}"))?;
        self.term.flush()
    }
}

impl ShownFrame {
    /// Control sequence that erases the last `rows` rows, counted in the width of the frame, on a terminal that is now
    /// `columns` wide. Moves to a new line if there is nothing to erase.
    fn erase(&self, rows: usize, columns: usize) -> String {
        match (self.widths.is_empty(), rows) {
            (true, _) => String::new(),
            (false, 0) => "\r\n".to_owned(),
            (false, rows) => match self.rows_above_cursor(rows, columns) {
                0 => "\r\x1b[J".to_owned(),
                up => format!("\x1b[{up}A\r\x1b[J"),
            },
        }
    }

    /// Assumes that the terminal wraps lines again when its width changes. On those that cut them instead, such as
    /// xterm, some lines above the live view are lost.
    fn rows_above_cursor(&self, rows: usize, columns: usize) -> usize {
        let height = |width: usize, columns: usize| width.div_ceil(columns).max(1);
        let mut rows_left = rows;
        let erased = self.widths.iter().rev().take_while(|width| {
            let is_erased = rows_left > 0;
            rows_left = rows_left.saturating_sub(height(**width, self.columns));
            is_erased
        });
        erased
            .map(|width| height(*width, columns))
            .sum::<usize>()
            .saturating_sub(1)
    }
}

/// Stops the terminal from echoing `^C`, which would shift the live view by a line; restores it when dropped.
pub(super) struct NoEcho {
    before: Option<Termios>,
}

impl NoEcho {
    /// Changes the terminal on stdin, if there is one.
    pub(super) fn begin() -> NoEcho {
        let before = tcgetattr(io::stdin()).ok();
        if let Some(mut modes) = before.clone() {
            modes.local_modes.remove(LocalModes::ECHOCTL);
            // On failure, only the live view suffers.
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, &modes);
        }
        NoEcho { before }
    }
}

impl Drop for NoEcho {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // Nothing can be done about a failure.
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, before);
        }
    }
}

impl fmt::Debug for NoEcho {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NoEcho")
    }
}
