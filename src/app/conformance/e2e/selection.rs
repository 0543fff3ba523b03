//! The specs to run.

use crate::app::error::{CommandError, Exit};
use crate::model::suggest;
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Part of the names of all conformance tests.
const CONFORMANCE: &str = "[Conformance]";

/// Names of specs in a file: one on each line. Lines that begin with `#` are comments.
#[derive(Debug)]
pub(super) struct SpecList {
    path: PathBuf,
    /// Numbers of lines, from 1, and names.
    names: Vec<(usize, String)>,
}

impl SpecList {
    /// # Errors
    ///
    /// The file cannot be read, or names no spec.
    pub(super) fn read(path: &Path) -> Result<SpecList, CommandError> {
        let text = fs::read_to_string(path).map_err(|error| {
            let message = format!("cannot read {}", path.display());
            CommandError::new(Exit::Usage, message).cause(error.to_string())
        })?;
        let lines = text.lines().enumerate();
        let lines = lines.map(|(index, line)| (index + 1, line.trim().to_owned()));
        let names = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let names: Vec<(usize, String)> = names.collect();
        if names.is_empty() {
            let message = format!("{} names no test", path.display());
            let error = CommandError::new(Exit::Usage, message);
            return Err(error.hint("write the full name of a test on each line"));
        }
        let path = path.to_owned();
        Ok(SpecList { path, names })
    }
}

/// Selects the specs of a list, or all conformance tests, from those that the program has.
///
/// # Errors
///
/// The program does not have one of them.
pub(super) fn select(
    list: Option<SpecList>,
    known: &[String],
) -> Result<Vec<String>, CommandError> {
    let Some(list) = list else {
        let selected = known.iter().filter(|name| name.contains(CONFORMANCE));
        let selected: Vec<String> = selected.cloned().collect();
        return match selected.is_empty() {
            true => Err(CommandError::new(
                Exit::Precondition,
                "the program has no conformance tests",
            )),
            false => Ok(selected),
        };
    };
    let names: HashSet<&str> = known.iter().map(String::as_str).collect();
    let unknown = list.names.iter().find(|(_, name)| !names.contains(&**name));
    if let Some((line, name)) = unknown {
        let message = format!(
            "{}:{line}: the program has no test of this name: {name}",
            list.path.display()
        );
        let error = CommandError::new(Exit::Usage, message);
        return Err(match suggest(name, names.into_iter()) {
            Some(similar) => error.hint(format!("did you mean: {similar}")),
            None => error.hint("to see all names: e2e.test --list-tests"),
        });
    }
    let mut seen = HashSet::new();
    let names = list.names.into_iter().map(|(_, name)| name);
    Ok(names.filter(|name| seen.insert(name.clone())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Result<SpecList, CommandError> {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), text).unwrap();
        SpecList::read(file.path())
    }

    fn known() -> Vec<String> {
        let names = [
            "[sig-node] Pods should run [Conformance]",
            "[sig-node] Pods should sleep",
        ];
        names.map(str::to_owned).to_vec()
    }

    #[test]
    fn conformance_tests_are_selected_without_a_list() {
        let selected = select(None, &known()).unwrap();
        assert_eq!(selected, ["[sig-node] Pods should run [Conformance]"]);
        assert!(select(None, &known()[1..]).is_err());
    }

    #[test]
    fn a_list_names_each_test_once() {
        let text = "# Pods\n\n  [sig-node] Pods should sleep\n[sig-node] Pods should sleep\n";
        let selected = select(Some(list(text).unwrap()), &known()).unwrap();
        assert_eq!(selected, ["[sig-node] Pods should sleep"]);
    }

    #[test]
    fn an_unknown_name_is_an_error_with_its_line_and_a_similar_name() {
        let text = "# Pods\n[sig-node] Pods should slep\n";
        let error = select(Some(list(text).unwrap()), &known()).unwrap_err();
        assert!(
            error.message.contains(":2: the program has no test"),
            "{error:?}"
        );
        assert_eq!(error.hints, ["did you mean: [sig-node] Pods should sleep"]);
    }

    #[test]
    fn a_list_without_names_is_an_error() {
        let error = list("# none\n").unwrap_err();
        assert_eq!(error.exit, Exit::Usage);
    }
}
