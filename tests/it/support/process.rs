//! The program while it runs: signals to it, and what it has said so far.

use super::kvshoot::{Kvshoot, Output};
use rustix::process::{Pid, Signal, kill_process};
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Killed when dropped.
pub(crate) struct Running {
    child: Child,
    out: CapturedStream,
    err: CapturedStream,
    /// What it was started with, for messages.
    line: String,
}

struct CapturedStream {
    text: Arc<Mutex<Vec<u8>>>,
    listener: Option<JoinHandle<()>>,
}

impl Running {
    pub(crate) fn start(kvshoot: &Kvshoot, line: &str) -> Running {
        let program = Path::new(env!("CARGO_BIN_EXE_kvshoot"));
        let mut command = kvshoot.command(program, line.split_whitespace());
        let mut child = command.spawn().unwrap();
        drop(child.stdin.take());
        Running {
            out: CapturedStream::capture(child.stdout.take().unwrap()),
            err: CapturedStream::capture(child.stderr.take().unwrap()),
            child,
            line: line.to_owned(),
        }
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// As Ctrl-C does.
    pub(crate) fn interrupt(&self) {
        self.signal(Signal::INT);
    }

    pub(crate) fn wait(mut self) -> Output {
        self.wait_at_most(Duration::from_secs(600))
    }

    /// What it has said on stdout so far.
    pub(crate) fn stdout(&self) -> String {
        self.out.text()
    }

    /// Waits until stderr has `text`; what was written to stdout before that may still be on its way.
    pub(crate) fn wait_for(&mut self, text: &str, limit: Duration) {
        let end = Instant::now() + limit;
        while !self.err.text().contains(text) {
            self.assert_running_until(end, text);
        }
    }

    /// Waits for the first line of stdout.
    pub(crate) fn first_line(&mut self, limit: Duration) -> String {
        let end = Instant::now() + limit;
        loop {
            if let Some((line, _)) = self.out.text().split_once('\n') {
                return line.to_owned();
            }
            self.assert_running_until(end, "a line on stdout");
        }
    }

    fn assert_running_until(&mut self, end: Instant, wanted: &str) {
        let is_over = self.child.try_wait().unwrap().is_some();
        assert!(
            Instant::now() < end && !is_over,
            "`{}` does not say `{wanted}`: {}",
            self.line,
            self.err.text()
        );
        thread::sleep(Duration::from_millis(10));
    }

    /// Waits until it has ended; a signal that ended it counts as 128 and its number, as in a shell.
    pub(crate) fn wait_at_most(&mut self, limit: Duration) -> Output {
        self.wait_or_kill(limit, || false)
    }

    /// As [`Running::wait_at_most`], and kills it when `is_enough`.
    pub(crate) fn wait_or_kill(&mut self, limit: Duration, is_enough: impl Fn() -> bool) -> Output {
        let end = Instant::now() + limit;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(
                Instant::now() < end,
                "`{}` still runs after {limit:?}: {}",
                self.line,
                self.err.text()
            );
            if is_enough() {
                let _ = self.child.kill();
            }
            thread::sleep(Duration::from_millis(10));
        };
        Output {
            code: code(status),
            out: self.out.all(),
            err: self.err.all(),
        }
    }
}

fn code(status: ExitStatus) -> i32 {
    let signal = status.signal().map(|it| 128 + it);
    status.code().or(signal).unwrap()
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl CapturedStream {
    fn capture(mut from: impl Read + Send + 'static) -> CapturedStream {
        let text = Arc::new(Mutex::new(Vec::new()));
        let into = text.clone();
        let listener = thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = from.read(&mut buffer) {
                into.lock().unwrap().extend_from_slice(&buffer[..count]);
            }
        });
        CapturedStream {
            text,
            listener: Some(listener),
        }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.text.lock().unwrap()).into_owned()
    }

    fn all(&mut self) -> String {
        if let Some(listener) = self.listener.take() {
            listener.join().unwrap();
        }
        self.text()
    }
}
