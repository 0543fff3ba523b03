//! One word, one thing: no two types of the library share a name.

use super::syntax::Crate;
use std::collections::BTreeMap;
use std::path::Path;

/// Names that more than one type may have, each with the reason.
const ALLOWED: [(&str, &str); 0] = [];

#[test]
fn no_type_name_is_defined_twice() {
    let all = Crate::read(Path::new("src/lib.rs"));
    let mut twice = duplicates(&all);
    twice.retain(|name, _| ALLOWED.iter().all(|(allowed, _)| allowed != name));
    let lines: Vec<String> = twice
        .iter()
        .map(|(name, places)| format!("{name}: {}", places.join(", ")))
        .collect();
    assert!(
        lines.is_empty(),
        "rename, or allow with a reason:\n{}",
        lines.join("\n")
    );
}

#[test]
fn every_allowed_name_is_still_shared() {
    let twice = duplicates(&Crate::read(Path::new("src/lib.rs")));
    for (name, _) in ALLOWED {
        assert!(twice.contains_key(name), "{name} is defined once only");
    }
}

#[test]
fn duplicates_are_found() {
    let texts = [
        ("", "mod a; mod b;"),
        ("a", "pub(crate) struct Found; struct Private;"),
        ("b", "pub(super) enum Found {} struct Private;"),
    ];
    let found = duplicates(&Crate::from_texts(&texts));
    let names: Vec<&String> = found.keys().collect();
    assert_eq!(names, ["Found"]);
}

/// Types that other modules can name and that are defined more than once, with their modules.
fn duplicates(all: &Crate) -> BTreeMap<String, Vec<String>> {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, module) in &all.0 {
        for name in &module.types {
            places
                .entry(name.clone())
                .or_default()
                .push(path.join("::"));
        }
    }
    places.retain(|_, places| places.len() > 1);
    places
}
