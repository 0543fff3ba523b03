//! The terminal as it has to be while a picture stands on it.

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::fmt;
use std::io;

/// Keeps the terminal from showing `^C`, which would push the picture a line lower than it is thought to be.
pub(super) struct NoEcho {
    before: Option<Termios>,
}

impl NoEcho {
    /// Of the terminal that is typed at, if there is one; until this is dropped.
    pub(super) fn begin() -> NoEcho {
        let before = tcgetattr(io::stdin()).ok();
        if let Some(mut modes) = before.clone() {
            modes.local_modes.remove(LocalModes::ECHOCTL);
            // Without it only the picture suffers.
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, &modes);
        }
        NoEcho { before }
    }
}

impl Drop for NoEcho {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // As above.
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, before);
        }
    }
}

impl fmt::Debug for NoEcho {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NoEcho")
    }
}
