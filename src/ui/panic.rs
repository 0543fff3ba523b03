//! A fault of kvshoot itself: few words, where to tell it, exit code 70.

use super::progress::json::JsonEvents;
use std::io::{Write, stderr};
use std::panic::{PanicHookInfo, set_hook, take_hook};
use std::sync::Arc;

/// The exit code of a fault.
pub(crate) const BUG_EXIT_CODE: u8 = 70;

/// From now on a panic on any thread ends the program.
pub(crate) fn install_panic_hook() {
    set_hook(Box::new(|info| {
        // There is nobody left to tell that stderr is closed.
        let _ = stderr().write_all(text(info).as_bytes());
        leave();
    }));
}

/// A stream of events is told of a panic as of any other end, and nothing comes after it.
pub(super) fn end_stream_at_panic(json: Arc<JsonEvents>) {
    let tell = take_hook();
    set_hook(Box::new(move |info| {
        if json.panicked(BUG_EXIT_CODE, &message(info)) {
            leave();
        }
        tell(info);
    }));
}

fn message(info: &PanicHookInfo<'_>) -> String {
    let message = info.payload_as_str().unwrap_or("no message");
    let place = info
        .location()
        .map(|it| format!("{}:{}", it.file(), it.line()))
        .unwrap_or_default();
    format!("kvshoot has a fault: {message} ({place})")
}

fn text(info: &PanicHookInfo<'_>) -> String {
    let backtrace = std::backtrace::Backtrace::capture();
    let backtrace = match backtrace.status() {
        std::backtrace::BacktraceStatus::Captured => format!("{backtrace}\n"),
        _ => String::new(),
    };
    format!(
        "{backtrace}error: {message}\n\
         hint: what was made is safe; the same command goes on from here\n\
         hint: please report this, with the command and {version}\n",
        message = message(info),
        version = concat!("kvshoot ", env!("CARGO_PKG_VERSION")),
    )
}

#[expect(
    clippy::exit,
    reason = "a panic on another thread would else be lost, or end in a signal"
)]
fn leave() -> ! {
    std::process::exit(BUG_EXIT_CODE.into())
}
