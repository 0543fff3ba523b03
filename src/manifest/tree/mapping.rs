//! The entries of a mapping: duplicates are reported, and `<<` is merged.

use std::collections::{HashMap, HashSet};

use crate::manifest::problem::{FindingKind, Problem};
use crate::manifest::source::SourceFile;
use crate::model::FieldPath;

use super::node::{NodeId, NodeKind, QuoteStyle, Tree};
use super::syntax;

/// Returns keys and values: keys are unique strings, and the entries of `<<` are merged.
/// `pairs` has each key followed by its value, `path` gives the path of a key, and at most `room` problems are reported.
pub(super) fn entries(
    tree: &Tree,
    number: u32,
    source: &SourceFile,
    pairs: &[NodeId],
    path: impl Fn(&str) -> FieldPath,
    room: usize,
) -> (Box<[(NodeId, NodeId)]>, Vec<Problem>) {
    let mut entries: Vec<(NodeId, NodeId)> = Vec::with_capacity(pairs.len() / 2);
    let mut seen: HashMap<&str, NodeId> = HashMap::new();
    let mut merged = Vec::new();
    let mut problems = Vec::new();
    for pair in pairs.chunks_exact(2) {
        let (key, value) = (pair[0], pair[1]);
        let Some((text, style)) = tree.text(source, key) else {
            let problem = Problem::syntax("yaml/key", "keys must be strings");
            let place = tree.place(number, key);
            let hint = is_template(source, place.start).then_some(syntax::TEMPLATE);
            problems.push(problem.at(place).hint(hint));
            continue;
        };
        if text == "<<" && style == QuoteStyle::Plain {
            merged.push(value);
            continue;
        }
        let first = match entries.len() {
            0..16 => first_of(tree, source, &entries, text),
            _ => seen.get(text).copied(),
        };
        if let Some(first) = first {
            if problems.len() < room {
                let message = format!("duplicate key {text:?}");
                let problem = Problem::new(
                    path(text),
                    FindingKind::Duplicate,
                    "yaml/duplicate-key",
                    message,
                )
                .at(tree.place(number, key))
                .related(tree.place(number, first), "first defined here");
                problems.push(problem);
            }
            continue;
        }
        entries.push((key, value));
        match entries.len() {
            0..16 => {}
            16 => {
                seen = entries
                    .iter()
                    .filter_map(|(k, _)| Some((tree.text(source, *k)?.0, *k)))
                    .collect();
            }
            _ => {
                seen.insert(text, key);
            }
        }
    }
    for map in merged {
        merge(tree, source, map, &mut entries);
    }
    (entries.into(), problems)
}

/// Returns true if `{{` begins at an offset, or one character before it.
fn is_template(source: &SourceFile, start: u32) -> bool {
    let start = start as usize;
    let begins = |at: usize| source.text.get(at..).is_some_and(|it| it.starts_with("{{"));
    begins(start) || start > 0 && begins(start - 1)
}

fn first_of(
    tree: &Tree,
    source: &SourceFile,
    entries: &[(NodeId, NodeId)],
    text: &str,
) -> Option<NodeId> {
    entries
        .iter()
        .map(|(key, _)| *key)
        .find(|key| key_text(tree, source, *key) == text)
}

fn key_text<'t>(tree: &'t Tree, source: &'t SourceFile, key: NodeId) -> &'t str {
    tree.text(source, key).map_or("", |(text, _)| text)
}

/// Merges `<<: *defaults` or `<<: [*a, *b]` like kubectl: explicit keys take precedence, then earlier mappings.
fn merge(tree: &Tree, source: &SourceFile, from: NodeId, entries: &mut Vec<(NodeId, NodeId)>) {
    match tree.kind(from) {
        NodeKind::Map(more) => {
            let known: HashSet<&str> = entries
                .iter()
                .map(|(key, _)| key_text(tree, source, *key))
                .collect();
            let new = |(key, _): &&(NodeId, NodeId)| !known.contains(key_text(tree, source, *key));
            entries.extend(more.iter().filter(new));
        }
        NodeKind::List(maps) => {
            for map in maps {
                merge(tree, source, *map, entries);
            }
        }
        NodeKind::Scalar { .. } | NodeKind::Alias(_) => {}
    }
}
