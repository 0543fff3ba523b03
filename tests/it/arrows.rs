//! The diagram of the rooms, as a test: who may use whom, and which doors are whose.

use crate::house::rust_files;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// `commands` may use all; only `main` uses commands.
const MAY_USE: [(&str, &[&str]); 12] = [
    ("model", &[]),
    ("manifest", &["model"]),
    ("validate", &["model"]),
    ("state", &["model", "validate"]),
    ("render", &["model", "validate", "state"]),
    ("plan", &["model", "validate", "state", "render"]),
    ("flow", &["state"]),
    ("cluster", &["state", "render", "pki"]),
    ("pki", &[]),
    ("config", &["model"]),
    ("ui", &["model", "manifest", "state", "flow"]),
    ("sandbox", &["model", "config", "pki"]),
];

/// What only some rooms may name, and which these are.
const DOORS: [(&str, &[&str]); 9] = [
    ("kube::Client", &["cluster"]),
    ("kube::Api", &["cluster"]),
    ("indicatif", &["ui"]),
    ("dialoguer", &["ui"]),
    ("comfy_table", &["ui"]),
    ("std::env", &["config", "main"]),
    ("print!", &["ui"]),
    ("println!", &["ui"]),
    ("eprintln!", &["ui"]),
];

/// A file without its tests, and its room.
struct Source {
    file: PathBuf,
    room: String,
    /// Modules between the room and the file.
    depth: usize,
    text: String,
}

#[test]
fn every_arrow_is_in_the_diagram() {
    let mut stray = Vec::new();
    for source in sources() {
        let Some((_, may_use)) = MAY_USE.iter().find(|(room, _)| *room == source.room) else {
            continue;
        };
        for used in uses(&source.text) {
            if used != source.room && !may_use.contains(&used.as_str()) {
                stray.push(format!(
                    "{}: {} uses {used}",
                    source.file.display(),
                    source.room
                ));
            }
        }
        let up = "super::".repeat(source.depth + 1);
        if source.text.contains(&up) {
            stray.push(format!("{}: {up} leaves the room", source.file.display()));
        }
    }
    assert!(stray.is_empty(), "{}", stray.join("\n"));
}

#[test]
fn every_effect_goes_through_its_door() {
    let mut stray = Vec::new();
    for source in sources() {
        for (name, rooms) in DOORS {
            if !rooms.contains(&source.room.as_str()) && names(&source.text, name) {
                stray.push(format!(
                    "{}: {name} is for {}",
                    source.file.display(),
                    rooms.join(", ")
                ));
            }
        }
    }
    assert!(stray.is_empty(), "{}", stray.join("\n"));
}

#[test]
fn every_room_stands_in_the_diagram() {
    let rooms: BTreeSet<String> = sources().into_iter().map(|it| it.room).collect();
    let known = |room: &str| {
        ["lib", "main", "commands"].contains(&room) || MAY_USE.iter().any(|it| it.0 == room)
    };
    let unknown: Vec<_> = rooms.iter().filter(|it| !known(it)).collect();
    assert!(unknown.is_empty(), "not in the diagram: {unknown:?}");
}

#[test]
fn uses_are_found_however_they_are_written() {
    let text = "use crate::model::A;\nuse crate::{plan::{B, C}, flow};\nfn f(x: crate::ui::Ui) {}";
    let found: Vec<String> = uses(text).into_iter().collect();
    assert_eq!(found, ["flow", "model", "plan", "ui"]);
    assert!(names("use kube::{Api, Client};", "kube::Client"));
    assert!(names("use kube::{config::{A}, Client};", "kube::Client"));
    assert!(!names("use kube::{Api, config::ClientA};", "kube::Client"));
    assert!(!names("writeln!(f); eprintln!()", "println!"));
    assert!(!names("use clap_std::env::X", "std::env"));
}

