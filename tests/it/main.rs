//! Integration tests of the program. One binary, because linking is slow.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(
    clippy::print_stdout,
    reason = "counts and measurements are printed with --nocapture"
)]

mod access;
mod backup;
mod change;
mod command_line;
mod create;
mod delete;
mod diagnose;
mod docs;
mod keep;
mod resilience;
mod sandbox;
mod source;
mod support;
