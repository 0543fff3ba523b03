//! Settings from flags and the environment.

use super::format::style::Color;

/// Decides what is printed, and how.
#[derive(Debug, Clone)]
pub(crate) struct UiSettings {
    pub(crate) color: Color,
    pub(crate) progress: ProgressMode,
    pub(crate) quiet: bool,
    /// Never prompt.
    pub(crate) no_input: bool,
    /// Runs in a CI job: no live view, no prompts.
    pub(crate) ci: bool,
    /// The CI system that shows stderr, if known.
    pub(crate) ci_system: Option<CiSystem>,
    pub(crate) no_color: bool,
    pub(crate) force_color: bool,
    /// `TERM=dumb`.
    pub(crate) dumb: bool,
    /// The locale is UTF-8; otherwise drawing characters are replaced by ASCII.
    pub(crate) unicode: bool,
    /// `COLUMNS`, used where no terminal reports its width.
    pub(crate) columns: Option<usize>,
    /// Set for commands that change things, so that their event stream always has an end.
    pub(crate) run: Option<RunLabel>,
}

impl Default for UiSettings {
    fn default() -> Self {
        Self {
            color: Color::default(),
            progress: ProgressMode::default(),
            quiet: false,
            no_input: false,
            ci: false,
            ci_system: None,
            no_color: false,
            force_color: false,
            dumb: false,
            unicode: true,
            columns: None,
            run: None,
        }
    }
}

/// Command and ID of a run, part of each of its JSON events.
#[derive(Debug, Clone)]
pub(crate) struct RunLabel {
    /// `apply` or `delete`.
    pub(crate) verb: &'static str,
    pub(crate) id: String,
}

/// A CI system whose log format supports groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CiSystem {
    GitHub,
    GitLab,
}

/// Progress output
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ProgressMode {
    /// tty on an interactive terminal, otherwise plain
    #[default]
    Auto,
    /// Live view
    Tty,
    /// One line per change
    Plain,
    /// One JSON event per line
    Json,
    /// Errors only
    None,
}
