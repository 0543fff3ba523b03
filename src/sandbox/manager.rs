//! Starts, stops and inspects sandboxes.
//!
//! `down` keeps the data for the next `up`. Data of an `up` that never completed is deleted.

use super::error::{SandboxError, io};
use super::install::{Installation, ProgramSources, install};
use super::kubectl::Kubectl;
use super::private_files::{self, Lock};
use super::process::{self, Process};
use super::progress::Step;
use super::provider;
use super::requirements;
use super::state::{self, Dirs, Guests, Ports, Row, State};
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Debug, Clone)]
pub(crate) struct Sandbox {
    name: String,
    dirs: Dirs,
    folder: PathBuf,
}

/// State of a sandbox.
#[derive(Debug)]
pub(crate) struct Status {
    /// All processes are running and the API server is ready.
    pub(crate) healthy: bool,
    pub(crate) cdi: bool,
    pub(crate) server: String,
    pub(crate) folder: PathBuf,
    pub(crate) processes: Vec<ProcessStatus>,
}

#[derive(Debug)]
pub(crate) struct ProcessStatus {
    pub(crate) name: String,
    pub(crate) pid: u32,
    pub(crate) alive: bool,
    /// Resident, in MiB.
    pub(crate) memory: Option<u64>,
    pub(crate) log: PathBuf,
}

/// Result of `up`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StartOutcome {
    AlreadyRunning,
    Started,
}

impl Sandbox {
    pub(crate) fn new(name: &str, dirs: &Dirs) -> Result<Self, SandboxError> {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let edges = name.starts_with('-') || name.ends_with('-');
        if name.is_empty() || name.len() > 30 || edges || !name.chars().all(plain) {
            return Err(SandboxError::Name(name.to_owned()));
        }
        Ok(Self {
            name: name.to_owned(),
            dirs: dirs.clone(),
            folder: dirs.state.join("sandboxes").join(name),
        })
    }

    /// All sandboxes with data, sorted by name.
    pub(crate) fn all(dirs: &Dirs) -> Result<Vec<Self>, SandboxError> {
        let folder = dirs.state.join("sandboxes");
        let entries = match std::fs::read_dir(&folder) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(io(format!("read {}", folder.display())))?,
        };
        let names = entries.flatten().map(|it| it.file_name());
        let mut names: Vec<String> = names.filter_map(|it| it.into_string().ok()).collect();
        names.sort();
        // Other files are not sandboxes.
        let sandboxes = names.iter().filter_map(|name| Self::new(name, dirs).ok());
        Ok(sandboxes.collect())
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Directory of its data.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn context(&self) -> String {
        match self.name.as_str() {
            "default" => "kvshoot-sandbox".into(),
            name => format!("kvshoot-sandbox-{name}"),
        }
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.folder.join("admin.kubeconfig")
    }

