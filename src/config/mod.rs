//! Environment variables and directories. No other module reads the environment.

pub(crate) mod kubeconfig;
mod process_identity;
pub(crate) mod secure_file;
mod shells;
pub(crate) mod temporary_directory;
mod yaml_comments;

use directories::{BaseDirs, ProjectDirs};
use secrecy::SecretString;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

pub(crate) use process_identity::ProcessIdentity;

/// Keeps the keys in the memory of this process out of core dumps, and out of reach of other processes of the same user.
/// Programs that it starts are not affected.
pub(crate) fn protect_memory() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        // Without it, kvshoot works as well.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}

/// Environment variables set by CI systems.
const CI: [&str; 3] = ["CI", "GITHUB_ACTIONS", "GITLAB_CI"];

/// Access to the environment. Each value is read on demand, since most commands need few of them.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Config {}

impl Config {
    pub(crate) fn ci(&self) -> bool {
        CI.iter().any(|it| is_on(it))
    }

    /// Runs in GitHub Actions.
    pub(crate) fn github(&self) -> bool {
        is_on("GITHUB_ACTIONS")
    }

    /// Runs in GitLab CI.
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

    /// False if the locale is set to an encoding other than UTF-8, such as `LC_ALL=C`.
    ///
    /// An unset locale counts as UTF-8: containers and CI jobs rarely set one, and their logs are UTF-8.
    pub(crate) fn unicode(&self) -> bool {
        ["LC_ALL", "LC_CTYPE", "LANG"]
            .into_iter()
            .find_map(text)
            .is_none_or(|locale| is_utf8(&locale))
    }

    /// `COLUMNS`, a positive number.
    pub(crate) fn columns(&self) -> Option<usize> {
        text("COLUMNS")?.parse().ok().filter(|it| *it > 0)
    }

    /// Kubeconfig files, in order of precedence: those of `KUBECONFIG`, else `~/.kube/config`.
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

    /// The kubeconfig file that kubectl would write: the first that exists, else the last.
    pub(crate) fn kubeconfig_to_write(&self) -> Option<PathBuf> {
        let files = self.kubeconfigs();
        files
            .iter()
            .find(|file| file.exists())
            .or(files.last())
            .cloned()
    }

    /// The file with the clock of the sandbox that this process runs in.
    pub(crate) fn sandbox_clock(&self) -> Option<PathBuf> {
        text(crate::clock::VARIABLE).map(PathBuf::from)
    }

    /// Runs in a pod with access to its own cluster.
    pub(crate) fn in_cluster(&self) -> bool {
        text("KUBERNETES_SERVICE_HOST").is_some()
    }

    pub(crate) fn home(&self) -> Option<PathBuf> {
        BaseDirs::new().map(|it| it.home_dir().to_owned())
    }

    /// User configuration: `$XDG_CONFIG_HOME/kvshoot`.
    pub(crate) fn config_dir(&self) -> Option<PathBuf> {
        project().map(|it| it.config_dir().to_owned())
    }

    /// Cache: `$XDG_CACHE_HOME/kvshoot`.
    pub(crate) fn cache_dir(&self) -> Option<PathBuf> {
        project().map(|it| it.cache_dir().to_owned())
    }

    /// State that survives a reboot, such as sandboxes: `$XDG_STATE_HOME/kvshoot`.
    pub(crate) fn state_dir(&self) -> Option<PathBuf> {
        let project = project()?;
        Some(
            project
                .state_dir()
                .unwrap_or(project.data_local_dir())
                .to_owned(),
        )
    }

    /// CloudProfile files of the configuration directory, sorted by name.
    pub(crate) fn profiles(&self) -> io::Result<Vec<PathBuf>> {
        let Some(directory) = self.config_dir() else {
            return Ok(Vec::new());
        };
        yaml_files(&directory.join("profiles"))
    }

    /// Directories of `PATH`.
    pub(crate) fn path(&self) -> Vec<PathBuf> {
        env::var_os("PATH").map_or_else(Vec::new, |it| env::split_paths(&it).collect())
    }

    /// `PATH` with a directory appended, or None if a directory of `PATH` contains the program.
    pub(crate) fn path_with(&self, directory: &Path, program: &str) -> Option<OsString> {
        let mut path = self.searched_path();
        if path.iter().any(|it| is_executable(&it.join(program))) {
            return None;
        }
        path.push(directory.to_owned());
        env::join_paths(path).ok()
    }

