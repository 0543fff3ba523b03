//! The program in the background: signals to it, and its output so far.

use super::kvshoot::{Kvshoot, Output};
use rustix::process::{Pid, Signal, kill_process};
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A process that is killed when dropped.
pub(crate) struct Running {
    child: Child,
    out: CapturedStream,
    err: CapturedStream,
    /// The command line, for messages.
    line: String,
}

/// An output stream, read by a thread.
struct CapturedStream {
    text: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
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

    /// Sends SIGINT, like Ctrl-C.
    pub(crate) fn interrupt(&self) {
        self.signal(Signal::INT);
    }

    pub(crate) fn wait(mut self) -> Output {
        self.wait_at_most(Duration::from_secs(600))
    }

    /// Returns stdout so far.
    pub(crate) fn stdout(&self) -> String {
        self.out.text()
    }

    /// Returns stderr so far.
    pub(crate) fn stderr(&self) -> String {
        self.err.text()
    }

    /// Waits until stderr contains `text`. Earlier output on stdout may not have been read yet.
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
        let has_exited = self.child.try_wait().unwrap().is_some();
        assert!(
            Instant::now() < end && !has_exited,
            "`{}` did not print `{wanted}`: {}",
            self.line,
            self.err.text()
        );
        thread::sleep(Duration::from_millis(10));
    }

    /// Waits for the exit. The exit code of a process that was killed by a signal is 128 plus its number, as in a shell.
    pub(crate) fn wait_at_most(&mut self, limit: Duration) -> Output {
        self.wait_or_kill(limit, || false)
    }

    /// Like [`Running::wait_at_most`], but kills the process as soon as `is_enough` returns true.
    pub(crate) fn wait_or_kill(&mut self, limit: Duration, is_enough: impl Fn() -> bool) -> Output {
        let end = Instant::now() + limit;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(
                Instant::now() < end,
                "`{}` is still running after {limit:?}: {}\n{}",
                self.line,
                self.err.text(),
                self.out.text()
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
        let reader = thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = from.read(&mut buffer) {
                into.lock().unwrap().extend_from_slice(&buffer[..count]);
            }
        });
        CapturedStream {
            text,
            reader: Some(reader),
        }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.text.lock().unwrap()).into_owned()
    }

    fn all(&mut self) -> String {
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap();
        }
        self.text()
    }
}

/// Peak memory of a program that was started, in KiB; 0 before it runs. None once it has ended.
pub(crate) fn peak_memory(process: u32) -> Option<u64> {
    // A new process has the memory of these tests for a moment after `spawn` has returned: the kernel lets the parent go
    // on before it replaces the memory.
    let program = |process: &str| std::fs::read_link(format!("/proc/{process}/exe")).ok();
    if program(&process.to_string()).is_some_and(|it| Some(it) == program("self")) {
        return Some(0);
    }
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|it| it.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// How long the threads of a process have waited for a CPU: the longest of them.
pub(crate) fn time_without_cpu(process: u32) -> Duration {
    let threads = std::fs::read_dir(format!("/proc/{process}/task"));
    let waited = threads.into_iter().flatten().flatten().filter_map(|it| {
        let text = std::fs::read_to_string(it.path().join("schedstat")).ok()?;
        text.split_whitespace().nth(1)?.parse().ok()
    });
    Duration::from_nanos(waited.max().unwrap_or_default())
}

/// What a process can write in its memory: heap, stacks and data. Needs root, since kvshoot keeps others out.
pub(crate) fn writable_memory(process: u32) -> Vec<Vec<u8>> {
    let memory = std::fs::File::open(format!("/proc/{process}/mem")).unwrap();
    let maps = std::fs::read_to_string(format!("/proc/{process}/maps")).unwrap();
    let regions = maps.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let (range, rights) = (words.next()?, words.next()?);
        let (start, end) = range.split_once('-')?;
        let start = u64::from_str_radix(start, 16).ok()?;
        let end = u64::from_str_radix(end, 16).ok()?;
        let mut bytes = vec![0; usize::try_from(end - start).ok()?];
        // Some regions of the kernel cannot be read.
        (rights.starts_with("rw") && memory.read_exact_at(&mut bytes, start).is_ok())
            .then_some(bytes)
    });
    regions.collect()
}

pub(crate) fn contains(regions: &[Vec<u8>], bytes: &[u8]) -> bool {
    let finder = memchr::memmem::Finder::new(bytes);
    regions.iter().any(|it| finder.find(it).is_some())
}