    /// Starts the sandbox, unless it is running and healthy.
    pub(crate) fn up(
        &self,
        installation: &Installation,
        cdi: bool,
        guests: Option<Guests>,
        progress: &mut dyn FnMut(Step),
    ) -> Result<StartOutcome, SandboxError> {
        requirements::check_user_namespaces()?;
        private_files::make_dir(&self.folder)?;
        let _lock = self.lock(progress)?;
        let before = State::load(&self.folder)?;
        if let Some(state) = &before {
            if state.made_with.is_some() && state.cdi != cdi {
                let name = self.name.clone();
                let with = if state.cdi { "with" } else { "without" };
                return Err(SandboxError::OtherMode { name, with });
            }
            if state.made_with.is_some() && state.row.is_none() {
                return Err(SandboxError::Older(self.name.clone()));
            }
            if self.healthy(state) {
                // The files may be those of an older kvshoot.
                let mode = |it: &Guests| (it.count, it.kvm);
                return match state.guests.as_ref().map(mode) == guests.as_ref().map(mode) {
                    true => Ok(StartOutcome::AlreadyRunning),
                    false => Err(SandboxError::OtherGuests(self.name.clone())),
                };
            }
        }
        self.stop(before.as_ref())?;
        let made_with = before.as_ref().and_then(|state| state.made_with.clone());
        if made_with.is_none() {
            self.wipe()?;
        }
        let (mut state, row) = {
            // Without the lock, two sandboxes that start at the same time could choose the same ports.
            let path = self.dirs.state.join("ports.lock");
            let _ports = Lock::take(path, "choosing ports", Duration::from_secs(30), |_| {})?;
            let ports = self.ports(before.as_ref())?;
            let kept = before.as_ref().and_then(|state| state.row);
            let row =
                kept.unwrap_or_else(|| Row::choose(&self.dirs.state.join("sandboxes"), ports));
            let state = State {
                ports,
                row: Some(row),
                cdi,
                guests,
                made_with,
                processes: Vec::new(),
            };
            state.save(&self.folder)?;
            (state, row)
        };
        let result = provider::start(
            &self.folder,
            &self.context(),
            self.dirs.own.as_deref(),
            row,
            &mut state,
            installation,
            progress,
        );
        if result.is_err() {
            self.stop(Some(&state))?;
            state.processes.clear();
            state.save(&self.folder)?;
        }
        result.map(|()| StartOutcome::Started)
    }

    /// Stops all processes and keeps the data. Returns false if none were running.
    pub(crate) fn down(&self, progress: &mut dyn FnMut(Step)) -> Result<bool, SandboxError> {
        if !self.folder.exists() {
            return Ok(false);
        }
        let _lock = self.lock(progress)?;
        let state = State::load(&self.folder)?;
        let any = self.stop(state.as_ref())?;
        private_files::remove_dir(&self.folder.join("tmp"))?;
        if let Some(mut state) = state {
            state.processes.clear();
            state.save(&self.folder)?;
        }
        Ok(any)
    }

    /// Stops all processes and deletes the data.
    pub(crate) fn reset(&self, progress: &mut dyn FnMut(Step)) -> Result<(), SandboxError> {
        if !self.folder.exists() {
            return Ok(());
        }
        let _lock = self.lock(progress)?;
        // Unreadable state is deleted, too.
        let state = State::load(&self.folder).unwrap_or_default();
        self.stop(state.as_ref())?;
        private_files::remove_dir(&self.folder)
    }

    /// Returns whether its data was created with CDI's controllers; `None` without data.
    pub(crate) fn cdi(&self) -> Result<Option<bool>, SandboxError> {
        let state = State::load(&self.folder)?.filter(|state| state.made_with.is_some());
        Ok(state.map(|state| state.cdi))
    }

    /// Returns how it runs virtual machines; `None` if it runs none.
    pub(crate) fn guests(&self) -> Result<Option<Guests>, SandboxError> {
        Ok(State::load(&self.folder)?.and_then(|state| state.guests))
    }

    /// Folder of the programs of all sandboxes.
    fn programs(&self) -> PathBuf {
        self.dirs.cache.join("sandbox")
    }

    /// Stops recorded processes and others found running. Returns false if there were none.
    fn stop(&self, state: Option<&State>) -> Result<bool, SandboxError> {
        let mut processes = state.map_or(Vec::new(), |state| state.processes.clone());
        for process in Process::find(&self.programs(), &self.folder) {
            if !processes.contains(&process) {
                processes.push(process);
            }
        }
        let any = processes.iter().any(Process::alive);
        process::stop(&processes)?;
        Ok(any)
    }

