//! Sizes of files and folders, and that every file is compiled.

use super::syntax::Crate;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Source files beside each other in one folder.
const FILES_IN_A_FOLDER: usize = 15;

/// Lines of `use` that fit on one screen with the module's doc comment.
const LINES_OF_USE: usize = 30;

/// Every Rust file below a directory.
pub(crate) fn rust_files(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|it| it == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

#[test]
fn every_integration_test_is_compiled() {
    let compiled: BTreeSet<PathBuf> = Crate::read(Path::new("tests/it/main.rs"))
        .0
        .into_values()
        .map(|it| it.file)
        .collect();
    let files: BTreeSet<PathBuf> = rust_files(Path::new("tests/it")).into_iter().collect();
    assert_eq!(compiled, files);
}

#[test]
fn every_integration_test_of_the_second_tier_is_in_a_group() {
    let script = fs::read_to_string(".ci/second-tier").unwrap();
    let groups = script
        .lines()
        .find(|it| it.starts_with("groups=("))
        .unwrap();
    let groups: BTreeSet<&str> = groups
        .split(|it: char| !(it.is_alphanumeric() || it == '_' || it == ':'))
        .filter_map(|it| it.strip_suffix("::"))
        .collect();
    let mut ignored = BTreeSet::new();
    for file in rust_files(Path::new("tests/it")) {
        if fs::read_to_string(&file).unwrap().contains("\n#[ignore") {
            let folder = file
                .strip_prefix("tests/it")
                .unwrap()
                .iter()
                .next()
                .unwrap();
            ignored.insert(folder.to_str().unwrap().to_owned());
        }
    }
    let ignored: BTreeSet<&str> = ignored.iter().map(String::as_str).collect();
    assert_eq!(groups, ignored);
}

#[test]
fn a_folder_shows_its_files_at_a_glance() {
    let mut folders: BTreeMap<PathBuf, usize> = BTreeMap::new();
    for file in sources() {
        let is_test = file.to_string_lossy().ends_with("_tests.rs");
        if !is_test && let Some(folder) = file.parent() {
            *folders.entry(folder.to_owned()).or_default() += 1;
        }
    }
    folders.retain(|_, files| *files > FILES_IN_A_FOLDER);
    assert!(folders.is_empty(), "folders with many files: {folders:#?}");
}

#[test]
fn imports_fit_on_one_screen() {
    let long: Vec<String> = sources()
        .iter()
        .map(|file| (file, lines_of_use(&fs::read_to_string(file).unwrap())))
        .filter(|(_, lines)| *lines > LINES_OF_USE)
        .map(|(file, lines)| format!("{}: {lines} lines of use", file.display()))
        .collect();
    assert!(long.is_empty(), "{}", long.join("\n"));
}

fn sources() -> Vec<PathBuf> {
    [
        rust_files(Path::new("src")),
        rust_files(Path::new("tests/it")),
    ]
    .concat()
}

/// Lines of the `use` declarations at the top level of a file.
fn lines_of_use(text: &str) -> usize {
    let mut in_use = false;
    text.lines()
        .filter(|line| {
            let starts = ["use ", "pub use ", "pub(crate) use ", "pub(super) use "]
                .iter()
                .any(|it| line.starts_with(it));
            let counts = in_use || starts;
            in_use = counts && !line.trim_end().ends_with(';');
            counts
        })
        .count()
}
