//! Sandboxes whose clock a test moves.

use super::{Provider, Sandbox, program};
use std::sync::atomic::{AtomicUsize, Ordering};

impl Provider {
    /// Creates a namespace in a separate sandbox, for the one test that moves its clock.
    pub(crate) fn with_clock() -> Provider {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let mut sandbox = Sandbox::start(&format!("-clock-{number}"), &[]);
        sandbox.moves_clock = true;
        Provider::of(Box::leak(Box::new(sandbox)))
    }

    /// The test moves the clock, so certificates of the sandbox are not valid now by that of this computer.
    pub(crate) fn moves_clock(&self) -> bool {
        self.sandbox.moves_clock
    }

    /// Moves the clock with options of `kvshoot sandbox clock`, and returns the new time.
    pub(crate) fn move_clock(&self, options: &str) -> String {
        let words = ["sandbox", "clock", "--name", &self.sandbox.name];
        let args: Vec<&str> = words
            .into_iter()
            .chain(options.split_whitespace())
            .collect();
        let output = program(&args).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }
}
