//! Rules of the house that no lint knows.

use std::fs;
use std::path::{Path, PathBuf};

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
fn every_file_here_is_a_module_of_main() {
    let main = fs::read_to_string("tests/it/main.rs").unwrap();
    for file in rust_files(Path::new("tests/it")) {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let is_top = file.parent() == Some(Path::new("tests/it"));
        assert!(
            name == "main" || !is_top || main.contains(&format!("mod {name};")),
            "{} is never compiled",
            file.display()
        );
    }
}

#[test]
fn no_file_is_longer_than_a_reader_bears() {
    let files = [
        rust_files(Path::new("src")),
        rust_files(Path::new("tests/it")),
    ]
    .concat();
    let long: Vec<String> = files
        .iter()
        .map(|file| (file, fs::read_to_string(file).unwrap().lines().count()))
        .filter(|(_, lines)| *lines > 500)
        .map(|(file, lines)| format!("{}: {lines} lines", file.display()))
        .collect();
    assert!(long.is_empty(), "split at 500 lines:\n{}", long.join("\n"));
}