    /// Returns `None` if the sandbox does not exist.
    pub(crate) fn status(&self) -> Result<Option<Status>, SandboxError> {
        let Some(state) = State::load(&self.folder)? else {
            return Ok(None);
        };
        let processes = state.processes.iter().map(|process| ProcessStatus {
            name: process.name.clone(),
            pid: process.pid,
            alive: process.alive(),
            memory: process.memory().filter(|_| process.alive()),
            log: process::log(&self.folder, &process.name),
        });
        let child = |(process, parent): (Process, String), logs| ProcessStatus {
            name: format!("{} of {parent}", process.name),
            pid: process.pid,
            alive: process.alive(),
            memory: process.memory(),
            log: self.folder.join(logs),
        };
        let pods = Process::of_pods(&self.folder).into_iter();
        let pods = pods.map(|it| child(it, "logs/pods"));
        let machines = Process::of_machines(&self.programs(), &self.folder).into_iter();
        let machines = machines.map(|it| child(it, "logs/guests"));
        Ok(Some(Status {
            healthy: self.healthy(&state),
            cdi: state.cdi,
            server: state.server(),
            folder: self.folder.clone(),
            processes: processes.chain(pods).chain(machines).collect(),
        }))
    }

    /// Returns a client for a running sandbox.
    pub(super) fn kubectl(&self) -> Result<Kubectl, SandboxError> {
        let state = State::load(&self.folder)?.filter(|state| !state.processes.is_empty());
        state
            .and_then(|state| self.kubectl_of(&state))
            .ok_or_else(|| SandboxError::NotRunning(self.name.clone()))
    }

    fn kubectl_of(&self, state: &State) -> Option<Kubectl> {
        Some(Kubectl::new(&programs(state, &self.dirs)?, &self.folder))
    }

    fn healthy(&self, state: &State) -> bool {
        let alive = state.processes.iter().all(Process::alive);
        let kubectl = self.kubectl_of(state);
        !state.processes.is_empty()
            && alive
            && kubectl.is_some_and(|kubectl| kubectl.run(&["get", "--raw", "/readyz"]).is_ok())
    }

    fn ports(&self, before: Option<&State>) -> Result<Ports, SandboxError> {
        match before.map(|state| state.ports) {
            Some(ports) if ports.free() => Ok(ports),
            _ => Ports::choose(&self.dirs.state.join("sandboxes")),
        }
    }

    /// Removes everything except the lock, which is held.
    fn wipe(&self) -> Result<(), SandboxError> {
        for name in ["etcd", "pki", "cdi", "guests", "pods", "logs", "tmp"] {
            private_files::remove_dir(&self.folder.join(name))?;
        }
        Ok(())
    }

    pub(super) fn lock(&self, progress: &mut dyn FnMut(Step)) -> Result<Lock, SandboxError> {
        let name = &self.name;
        let waiting = |pid: Option<u32>| {
            let process = pid.map_or(String::new(), |pid| format!(" (process {pid})"));
            progress(Step::new(format!(
                "Waiting for another kvshoot{process} to finish with sandbox {name}"
            )));
        };
        let what = format!("working on sandbox {name}");
        let patience = Duration::from_secs(120);
        Lock::take(self.folder.join("lock"), &what, patience, waiting)
    }
}

/// Returns the directory of the programs of the sandbox whose API server has this address.
pub(crate) fn programs_at(server: &str, dirs: &Dirs) -> Option<PathBuf> {
    let (_, state) = state::at(server, &dirs.state.join("sandboxes"))?;
    programs(&state, dirs)
}

fn programs(state: &State, dirs: &Dirs) -> Option<PathBuf> {
    let digest = state.made_with.as_ref()?;
    Some(dirs.cache.join("sandbox").join(digest).join("bin"))
}

/// Returns the kubeconfig of a running sandbox. Installs and starts the sandbox if needed.
pub(crate) fn ensure(
    name: &str,
    dirs: &Dirs,
    sources: &ProgramSources,
    progress: &mut dyn FnMut(Step),
) -> Result<PathBuf, SandboxError> {
    let sandbox = Sandbox::new(name, dirs)?;
    let state = State::load(&sandbox.folder)?;
    let cdi = sandbox.cdi()? == Some(true);
    if !state.is_some_and(|state| sandbox.healthy(&state)) {
        let installation = install(dirs, sources, cdi, progress)?;
        sandbox.up(&installation, cdi, sandbox.guests()?, progress)?;
    }
    Ok(sandbox.kubeconfig())
}
