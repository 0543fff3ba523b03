//! A provider cluster on this computer: real Kubernetes and KubeVirt as plain processes, and a simulator for what
//! needs a hypervisor.
//!
//! `down` keeps the data, and the next `up` goes on with it; data that no `up` ever completed is thrown away.

mod build;
mod error;
mod faults;
mod files;
mod identity;
mod install;
mod kubectl;
mod modules;
mod objects;
mod process;
mod programs;
mod provider;
mod state;

pub(crate) use error::SandboxError;
pub(crate) use faults::{Fault, Guest};
pub(crate) use install::{Installation, install};

use files::Lock;
use kubectl::Kubectl;
use state::State;
use std::path::PathBuf;
use std::time::Duration;

/// What a long command is at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) title: String,
    /// So many of so many; told again with each change.
    pub(crate) count: Option<(usize, usize)>,
    /// To be read while what comes after it goes on.
    pub(crate) stays: bool,
}

impl Step {
    fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            count: None,
            stays: false,
        }
    }

    fn note(title: impl Into<String>) -> Self {
        Self {
            stays: true,
            ..Self::new(title)
        }
    }

    fn counted(self, done: usize, total: usize) -> Self {
        Self {
            count: Some((done, total)),
            ..self
        }
    }
}

/// Where sandboxes keep their things.
#[derive(Debug, Clone)]
pub(crate) struct Dirs {
    /// Programs: costly to make again.
    pub(crate) cache: PathBuf,
    /// Data, keys and logs of each sandbox.
    pub(crate) state: PathBuf,
    /// Where programs may stand already, first ones first.
    pub(crate) path: Vec<PathBuf>,
    /// This program, for pods that run it.
    pub(crate) own: Option<PathBuf>,
}

#[derive(Debug, Clone)]
pub(crate) struct Sandbox {
    name: String,
    dirs: Dirs,
    folder: PathBuf,
}

/// What is known of a sandbox.
#[derive(Debug)]
pub(crate) struct Status {
    /// All processes live, and the API server answers.
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

/// How `up` found the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Up {
    Already,
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

    pub(crate) fn context(&self) -> String {
        match self.name.as_str() {
            "default" => "kvshoot-sandbox".into(),
            name => format!("kvshoot-sandbox-{name}"),
        }
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.folder.join("admin.kubeconfig")
    }

