//! Text that people read is plain technical English: old habits are refused, so that they do not come back.

use super::files::rust_files;
use super::syntax::Crate;
use regex::Regex;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Expressions that a native reader has to translate, each with what to write.
const HABITS: [(&str, &str); 16] = [
    (r"\b(told|tells?|telling)\b", "report, print, show, list"),
    (r"\bsaid\b", "reported, given"),
    (
        r"\bstands? (for|in|on|there|beside|below)\b",
        "is, represents",
    ),
    (r"\bis no [a-z]", "is not a valid …"),
    (r"\b(that|what) (is|are) there\b", "existing"),
    (r"\brid of\b", "delete, remove"),
    (
        r"\bgone on with\b|\bgoes? on with\b|\bgo on\b",
        "resume, continue",
    ),
    (
        r"\b(somebody|nobody|whoever|anybody)\b",
        "name the actor, or use the passive",
    ),
    (r"\bas it should be\b", "healthy, ready"),
    (r"\bhow it goes\b", "progress"),
    (
        r"\bwhat (there is|goes|comes|is over|is said|is meant)\b",
        "name the thing",
    ),
    (r"\bwhose (time|end) (is over|has come)\b", "expired"),
    (r"\bis over\b", "has ended, has expired"),
    (r"\bin whose\b", "where, with"),
    (r"\bis the matter\b", "fails, is wrong"),
    (r"\bany more\b", "no longer"),
];

/// First words of doc comments that start a clause instead of naming what follows.
const HEADLESS: [&str; 5] = ["What", "Whether", "Of", "Who", "Whose"];

/// Documents for readers, whose quotes in code spans and code blocks are not read.
const DOCUMENTS: [&str; 4] = [
    "README.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "CONTRIBUTING.md",
];

#[test]
fn strings_and_doc_comments_have_no_old_habits() {
    let mut found = BTreeSet::new();
    for module in Crate::read(Path::new("src/lib.rs")).0.values() {
        for text in &module.strings {
            found.extend(habits(text).map(|it| format!("{}: {it}", module.file.display())));
        }
        for line in &module.docs {
            let first = line.split_whitespace().next().unwrap_or_default();
            if HEADLESS.contains(&first) {
                found.insert(format!(
                    "{}: begins with a clause: {line}",
                    module.file.display()
                ));
            }
        }
    }
    assert!(found.is_empty(), "{}", list(&found));
}

#[test]
fn comments_have_no_old_habits() {
    let mut found = BTreeSet::new();
    let files = [
        rust_files(Path::new("src")),
        rust_files(Path::new("tests/it")),
    ]
    .concat();
    for file in files.iter().filter(|it| !it.ends_with("words.rs")) {
        let text = fs::read_to_string(file).unwrap();
        let comments = text.lines().filter_map(|it| it.split_once("//"));
        for (_, comment) in comments.filter(|(code, _)| !code.ends_with(':')) {
            found.extend(habits(comment).map(|it| format!("{}: {it}", file.display())));
        }
    }
    assert!(found.is_empty(), "{}", list(&found));
}

#[test]
fn documents_have_no_old_habits() {
    let mut found = BTreeSet::new();
    for file in documents() {
        let text = fs::read_to_string(&file).unwrap();
        for line in prose(&text) {
            found.extend(habits(&line).map(|it| format!("{}: {it}", file.display())));
        }
    }
    assert!(found.is_empty(), "{}", list(&found));
}

#[test]
fn old_habits_are_found() {
    let sentence = |text: &str| habits(text).count();
    assert_eq!(sentence("validate tells every fault"), 1);
    assert_eq!(sentence("smal is no machine type; there is no shoot x"), 1);
    assert_eq!(
        sentence("is no longer offered by a stand-in, apart from its status"),
        0
    );
    let block = "tell\n```sh\ntell\n```\nrun `tell` now";
    assert_eq!(prose(block).filter(|it| sentence(it) > 0).count(), 1);
}

/// The habits in a text, each with what to write and the text's line.
fn habits(text: &str) -> impl Iterator<Item = String> {
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    PATTERNS.iter().flat_map(move |(pattern, better)| {
        let hits: Vec<String> = lines
            .iter()
            .filter(|it| is_habit(pattern, it))
            .map(|it| {
                format!(
                    "{:?} (better: {better}) in: {}",
                    pattern.as_str(),
                    it.trim()
                )
            })
            .collect();
        hits
    })
}

/// `is no longer` and `there is no` are good English.
fn is_habit(pattern: &Regex, line: &str) -> bool {
    let line = line
        .to_lowercase()
        .replace("is no longer", "")
        .replace("there is no", "");
    pattern.is_match(&line)
}

static PATTERNS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    HABITS
        .iter()
        .map(|(pattern, better)| (Regex::new(pattern).unwrap(), *better))
        .collect()
});

fn documents() -> Vec<PathBuf> {
    let in_docs = fs::read_dir("docs").unwrap().map(|it| it.unwrap().path());
    let topics = fs::read_dir("src/commands/topics").into_iter().flatten();
    let topics = topics.map(|it| it.unwrap().path());
    DOCUMENTS
        .iter()
        .map(PathBuf::from)
        .chain(in_docs.chain(topics).filter(|it| it.is_file()))
        .collect()
}

/// Lines outside of code blocks, without code spans and without rows of tables that show what not to write.
fn prose(text: &str) -> impl Iterator<Item = String> {
    let code = Regex::new("`[^`]*`").unwrap();
    let mut in_block = false;
    let mut in_pairs = false;
    text.lines().filter_map(move |line| {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
            return None;
        }
        in_pairs = match line.starts_with('|') {
            true => in_pairs || line.to_lowercase().contains("| before |"),
            false => false,
        };
        let is_prose = !in_block && !in_pairs;
        is_prose.then(|| code.replace_all(line, "").into_owned())
    })
}

fn list(found: &BTreeSet<String>) -> String {
    let lines: Vec<&str> = found.iter().map(String::as_str).collect();
    format!("{} places:\n{}", lines.len(), lines.join("\n"))
}
