//! The terminal below the live view.

use console::Term;
use indicatif::TermLike;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::fmt;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Begins and ends a synchronized update: the terminal shows all of a frame at once. The cursor is hidden only within
/// a frame, so that it is visible again however the program ends.
const BEGIN_FRAME: &str = "\x1b[?2026h\x1b[?25l";
const END_FRAME: &str = "\x1b[?25h\x1b[?2026l";

/// Writes each frame at once.
#[derive(Debug)]
pub(in crate::ui) struct FrameTerminal {
    term: Term,
    frame: Mutex<String>,
}

impl FrameTerminal {
    pub(in crate::ui) fn stderr() -> FrameTerminal {
        FrameTerminal {
            term: Term::stderr(),
            frame: Mutex::default(),
        }
    }

    fn frame(&self) -> MutexGuard<'_, String> {
        self.frame.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn move_cursor(&self, n: usize, direction: char) -> io::Result<()> {
        match n {
            0 => Ok(()),
            _ => self.write_str(&format!("\x1b[{n}{direction}")),
        }
    }
}

impl TermLike for FrameTerminal {
    fn width(&self) -> u16 {
        self.term.size().1
    }

    fn height(&self) -> u16 {
        self.term.size().0
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.move_cursor(n, 'A')
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.move_cursor(n, 'B')
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.move_cursor(n, 'C')
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.move_cursor(n, 'D')
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.write_str(text)?;
        self.write_str("\n")
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        self.frame().push_str(text);
        Ok(())
    }

    fn clear_line(&self) -> io::Result<()> {
        self.write_str("\r\x1b[2K")
    }

    fn flush(&self) -> io::Result<()> {
        let frame = std::mem::take(&mut *self.frame());
        match frame.is_empty() {
            true => Ok(()),
            false => self
                .term
                .write_str(&format!("{BEGIN_FRAME}{frame}{END_FRAME}")),
        }
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
