//! State of a sandbox between commands.

use super::error::{SandboxError, io};
use super::private_files;
use super::process::Process;
use serde::{Deserialize, Serialize};
use std::net::TcpListener;
use std::path::{Path, PathBuf};

const FILE: &str = "state.json";
/// Ports below the range of outgoing connections.
const FIRST_PORT: u16 = 16440;
const LAST_PORT: u16 = 30000;

/// Folders and programs that sandboxes use.
#[derive(Debug, Clone)]
pub(crate) struct Dirs {
    /// Programs, which take long to build.
    pub(crate) cache: PathBuf,
    /// Data, keys and logs of each sandbox.
    pub(crate) state: PathBuf,
    /// Folders that may contain the programs, in order of preference.
    pub(crate) path: Vec<PathBuf>,
    /// Path of this program, for pods that run it.
    pub(crate) own: Option<PathBuf>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct State {
    pub(super) ports: Ports,
    /// Its loopback addresses; `None` in data of early versions.
    pub(super) row: Option<Row>,
    pub(super) cdi: bool,
    /// Runs virtual machines; otherwise all machines are simulated.
    #[serde(default)]
    pub(super) guests: Option<Guests>,
    /// Digest of the programs that created the data; `None` until that is complete.
    pub(super) made_with: Option<String>,
    pub(super) processes: Vec<Process>,
}

impl State {
    pub(super) fn load(folder: &Path) -> Result<Option<Self>, SandboxError> {
        let path = folder.join(FILE);
        match std::fs::read_to_string(&path) {
            Ok(text) => serde_json::from_str(&text)
                .map(Some)
                .map_err(|source| SandboxError::State { path, source }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(io(format!("read {}", path.display()))(error)),
        }
    }

    /// Address of the API server.
    pub(super) fn server(&self) -> String {
        format!("https://127.0.0.1:{}", self.ports.api())
    }

    pub(super) fn save(&self, folder: &Path) -> Result<(), SandboxError> {
        let path = folder.join(FILE);
        let text = serde_json::to_string_pretty(self).map_err(|source| SandboxError::State {
            path: path.clone(),
            source,
        })?;
        private_files::write(&path, &text)
    }
}

/// How a sandbox runs virtual machines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Guests {
    pub(crate) files: GuestFiles,
    /// The largest number of virtual machines; further machines are simulated.
    pub(crate) count: u16,
    /// Uses KVM; otherwise the processor is emulated.
    pub(crate) kvm: bool,
}

/// The folder with the installed files for virtual machines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct GuestFiles {
    folder: PathBuf,
}

impl GuestFiles {
    pub(super) fn at(folder: PathBuf) -> Self {
        Self { folder }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Folder with the program guest-network.
    pub(super) fn bin(&self) -> PathBuf {
        self.folder.join("bin")
    }

    /// Folder with the disk, and links to the programs of this computer that run machines.
    pub(super) fn disk(&self) -> PathBuf {
        self.folder.join("disk")
    }
}

/// Consecutive ports of one sandbox on 127.0.0.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Ports {
    first: u16,
}

impl Ports {
    const COUNT: u16 = 10;

    pub(super) fn api(self) -> u16 {
        self.first
    }
    pub(super) fn controller_manager(self) -> u16 {
        self.first + 3
    }
    pub(super) fn scheduler(self) -> u16 {
        self.first + 4
    }
    pub(super) fn virt_api(self) -> u16 {
        self.first + 5
    }
    pub(super) fn virt_controller(self) -> u16 {
        self.first + 6
    }
    pub(super) fn cdi_api(self) -> u16 {
        self.first + 7
    }

    pub(super) fn free(self) -> bool {
        (self.first..self.first + Self::COUNT)
            .all(|port| TcpListener::bind(("127.0.0.1", port)).is_ok())
    }

    /// Chooses ports that are free now and not used by another sandbox.
    pub(super) fn choose(sandboxes: &Path) -> Result<Self, SandboxError> {
        let taken = remembered(sandboxes);
        (FIRST_PORT..LAST_PORT)
            .step_by(Self::COUNT.into())
            .map(|first| Self { first })
            .find(|ports| !taken.contains(ports) && ports.free())
            .ok_or_else(|| io("find free ports")(std::io::ErrorKind::AddrInUse.into()))
    }
}

/// Loopback addresses of a sandbox besides 127.0.0.1: a /16 for Services, one for load balancers, and one for pods and
/// nodes. They are part of its data, because Services keep their addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Row {
    number: u8,
}

impl Row {
    const COUNT: u8 = 32;

    /// Chooses a row that no other sandbox uses, preferably the one that matches the ports.
    pub(super) fn choose(sandboxes: &Path, ports: Ports) -> Self {
        let taken: Vec<Self> = states(sandboxes)
            .iter()
            .filter_map(|state| state.row)
            .collect();
        let place = (ports.first - FIRST_PORT) / Ports::COUNT % u16::from(Self::COUNT);
        let own = u8::try_from(place).unwrap_or_default();
        (0..Self::COUNT)
            .map(|step| Self {
                number: (own + step) % Self::COUNT,
            })
            .find(|row| !taken.contains(row))
            .unwrap_or(Self { number: own })
    }

    pub(super) fn number(self) -> u8 {
        self.number
    }

    /// CIDR of Services.
    pub(super) fn services(self) -> String {
        format!("127.{}.0.0/16", 64 + self.number)
    }

    /// Address of the Service `kubernetes`.
    pub(super) fn api(self) -> String {
        format!("127.{}.0.1", 64 + self.number)
    }
}

fn remembered(sandboxes: &Path) -> Vec<Ports> {
    states(sandboxes).iter().map(|state| state.ports).collect()
}

pub(super) fn states(sandboxes: &Path) -> Vec<State> {
    let states = with_folders(sandboxes).into_iter();
    states.map(|(_, state)| state).collect()
}

/// The sandbox whose API server has this URL, with its folder.
pub(super) fn at(server: &str, sandboxes: &Path) -> Option<(PathBuf, State)> {
    let mut states = with_folders(sandboxes).into_iter();
    states.find(|(_, state)| state.server() == server)
}

fn with_folders(sandboxes: &Path) -> Vec<(PathBuf, State)> {
    let Ok(entries) = std::fs::read_dir(sandboxes) else {
        return Vec::new();
    };
    let folders = entries.flatten().map(|entry| entry.path());
    // Unreadable states are skipped, since ports are also checked to be free.
    let states = folders.filter_map(|folder| {
        let state = State::load(&folder).ok().flatten()?;
        Some((folder, state))
    });
    states.collect()
}
