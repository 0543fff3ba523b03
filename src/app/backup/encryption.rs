//! Recipients and identities from options and files.

use crate::app::error::{CommandError, Exit};
use crate::backup::{Identities, InvalidKey, Recipients};
use secrecy::SecretString;
use std::fs;
use std::path::{Path, PathBuf};

/// Reads recipients of flags and files; None if there are neither.
pub(crate) fn recipients(
    flags: &[String],
    files: &[PathBuf],
) -> Result<Option<Recipients>, CommandError> {
    if flags.is_empty() && files.is_empty() {
        return Ok(None);
    }
    let mut lines = flags.to_vec();
    for file in files {
        let text = read(file)?;
        // An error names the file.
        Recipients::parse(&text).map_err(|error| invalid(&error, Some(file)))?;
        lines.push(text);
    }
    let recipients = Recipients::parse(&lines.join("\n"));
    recipients.map(Some).map_err(|error| invalid(&error, None))
}

/// The recipients of flags and files, one by one.
pub(super) fn lines(flags: &[String], files: &[PathBuf]) -> Result<Vec<String>, CommandError> {
    let mut lines = flags.to_vec();
    for file in files {
        lines.extend(read(file)?.lines().map(str::to_owned));
    }
    lines.retain(|it| !it.trim().is_empty() && !it.starts_with('#'));
    Ok(lines)
}

/// Reads a file of age-keygen; None without one.
pub(crate) fn identities(file: Option<&Path>) -> Result<Option<Identities>, CommandError> {
    let Some(file) = file else {
        return Ok(None);
    };
    let text = SecretString::from(read(file)?);
    let identities = Identities::parse(&text);
    identities
        .map(Some)
        .map_err(|error| invalid(&error, Some(file)))
}

fn read(file: &Path) -> Result<String, CommandError> {
    fs::read_to_string(file).map_err(|error| {
        CommandError::new(Exit::Usage, format!("cannot read {}", file.display()))
            .cause(error.to_string())
    })
}

fn invalid(error: &InvalidKey, file: Option<&Path>) -> CommandError {
    let message = match file {
        Some(file) => format!("{}: {error}", file.display()),
        None => error.to_string(),
    };
    CommandError::new(Exit::Usage, message)
}
