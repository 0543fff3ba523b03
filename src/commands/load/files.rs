//! From names to bytes.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::commands::{CommandError, Exit};

/// All manifests together; the reader refuses a file that fills it, and nothing reads on.
const BUDGET: u64 = 16 << 20;

/// Names of files with their content, each file once however often it is named.
pub(in crate::commands) fn read(
    names: &[PathBuf],
    profile: Option<&Path>,
) -> Result<Vec<(String, Vec<u8>)>, CommandError> {
    let mut known = HashSet::new();
    let mut files = Vec::new();
    let mut left = BUDGET;
    for name in names.iter().map(PathBuf::as_path).chain(profile) {
        for path in expand(name)? {
            let same = fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
            if !known.insert(same) {
                continue;
            }
            let bytes = content(&path, left)?;
            left = left.saturating_sub(bytes.len() as u64);
            files.push((shown(&path), bytes));
        }
    }
    Ok(files)
}

fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

fn shown(path: &Path) -> String {
    if is_stdin(path) {
        "standard input".to_owned()
    } else {
        path.display().to_string()
    }
}

/// A folder stands for the manifests in it, sorted by name; not for those in its folders.
fn expand(path: &Path) -> Result<Vec<PathBuf>, CommandError> {
    if is_stdin(path) || !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = fs::read_dir(path).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let entries = entries.map_err(|error| unreadable(path, &error))?;
    let is_manifest = |path: &PathBuf| {
        let extension = path.extension().and_then(|it| it.to_str());
        matches!(extension, Some("yaml" | "yml" | "json")) && path.is_file()
    };
    let mut files: Vec<PathBuf> = entries
        .iter()
        .map(fs::DirEntry::path)
        .filter(is_manifest)
        .collect();
    files.sort();
    if files.is_empty() {
        let message = format!("there is no manifest in {}", path.display());
        return Err(CommandError::new(Exit::Usage, message)
            .hint("files whose names end in .yaml, .yml or .json are read, those in folders below are not"));
    }
    Ok(files)
}

/// One byte more than may be left, so that the reader can tell that it is too much.
fn content(path: &Path, left: u64) -> Result<Vec<u8>, CommandError> {
    let mut bytes = Vec::new();
    let read = if is_stdin(path) {
        io::stdin().lock().take(left + 1).read_to_end(&mut bytes)
    } else {
        File::open(path).and_then(|file| file.take(left + 1).read_to_end(&mut bytes))
    };
    read.map_err(|error| unreadable(path, &error))?;
    if bytes.len() as u64 > left {
        let message = format!(
            "{} is more than the {BUDGET} bytes that manifests may have together",
            shown(path)
        );
        return Err(CommandError::new(Exit::Usage, message));
    }
    Ok(bytes)
}

fn unreadable(path: &Path, error: &io::Error) -> CommandError {
    if error.kind() == io::ErrorKind::NotFound {
        return CommandError::new(Exit::Usage, format!("there is no file {}", path.display()));
    }
    CommandError::new(Exit::Precondition, format!("cannot read {}", shown(path)))
        .cause(error.to_string())
}
