//! Directories in which shells look for completion scripts.

use super::{Config, text};
use directories::BaseDirs;
use std::path::{Path, PathBuf};

/// Installed by the package bash-completion, which loads scripts from [`Config::bash_completions`].
const BASH_COMPLETION: [&str; 3] = [
    "/usr/share/bash-completion/bash_completion",
    "/usr/local/share/bash-completion/bash_completion",
    "/etc/profile.d/bash_completion.sh",
];

impl Config {
    /// The login shell of the user.
    pub(crate) fn shell(&self) -> Option<PathBuf> {
        text("SHELL").map(PathBuf::from)
    }

    /// Directory of user data: `$XDG_DATA_HOME`.
    pub(crate) fn data_home(&self) -> Option<PathBuf> {
        BaseDirs::new().map(|it| it.data_dir().to_owned())
    }

    /// Directory of user configuration: `$XDG_CONFIG_HOME`.
    pub(crate) fn config_home(&self) -> Option<PathBuf> {
        BaseDirs::new().map(|it| it.config_dir().to_owned())
    }

    /// Directory from which bash-completion loads scripts of the user on demand.
    pub(crate) fn bash_completions(&self) -> Option<PathBuf> {
        let own = text("BASH_COMPLETION_USER_DIR").map(PathBuf::from);
        let directory = own.or_else(|| Some(self.data_home()?.join("bash-completion")))?;
        Some(directory.join("completions"))
    }

    /// Returns whether bash-completion is installed.
    pub(crate) fn has_bash_completion(&self) -> bool {
        BASH_COMPLETION.iter().any(|it| Path::new(it).exists())
    }
}
