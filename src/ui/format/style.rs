//! Colours. Text reads the same without them.

use std::fmt::Display;

/// When to use colour
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Color {
    /// On terminals, unless NO_COLOR or TERM=dumb is set
    #[default]
    Auto,
    Always,
    Never,
}

/// Adds ANSI colours to text, if enabled.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    pub(crate) on: bool,
}

impl Style {
    pub(crate) fn red(self, text: impl Display) -> String {
        self.paint("1;31", text)
    }

    pub(crate) fn yellow(self, text: impl Display) -> String {
        self.paint("33", text)
    }

    pub(crate) fn green(self, text: impl Display) -> String {
        self.paint("32", text)
    }

    pub(crate) fn cyan(self, text: impl Display) -> String {
        self.paint("36", text)
    }

    pub(crate) fn bold(self, text: impl Display) -> String {
        self.paint("1", text)
    }

    pub(crate) fn dim(self, text: impl Display) -> String {
        self.paint("2", text)
    }

    fn paint(self, code: &str, text: impl Display) -> String {
        match self.on {
            true => format!("\x1b[{code}m{text}\x1b[0m"),
            false => text.to_string(),
        }
    }
}