    /// Starts the sandbox, unless it runs and is well.
    pub(crate) fn up(
        &self,
        installation: &Installation,
        cdi: bool,
        tell: &mut dyn FnMut(Step),
    ) -> Result<Up, SandboxError> {
        files::make_dir(&self.folder)?;
        let _lock = self.lock(tell)?;
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
                return Ok(Up::Already);
            }
        }
        self.stop(before.as_ref())?;
        let made_with = before.as_ref().and_then(|state| state.made_with.clone());
        if made_with.is_none() {
            self.wipe()?;
        }
        let (mut state, row) = {
            // Two sandboxes that begin at the same time would find the same ports free.
            let path = self.dirs.state.join("ports.lock");
            let _ports = Lock::take(path, "choose ports", Duration::from_secs(30), |_| {})?;
            let ports = self.ports(before.as_ref())?;
            let kept = before.as_ref().and_then(|state| state.row);
            let row = kept
                .unwrap_or_else(|| state::Row::choose(&self.dirs.state.join("sandboxes"), ports));
            let state = State {
                ports,
                row: Some(row),
                cdi,
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
            tell,
        );
        if result.is_err() {
            self.stop(Some(&state))?;
            state.processes.clear();
            state.save(&self.folder)?;
        }
        result.map(|()| Up::Started)
    }

    /// Stops all processes and keeps the data; tells whether there were any.
    pub(crate) fn down(&self, tell: &mut dyn FnMut(Step)) -> Result<bool, SandboxError> {
        if !self.folder.exists() {
            return Ok(false);
        }
        let _lock = self.lock(tell)?;
        let state = State::load(&self.folder)?;
        let any = self.stop(state.as_ref())?;
        files::remove_dir(&self.folder.join("tmp"))?;
        if let Some(mut state) = state {
            state.processes.clear();
            state.save(&self.folder)?;
        }
        Ok(any)
    }

    /// Stops all processes and deletes the data.
    pub(crate) fn reset(&self, tell: &mut dyn FnMut(Step)) -> Result<(), SandboxError> {
        if !self.folder.exists() {
            return Ok(());
        }
        let _lock = self.lock(tell)?;
        // What cannot be read is deleted all the same.
        let state = State::load(&self.folder).unwrap_or_default();
        self.stop(state.as_ref())?;
        files::remove_dir(&self.folder)
    }

    /// Whether it was made with real CDI controllers; nothing while there is no data.
    pub(crate) fn cdi(&self) -> Result<Option<bool>, SandboxError> {
        let state = State::load(&self.folder)?.filter(|state| state.made_with.is_some());
        Ok(state.map(|state| state.cdi))
    }

    /// Ends what is remembered and what was forgotten; tells whether there was anything.
    fn stop(&self, state: Option<&State>) -> Result<bool, SandboxError> {
        let mut processes = state.map_or(Vec::new(), |state| state.processes.clone());
        let programs = self.dirs.cache.join("sandbox");
        for process in process::Process::find(&programs, &self.folder) {
            if !processes.contains(&process) {
                processes.push(process);
            }
        }
        let any = processes.iter().any(process::Process::alive);
        process::stop(&processes)?;
        Ok(any)
    }

    /// Nothing when there is no such sandbox.
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
        let pods = process::Process::of_pods(&self.folder).into_iter();
        let pods = pods.map(|(process, pod)| ProcessStatus {
            name: format!("{} of {pod}", process.name),
            pid: process.pid,
            alive: process.alive(),
            memory: process.memory(),
            log: self.folder.join("logs/pods"),
        });
        Ok(Some(Status {
            healthy: self.healthy(&state),
            cdi: state.cdi,
            server: format!("https://127.0.0.1:{}", state.ports.api()),
            folder: self.folder.clone(),
            processes: processes.chain(pods).collect(),
        }))
    }

    /// The door to a sandbox that runs.
    fn kubectl(&self) -> Result<Kubectl, SandboxError> {
        let state = State::load(&self.folder)?.filter(|state| !state.processes.is_empty());
        state
            .and_then(|state| self.kubectl_of(&state))
            .ok_or_else(|| SandboxError::NotRunning(self.name.clone()))
    }

    fn kubectl_of(&self, state: &State) -> Option<Kubectl> {
        let digest = state.made_with.as_ref()?;
        let bin = self.dirs.cache.join("sandbox").join(digest).join("bin");
        Some(Kubectl::new(&bin, &self.folder))
    }

    fn healthy(&self, state: &State) -> bool {
        let alive = state.processes.iter().all(process::Process::alive);
        let kubectl = self.kubectl_of(state);
        !state.processes.is_empty()
            && alive
            && kubectl.is_some_and(|kubectl| kubectl.run(&["get", "--raw", "/readyz"]).is_ok())
    }

    fn ports(&self, before: Option<&State>) -> Result<state::Ports, SandboxError> {
        match before.map(|state| state.ports) {
            Some(ports) if ports.free() => Ok(ports),
            _ => state::Ports::choose(&self.dirs.state.join("sandboxes")),
        }
    }

    /// Removes all but the lock, which is held.
    fn wipe(&self) -> Result<(), SandboxError> {
        for name in ["etcd", "pki", "cdi", "pods", "logs", "tmp"] {
            files::remove_dir(&self.folder.join(name))?;
        }
        Ok(())
    }

    fn lock(&self, tell: &mut dyn FnMut(Step)) -> Result<Lock, SandboxError> {
        let name = &self.name;
        let waiting = |pid: Option<u32>| {
            let who = pid.map_or(String::new(), |pid| format!(" (process {pid})"));
            tell(Step::new(format!(
                "Waiting for another kvshoot{who} that works on sandbox {name}"
            )));
        };
        let what = format!("work on sandbox {name}");
        let patience = Duration::from_secs(120);
        Lock::take(self.folder.join("lock"), &what, patience, waiting)
    }
}

/// Gives the kubeconfig of a sandbox that runs; installs and starts it when need be.
pub(crate) fn ensure(
    name: &str,
    dirs: &Dirs,
    tell: &mut dyn FnMut(Step),
) -> Result<PathBuf, SandboxError> {
    let sandbox = Sandbox::new(name, dirs)?;
    let state = State::load(&sandbox.folder)?;
    let cdi = sandbox.cdi()? == Some(true);
    if !state.is_some_and(|state| sandbox.healthy(&state)) {
        let installation = install(dirs, None, cdi, tell)?;
        sandbox.up(&installation, cdi, tell)?;
    }
    Ok(sandbox.kubeconfig())
}
