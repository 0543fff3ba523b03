//! Panics: a short message, a hint to report the bug, and exit code 70.

use super::format::style::printable;
use super::json_events::JsonEvents;
use std::io::{Write, stderr};
use std::panic::{PanicHookInfo, set_hook, take_hook};
use std::sync::Arc;

/// Exit code for a bug in kvshoot.
pub(crate) const BUG_EXIT_CODE: u8 = 70;

/// Makes a panic on any thread end the program.
pub(crate) fn install_panic_hook() {
    set_hook(Box::new(|info| {
        // An error cannot be reported if stderr is closed.
        let _ = stderr().write_all(printable(&text(info)).as_bytes());
        exit();
    }));
}

/// Writes the final event of a JSON stream on a panic.
pub(super) fn end_events_on_panic(json: Arc<JsonEvents>) {
    let previous = take_hook();
    set_hook(Box::new(move |info| {
        if json.panicked(BUG_EXIT_CODE, &message(info)) {
            exit();
        }
        previous(info);
    }));
}

fn message(info: &PanicHookInfo<'_>) -> String {
    let message = info.payload_as_str().unwrap_or("no message");
    let place = info
        .location()
        .map(|it| format!("{}:{}", it.file(), it.line()))
        .unwrap_or_default();
    format!("bug in kvshoot: {message} ({place})")
}

fn text(info: &PanicHookInfo<'_>) -> String {
    let backtrace = std::backtrace::Backtrace::capture();
    let backtrace = match backtrace.status() {
        std::backtrace::BacktraceStatus::Captured => format!("{backtrace}\n"),
        _ => String::new(),
    };
    format!(
        "{backtrace}error: {message}\n\
         hint: no data is lost; run the same command again to resume\n\
         hint: please report this bug with the command and {version}\n",
        message = message(info),
        version = concat!("kvshoot ", env!("CARGO_PKG_VERSION")),
    )
}

#[expect(
    clippy::exit,
    reason = "a panic on another thread would otherwise be lost or end in a signal"
)]
fn exit() -> ! {
    std::process::exit(BUG_EXIT_CODE.into())
}
