//! Prints; nothing else does. Results go to stdout, all else to stderr.

pub(crate) mod problems;

use crate::commands::{CommandError, Exit};

#[derive(Debug, Default)]
pub(crate) struct Ui {}

impl Ui {
    pub(crate) fn failure(&self, error: &CommandError) -> Exit {
        error.exit
    }
}
