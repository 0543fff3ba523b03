//! The version of kvshoot.

use super::context::Context;
use super::error::{CommandError, Exit};
use crate::ui::Format;
use serde::Serialize;
use std::fmt;

#[derive(Serialize)]
pub(crate) struct BuildVersion {
    version: &'static str,
    /// Set at build time by `KVSHOOT_COMMIT`.
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<&'static str>,
}

pub(crate) const VERSION: BuildVersion = BuildVersion {
    version: env!("CARGO_PKG_VERSION"),
    commit: option_env!("KVSHOOT_COMMIT"),
};

/// Prints the version: as text if no format is given.
pub(crate) fn version(output: Option<Format>, context: &Context) -> Result<Exit, CommandError> {
    match output {
        Some(format) => context.ui.value(format, &VERSION),
        None => context.ui.data(&format!("kvshoot {VERSION}\n")),
    }
    Ok(Exit::Done)
}

impl fmt::Display for BuildVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.version)?;
        match self.commit {
            Some(commit) => write!(f, " ({commit})"),
            None => Ok(()),
        }
    }
}
