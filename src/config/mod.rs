//! Environment and directories; no other room reads them.

mod process_identity;
pub(crate) mod kubeconfig;
pub(crate) mod secure_file;

use directories::{BaseDirs, ProjectDirs};
use std::path::{Path, PathBuf};
use std::{env, fs, io};

pub(crate) use process_identity::ProcessIdentity;

/// Variables that say that no person is watching.
const CI: [&str; 3] = ["CI", "GITHUB_ACTIONS", "GITLAB_CI"];

/// What surrounds the program. Everything is read where it is asked for, since most commands ask for little.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Config {}

impl Config {
    pub(crate) fn ci(&self) -> bool {
        CI.iter().any(|it| is_on(it))
    }

    /// Whether GitHub Actions shows what is printed.
    pub(crate) fn github(&self) -> bool {
        is_on("GITHUB_ACTIONS")
    }

    /// Whether GitLab CI shows what is printed.
    pub(crate) fn gitlab(&self) -> bool {
        is_on("GITLAB_CI")
    }

    pub(crate) fn no_color(&self) -> bool {
        text("NO_COLOR").is_some()
    }

    pub(crate) fn force_color(&self) -> bool {
        is_on("CLICOLOR_FORCE")
    }

    pub(crate) fn dumb_terminal(&self) -> bool {
        text("TERM").is_some_and(|it| it == "dumb")
    }

    pub(crate) fn columns(&self) -> Option<usize> {
        text("COLUMNS")?.parse().ok().filter(|it| *it > 0)
    }

    /// The kubeconfig files, the first one strongest: `KUBECONFIG`, else `~/.kube/config`.
    pub(crate) fn kubeconfigs(&self) -> Vec<PathBuf> {
        match env::var_os("KUBECONFIG").filter(|it| !it.is_empty()) {
            Some(list) => env::split_paths(&list)
                .filter(|it| !it.as_os_str().is_empty())
                .collect(),
            None => self
                .home()
                .map(|home| home.join(".kube/config"))
                .into_iter()
                .collect(),
        }
    }

    /// The file that kubectl would write to: the first that is there, else the last.
    pub(crate) fn kubeconfig_to_write(&self) -> Option<PathBuf> {
        let files = self.kubeconfigs();
        let there = files.iter().find(|it| it.exists());
        there.or(files.last()).cloned()
    }

    /// Whether this runs in a pod that can reach its own cluster.
    pub(crate) fn in_cluster(&self) -> bool {
        text("KUBERNETES_SERVICE_HOST").is_some()
    }

    pub(crate) fn home(&self) -> Option<PathBuf> {
        BaseDirs::new().map(|it| it.home_dir().to_owned())
    }

    /// What a person writes: `$XDG_CONFIG_HOME/kvshoot`.
    pub(crate) fn config_dir(&self) -> Option<PathBuf> {
        project().map(|it| it.config_dir().to_owned())
    }

    /// What may be lost at any time: `$XDG_CACHE_HOME/kvshoot`.
    pub(crate) fn cache_dir(&self) -> Option<PathBuf> {
        project().map(|it| it.cache_dir().to_owned())
    }

    /// What has to outlive a reboot, such as sandboxes: `$XDG_STATE_HOME/kvshoot`.
    pub(crate) fn state_dir(&self) -> Option<PathBuf> {
        let project = project()?;
        Some(
            project
                .state_dir()
                .unwrap_or(project.data_local_dir())
                .to_owned(),
        )
    }

    /// The CloudProfiles of the configuration directory, sorted by name.
    pub(crate) fn profiles(&self) -> io::Result<Vec<PathBuf>> {
        let Some(directory) = self.config_dir() else {
            return Ok(Vec::new());
        };
        yaml_files(&directory.join("profiles"))
    }

    /// Where to look for programs.
    pub(crate) fn path(&self) -> Vec<PathBuf> {
        env::var_os("PATH").map_or_else(Vec::new, |it| env::split_paths(&it).collect())
    }

    /// The file that this program is.
    pub(crate) fn executable(&self) -> Option<PathBuf> {
        env::current_exe().ok()
    }

    pub(crate) fn current_dir(&self) -> Option<PathBuf> {
        env::current_dir().ok()
    }

    /// What was typed, as a shell would take it again.
    pub(crate) fn command_line(&self) -> String {
        let words = env::args().skip(1).map(quoted);
        let words: Vec<_> = [self.program()].into_iter().chain(words).collect();
        words.join(" ")
    }

    /// What this program was called.
    pub(crate) fn program(&self) -> String {
        let word = env::args().next().unwrap_or_default();
        match Path::new(&word).file_name() {
            Some(it) if it == "kubectl-kvshoot" => "kubectl kvshoot".to_owned(),
            Some(it) => it.to_string_lossy().into_owned(),
            None => word,
        }
    }

    /// Who runs this, as the holder of a lock is told.
    pub(crate) fn user_at_host(&self) -> String {
        format!("{}@{}", self.user(), process_identity::host())
    }

    pub(crate) fn user(&self) -> String {
        let user = ["USER", "LOGNAME", "USERNAME"].into_iter().find_map(text);
        user.unwrap_or_else(|| "unknown".to_owned())
    }

    pub(crate) fn identity(&self) -> ProcessIdentity {
        ProcessIdentity::own()
    }

    /// A name for this invocation, unlike that of any other.
    pub(crate) fn run_id(&self) -> String {
        let now = jiff::Timestamp::now();
        let process = std::process::id();
        format!("{}-{process}", now.strftime("%Y%m%dt%H%M%S%3f"))
    }
}

fn project() -> Option<ProjectDirs> {
    ProjectDirs::from("", "", "kvshoot")
}

/// An empty variable is as good as none.
fn text(name: &str) -> Option<String> {
    env::var(name).ok().filter(|it| !it.is_empty())
}

fn is_on(name: &str) -> bool {
    text(name).is_some_and(|it| !matches!(it.to_lowercase().as_str(), "0" | "false" | "no" | "off"))
}

/// A directory that is not there has none.
fn yaml_files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|it| it == "yaml" || it == "yml")
        {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// As a shell takes it for one word.
pub(crate) fn quoted(word: String) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "-_=./:,@%+".contains(it);
    if !word.is_empty() && word.chars().all(is_plain) {
        word
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
