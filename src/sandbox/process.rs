//! Processes that outlive the command that starts them, identified so that no other process is ever signalled.

use super::clock_file::ClockFile;
use super::error::{SandboxError, io};
use super::private_files;
use crate::clock;
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Time for processes to exit after SIGKILL. It ends as soon as they have exited; on a computer with much other work, one
/// with a lot of memory takes more than five seconds.
const KILLED: Duration = Duration::from_secs(60);

/// A process, distinguished from later ones with the same ID.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Process {
    pub(super) name: String,
    pub(super) pid: u32,
    /// Start time in clock ticks since boot.
    started: u64,
    /// Boot ID.
    boot: String,
}

/// A program with its arguments.
pub(super) struct Program {
    pub(super) name: &'static str,
    pub(super) args: Vec<String>,
}

impl Process {
    pub(super) fn start(
        program: &Program,
        bin: &Path,
        folder: &Path,
    ) -> Result<(Self, Child), SandboxError> {
        let name = program.name;
        let path = log(folder, name);
        let out = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(&path)
            .map_err(io(format!("open {}", path.display())))?;
        let err = out.try_clone().map_err(io("share a log"))?;
        // Some leave files behind; they are deleted with the sandbox.
        let temporary = folder.join("tmp");
        private_files::make_dir(&temporary)?;
        let child = Command::new(bin.join(name))
            .args(&program.args)
            // The user's variables (such as ETCD_NAME) must not configure these programs.
            .env_clear()
            .env("HOME", folder)
            .env("TMPDIR", &temporary)
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            // Collecting garbage is half of the work of an API server with this many definitions.
            .env("GOGC", "300")
            .env("GOMEMLIMIT", "1500MiB")
            .env(clock::VARIABLE, ClockFile::of(folder).path())
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(err)
            // In a separate process group, so that Ctrl-C does not stop it.
            .process_group(0)
            .spawn()
            .map_err(io(format!("start {name}")))?;
        let pid = child.id();
        let started = stat(pid).map(|stat| stat.started).unwrap_or_default();
        let process = Self {
            name: name.to_owned(),
            pid,
            started,
            boot: boot(),
        };
        Ok((process, child))
    }

    /// Finds running processes of a sandbox, recorded or not: programs of the sandbox that use its files, and pods.
    pub(super) fn find(programs: &Path, folder: &Path) -> Vec<Self> {
        let marker = format!("{}/", folder.display());
        let mut found: Vec<Self> = process_ids()
            .filter_map(|pid| {
                let args = arguments(pid)?;
                let program = Path::new(args.first()?);
                let name = program.file_name()?.to_str()?;
                let ours = program.starts_with(programs) && name != "kubectl";
                let its = args.iter().skip(1).any(|arg| arg.contains(&marker));
                (ours && its).then(|| Self::now(name, pid)).flatten()
            })
            .collect();
        found.extend(
            Self::of_pods(folder)
                .into_iter()
                .map(|(process, _)| process),
        );
        found
    }

    /// Finds the processes of pods, each with its pod, by their root folder.
    pub(super) fn of_pods(folder: &Path) -> Vec<(Self, String)> {
        let Ok(running) = folder.join("pods/running").canonicalize() else {
            return Vec::new();
        };
        let of_pod = |pid: u32| {
            let root = std::fs::read_link(format!("/proc/{pid}/root")).ok()?;
            let inside = root.strip_prefix(&running).ok()?;
            // Namespace, name and UID, with underscores in between.
            let folder = inside.iter().next()?.to_str()?;
            let (pod, _) = folder.rsplit_once('_')?;
            let args = arguments(pid)?;
            let name = Path::new(args.first()?).file_name()?.to_str()?.to_owned();
            Some((Self::now(&name, pid)?, pod.replacen('_', "/", 1)))
        };
        process_ids().filter_map(of_pod).collect()
    }

    /// Finds the processes of virtual machines, each with its machine.
    pub(super) fn of_machines(programs: &Path, folder: &Path) -> Vec<(Self, String)> {
        let found = Self::find(programs, folder).into_iter();
        let machines = found.filter(|it| it.name.starts_with("qemu-system-"));
        let with_name = |it: Self| {
            let args = arguments(it.pid)?;
            let mut rest = args.iter().skip_while(|it| *it != "-name").skip(1);
            let machine = rest.next()?.clone();
            Some((it, machine))
        };
        machines.filter_map(with_name).collect()
    }

    fn now(name: &str, pid: u32) -> Option<Self> {
        Some(Self {
            name: name.to_owned(),
            pid,
            started: stat(pid)?.started,
            boot: boot(),
        })
    }

    pub(super) fn alive(&self) -> bool {
        self.boot == boot()
            && stat(self.pid).is_some_and(|stat| stat.started == self.started && stat.state != 'Z')
    }

    /// Resident memory in MiB.
    pub(super) fn memory(&self) -> Option<u64> {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.pid)).ok()?;
        let line = text.lines().find(|line| line.starts_with("VmRSS:"))?;
        let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
        Some(kib / 1024)
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid
            && self.alive()
        {
            // It may have exited in between.
            let _ = kill_process(pid, signal);
        }
    }
}

pub(super) fn log(folder: &Path, name: &str) -> PathBuf {
    folder.join("logs").join(format!("{name}.log"))
}

/// Stops processes with SIGTERM, and SIGKILL after a while.
pub(super) fn stop(processes: &[Process]) -> Result<(), SandboxError> {
    // Only etcd needs time to shut down; the others would wait for each other's connections.
    let (stores, others): (Vec<_>, Vec<_>) =
        processes.iter().partition(|process| process.name == "etcd");
    for process in processes {
        process.signal(Signal::TERM);
    }
    for (group, patience) in [(others, 1), (stores, 5)] {
        if !ended(&group, Duration::from_secs(patience)) {
            for process in &group {
                process.signal(Signal::KILL);
            }
            ended(&group, KILLED);
        }
    }
    match processes.iter().find(|process| process.alive()) {
        Some(process) => Err(SandboxError::Immortal(process.pid)),
        None => Ok(()),
    }
}

fn ended(processes: &[&Process], patience: Duration) -> bool {
    let end = Instant::now() + patience;
    loop {
        if !processes.iter().any(|process| process.alive()) {
            return true;
        }
        if Instant::now() >= end {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Fails if one of the children has exited.
pub(super) fn watch(children: &mut [(Process, Child)], folder: &Path) -> Result<(), SandboxError> {
    for (process, child) in children {
        if child.try_wait().is_ok_and(|status| status.is_some()) {
            let log = log(folder, &process.name);
            let tail = private_files::last_lines(&log, 8);
            let name = process.name.clone();
            return Err(SandboxError::Ended { name, log, tail });
        }
    }
    Ok(())
}

/// IDs of all processes.
pub(super) fn process_ids() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Returns whether a program of a folder is running, of any sandbox.
pub(super) fn runs_from(folder: &Path) -> bool {
    process_ids().filter_map(arguments).any(|it| {
        it.first()
            .is_some_and(|it| Path::new(it).starts_with(folder))
    })
}

fn arguments(pid: u32) -> Option<Vec<String>> {
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    Some(text.split('\0').map(str::to_owned).collect())
}

struct Stat {
    state: char,
    started: u64,
}

fn stat(pid: u32) -> Option<Stat> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the program's name in parentheses, which may hold spaces.
    let rest = text.rsplit_once(')')?.1;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    Some(Stat {
        state: fields.first()?.chars().next()?,
        started: fields.get(19)?.parse().ok()?,
    })
}

fn boot() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map(|id| id.trim().to_owned())
        .unwrap_or_default()
}
