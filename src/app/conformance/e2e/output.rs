//! The output of the test program: it goes to the log, and each test that ends is shown.

use super::progress::{SpecEnd, SpecEvent, SpecProgress};
use crate::app::conformance::report::line;
use crate::app::context::Context;
use crate::cluster::InFlight;
use crate::state::printable::one_line;
use std::fs::File;
use std::io::{self, Write as _};
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _};

/// The longest part of a line that is read at once, in bytes.
const LONGEST: u64 = 64 * 1024;

/// Output that is being read.
pub(super) struct RunOutput<'a> {
    context: &'a Context,
    log: File,
    /// Tests that end are printed.
    is_shown: bool,
    total: usize,
    ended: usize,
    progress: SpecProgress<'a>,
    waiting: Option<InFlight>,
}

impl<'a> RunOutput<'a> {
    pub(super) fn new(
        context: &'a Context,
        log: File,
        is_shown: bool,
        specs: &'a [String],
    ) -> RunOutput<'a> {
        RunOutput {
            context,
            log,
            is_shown,
            total: specs.len(),
            ended: 0,
            progress: SpecProgress::of(specs),
            waiting: Some(InFlight::many("the first test".to_owned())),
        }
    }

    /// Reads until the program closes its output.
    ///
    /// # Errors
    ///
    /// The output cannot be read, or the log cannot be written.
    pub(super) async fn read(mut self, mut output: impl AsyncBufRead + Unpin) -> io::Result<()> {
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            let mut part = (&mut output).take(LONGEST);
            if part.read_until(b'\n', &mut bytes).await? == 0 {
                return Ok(());
            }
            self.log.write_all(&bytes)?;
            let text = String::from_utf8_lossy(&bytes);
            match self.progress.line(text.trim_end()) {
                Some(SpecEvent::Began(name)) => self.begin(name),
                Some(SpecEvent::Ended(end)) => self.end(&end),
                None => {}
            }
        }
    }

    fn begin(&mut self, name: &str) {
        let number = self.ended + 1;
        let what = format!("test {number} of {}: {}", self.total, one_line(name));
        self.waiting = Some(InFlight::many(what));
    }

    fn end(&mut self, end: &SpecEnd<'_>) {
        self.ended += 1;
        self.waiting = None;
        if !self.is_shown {
            return;
        }
        let style = self.context.ui.style();
        self.context.ui.data(&line(end.name, &end.outcome, style));
    }
}
