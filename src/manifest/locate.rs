//! Maps paths of fields to spans in the files.

use std::collections::HashSet;

use crate::model::{FieldPath, Segment};

use super::check::NodeProblems;
use super::document::ManifestDocument;
use super::source::{FileSpan, SourceFile, offset};
use super::tree::{NodeId, NodeKind, QuoteStyle, Tree};

/// Returns the span of a field: its value if that is a scalar, else its key; its parent's key if it is absent.
/// `None` if the field is in a part of the document that already has a problem.
pub(super) fn locate(
    document: &ManifestDocument,
    source: &SourceFile,
    tree: &Tree,
    path: &FieldPath,
) -> Option<FileSpan> {
    let (key, value) = find(document, source, tree, path)?;
    let is_scalar = tree
        .text(source, value)
        .is_some_and(|(value, _)| !value.is_empty());
    let node = if is_scalar { value } else { key };
    Some(tree.place(offset(document.source), node))
}

/// Returns the span of the key of a field, as [`locate`] does for its value.
pub(super) fn locate_key(
    document: &ManifestDocument,
    source: &SourceFile,
    tree: &Tree,
    path: &FieldPath,
) -> Option<FileSpan> {
    let (key, _) = find(document, source, tree, path)?;
    Some(tree.place(offset(document.source), key))
}

/// Returns the nodes of the key and of the value of a field; those of its parent if it is absent. The key of an item is
/// the item. `None` if the field is in a part of the document that already has a problem.
fn find(
    document: &ManifestDocument,
    source: &SourceFile,
    tree: &Tree,
    path: &FieldPath,
) -> Option<(NodeId, NodeId)> {
    let node_problems = &document.node_problems;
    let (mut node, mut shown) = (document.root, document.root);
    let mut is_resolved = true;
    for segment in path.segments() {
        let target = tree.target(node);
        if node_problems.broken.contains(&target) {
            return None;
        }
        let next = match segment {
            Segment::Index(index) => match tree.kind(target) {
                NodeKind::List(items) => items.get(*index).map(|item| (*item, *item)),
                _ => None,
            },
            Segment::Key(key) => {
                let missing = node_problems.missing.get(&target);
                if missing.is_some_and(|missing| missing.contains(key)) {
                    return None;
                }
                tree.entry(source, target, key)
            }
        };
        let Some((key, value)) = next else {
            is_resolved = false;
            break;
        };
        (node, shown) = (value, key);
    }
    if node_problems.broken.contains(&node) || node_problems.broken.contains(&tree.target(node)) {
        return None;
    }
    if is_resolved && is_broken_below(node_problems, tree, node) {
        return None;
    }
    Some((shown, node))
}

/// Returns true if a node below has a problem, so that findings about the parent would be misleading.
fn is_broken_below(node_problems: &NodeProblems, tree: &Tree, node: NodeId) -> bool {
    if node_problems.broken.is_empty() && node_problems.missing.is_empty() {
        return false;
    }
    let mut left = vec![node];
    let mut shared = HashSet::new();
    while let Some(node) = left.pop() {
        let target = tree.target(node);
        if target != node && !shared.insert(target) {
            continue;
        }
        if node_problems.broken.contains(&target) || node_problems.missing.contains_key(&target) {
            return true;
        }
        match tree.kind(target) {
            NodeKind::List(items) => left.extend(items.iter().copied()),
            NodeKind::Map(entries) => {
                for (key, value) in entries {
                    if node_problems.broken.contains(key) {
                        return true;
                    }
                    left.push(*value);
                }
            }
            NodeKind::Scalar { .. } | NodeKind::Alias(_) => {}
        }
    }
    false
}

/// Returns the span of a line and column (from 1) inside a value, such as an error in the JSON of a block scalar.
pub(super) fn locate_inside(
    document: &ManifestDocument,
    source: &SourceFile,
    tree: &Tree,
    path: &FieldPath,
    (line, column): (usize, usize),
) -> Option<FileSpan> {
    let place = locate(document, source, tree, path)?;
    let node = path
        .segments()
        .iter()
        .try_fold(document.root, |node, segment| match segment {
            Segment::Key(key) => tree.entry(source, node, key).map(|(_, value)| value),
            Segment::Index(index) => match tree.kind(node) {
                NodeKind::List(items) => items.get(*index).copied(),
                _ => None,
            },
        })?;
    let place = tree.place(place.source, tree.target(node));
    let (value, style) = tree.text(source, node)?;
    inside(source, place, value, style, line, column).or(Some(place))
}

/// Exact for literal blocks and for single-line values without escapes; `None` for others.
fn inside(
    source: &SourceFile,
    place: FileSpan,
    value: &str,
    style: QuoteStyle,
    line: usize,
    column: usize,
) -> Option<FileSpan> {
    let wanted = value.split('\n').nth(line - 1)?;
    let at = |start: u32| FileSpan {
        source: place.source,
        start,
        end: start + 1,
    };
    if style == QuoteStyle::Literal {
        // The span starts at the first line that is not blank.
        let blank = value.bytes().take_while(|b| *b == b'\n').count();
        let line = (source.line_column(place.start).0 + line).checked_sub(blank + 1)?;
        let indentation = source.line(line).len().checked_sub(wanted.len())?;
        let start = source.line_range(line).start;
        return Some(at(
            start + offset(indentation + column.saturating_sub(1).min(wanted.len()))
        ));
    }
    let raw = &source.text[place.start as usize..place.end as usize];
    let skipped = raw.find(value)?;
    (line == 1)
        .then(|| at(place.start + offset(skipped + column.saturating_sub(1).min(value.len()))))
}