fn sources() -> Vec<Source> {
    let files = rust_files(Path::new("src"));
    let tests: Vec<PathBuf> = files.iter().flat_map(|it| test_modules(it)).collect();
    let is_test = |file: &Path| {
        tests
            .iter()
            .any(|it| file.starts_with(it) || file == it.with_extension("rs"))
    };
    files
        .into_iter()
        .filter(|it| !is_test(it))
        .map(source)
        .collect()
}

fn source(file: PathBuf) -> Source {
    let inside: Vec<String> = file
        .with_extension("")
        .strip_prefix("src")
        .unwrap()
        .iter()
        .map(|it| it.to_string_lossy().into_owned())
        .collect();
    let modules = inside.iter().filter(|it| *it != "mod").count();
    let text = fs::read_to_string(&file).unwrap();
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
    Source {
        room: inside[0].clone(),
        depth: modules - 1,
        text: without_comments(text),
        file,
    }
}

/// The paths of modules that are only compiled for tests, without `.rs`.
fn test_modules(file: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string(file).unwrap();
    let directory = match file
        .file_stem()
        .is_some_and(|it| it == "mod" || it == "lib")
    {
        true => file.parent().unwrap().to_owned(),
        false => file.with_extension(""),
    };
    let after = text.split("#[cfg(test)]\n").skip(1);
    let module = |rest: &str| {
        let line = rest.lines().next()?.trim_start_matches("pub(crate) ");
        if let Some(path) = line.strip_prefix("#[path = \"") {
            return Some(file.parent()?.join(path.strip_suffix(".rs\"]")?));
        }
        let name = line.strip_prefix("mod ")?.strip_suffix(';')?;
        Some(directory.join(name))
    };
    after.filter_map(module).collect()
}

fn without_comments(text: &str) -> String {
    let code = |line: &&str| !line.trim_start().starts_with("//");
    text.lines().filter(code).collect::<Vec<_>>().join("\n")
}

/// The first name after each `crate::`, also within `crate::{…}`.
fn uses(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (at, _) in text.match_indices("crate::") {
        found.extend(branches(&text[at + "crate::".len()..]));
    }
    found
}

/// The first names of a path or of a group of paths.
fn branches(rest: &str) -> Vec<String> {
    let Some(group) = rest.strip_prefix('{') else {
        return vec![identifier(rest)];
    };
    let mut depth = 0;
    let mut found = vec![identifier(group.trim_start())];
    for (at, letter) in group.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => found.push(identifier(group[at + 1..].trim_start())),
            _ => {}
        }
    }
    found.retain(|it| !it.is_empty());
    found
}

fn identifier(text: &str) -> String {
    text.chars()
        .take_while(|it| it.is_alphanumeric() || *it == '_')
        .collect()
}

/// Whether `name`, a path or a macro, occurs as a whole; the last part of a path also within a group.
fn names(text: &str, name: &str) -> bool {
    let (head, last) = name.rsplit_once("::").unwrap_or(("", name));
    let search = if head.is_empty() {
        name.to_owned()
    } else {
        format!("{head}::")
    };
    text.match_indices(&search).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let whole = !before.is_some_and(|it| it.is_alphanumeric() || it == '_' || it == ':');
        let after = &text[at + search.len()..];
        whole
            && match head {
                "" => name.ends_with('!') || identifier(after).is_empty(),
                _ => branches(after).iter().any(|it| it == last),
            }
    })
}

#[test]
fn the_table_in_lib_rs_has_the_same_arrows() {
    let text = fs::read_to_string("src/lib.rs").unwrap();
    for (room, may_use) in MAY_USE {
        let row = text
            .lines()
            .find(|it| it.starts_with(&format!("//! | `{room}` |")));
        let uses = row.and_then(|it| it.trim_end_matches(" |").rsplit(" | ").next());
        let expected = match may_use {
            [] => "nothing".to_owned(),
            rooms => rooms
                .iter()
                .map(|it| format!("`{it}`"))
                .collect::<Vec<_>>()
                .join(", "),
        };
        assert_eq!(uses, Some(expected.as_str()), "{room}");
    }
}