    /// `PATH` after a directory.
    pub(crate) fn path_beginning_with(&self, directory: &Path) -> Option<OsString> {
        let first = [directory.to_owned()].into_iter();
        env::join_paths(first.chain(self.searched_path())).ok()
    }

    /// The directories that execvp searches.
    fn searched_path(&self) -> Vec<PathBuf> {
        match env::var_os("PATH") {
            Some(_) => self.path(),
            None => env::split_paths("/bin:/usr/bin").collect(),
        }
    }

    /// Path of the running executable.
    pub(crate) fn executable(&self) -> Option<PathBuf> {
        env::current_exe().ok()
    }

    /// URL of a copy of the sandbox's release archives.
    pub(crate) fn sandbox_mirror(&self) -> Option<String> {
        text("KVSHOOT_SANDBOX_MIRROR")
    }

    /// URL of an S3 server other than AWS.
    pub(crate) fn s3_endpoint(&self) -> Option<String> {
        text("AWS_ENDPOINT_URL_S3").or_else(|| text("AWS_ENDPOINT_URL"))
    }

    pub(crate) fn aws_region(&self) -> Option<String> {
        text("AWS_REGION").or_else(|| text("AWS_DEFAULT_REGION"))
    }

    pub(crate) fn aws_access_key_id(&self) -> Option<String> {
        text("AWS_ACCESS_KEY_ID")
    }

    pub(crate) fn aws_secret_access_key(&self) -> Option<SecretString> {
        text("AWS_SECRET_ACCESS_KEY").map(SecretString::from)
    }

    pub(crate) fn aws_session_token(&self) -> Option<SecretString> {
        text("AWS_SESSION_TOKEN").map(SecretString::from)
    }

    /// PEM file with certificate authorities of an S3 server.
    pub(crate) fn aws_ca_bundle(&self) -> Option<PathBuf> {
        text("AWS_CA_BUNDLE").map(PathBuf::from)
    }

    pub(crate) fn current_dir(&self) -> Option<PathBuf> {
        env::current_dir().ok()
    }

    /// The command line, quoted for a shell.
    pub(crate) fn command_line(&self) -> String {
        let arguments = env::args_os().skip(1);
        let arguments = arguments.map(|it| quoted(it.to_string_lossy().into_owned()));
        let words: Vec<_> = [self.program()].into_iter().chain(arguments).collect();
        words.join(" ")
    }

    /// Name under which the program was called; `kubectl kvshoot` for the kubectl plugin.
    pub(crate) fn program(&self) -> String {
        let word = env::args_os().next().unwrap_or_default();
        match Path::new(&word).file_name() {
            Some(it) if it == "kubectl-kvshoot" => "kubectl kvshoot".to_owned(),
            Some(it) => it.to_string_lossy().into_owned(),
            None => word.to_string_lossy().into_owned(),
        }
    }

    /// `user@host`, the holder of a lock.
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

    /// A unique ID for this invocation.
    pub(crate) fn run_id(&self) -> String {
        let now = crate::clock::now();
        let process = std::process::id();
        format!("{}-{process}", now.strftime("%Y%m%dt%H%M%S%3f"))
    }
}

fn project() -> Option<ProjectDirs> {
    ProjectDirs::from("", "", "kvshoot")
}

/// Value of an environment variable; an empty one counts as unset.
fn text(name: &str) -> Option<String> {
    env::var(name).ok().filter(|it| !it.is_empty())
}

fn is_executable(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

fn is_utf8(locale: &str) -> bool {
    let encoding = locale.split('@').next().unwrap_or_default();
    let encoding = encoding.to_ascii_lowercase().replace('-', "");
    encoding.ends_with("utf8")
}

fn is_on(name: &str) -> bool {
    text(name).is_some_and(|it| !matches!(it.to_lowercase().as_str(), "0" | "false" | "no" | "off"))
}

/// YAML files of a directory; none if it does not exist.
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

/// Quotes a word for a shell, if it needs quotes.
pub(crate) fn quoted(word: String) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "-_=./:,@%+".contains(it);
    if !word.is_empty() && word.chars().all(is_plain) {
        word
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::is_utf8;

    #[test]
    fn only_utf_8_locales_are_unicode() {
        for locale in ["en_US.UTF-8", "C.utf8", "de_DE.UTF-8@euro"] {
            assert!(is_utf8(locale), "{locale}");
        }
        for locale in ["C", "POSIX", "en_US.ISO-8859-1", "de_DE@euro"] {
            assert!(!is_utf8(locale), "{locale}");
        }
    }
}
