//! Options of `kvshoot keep`.

use crate::app::run::session::RunOptions;
use crate::state::duty::Duty;
use std::collections::BTreeSet;

/// The subcommand, for events and the history.
pub(super) const VERB: &str = "keep";
/// A verb phrase for errors of the first requests.
pub(super) const FIND: &str = "find the shoots to keep";

/// Options of `kvshoot keep`.
#[derive(Debug)]
pub(crate) struct KeepOptions {
    /// Display name of the shoot; all shoots of the namespace if None.
    pub(crate) name: Option<String>,
    pub(crate) skipped: BTreeSet<Duty>,
    /// Limits of each run.
    pub(crate) run: RunOptions,
}
