//! Prints; nothing else does. Results go to stdout, all else to stderr.

pub(crate) mod problems;

use crate::commands::{CommandError, Exit};
use std::io::Write;

pub(crate) struct Style {
    pub(crate) on: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Ui {}

impl Ui {
    pub(crate) fn data(&self, text: &str) {
        // A reader that goes away early is no error.
        let _ = std::io::stdout().write_all(text.as_bytes());
    }

    pub(crate) fn report(&self, text: &str) {
        let _ = std::io::stderr().write_all(text.as_bytes());
    }

    pub(crate) fn err_style(&self) -> Style {
        Style { on: false }
    }

    pub(crate) fn err_width(&self) -> usize {
        100
    }

    pub(crate) fn failure(&self, error: &CommandError) -> Exit {
        error.exit
    }
}
