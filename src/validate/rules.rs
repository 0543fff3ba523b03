//! Shared rules: values from a fixed set, unique names, quantities.

use std::collections::HashMap;

use super::report::{FieldCursor, FindingSink};
use crate::model::{FindingKind, Quantity, suggest};

/// Reports a value that is not one of the supported ones.
pub(super) fn one_of(
    given: Option<&str>,
    words: &[&str],
    at: &FieldCursor,
    code: &'static str,
    report: &mut FindingSink,
) {
    if let Some(given) = given.filter(|it| !words.contains(it)) {
        report
            .error(
                at,
                FindingKind::NotSupported,
                code,
                format!("unsupported value {given:?}"),
            )
            .hint(format!("supported values: {}", words.join(", ")));
    }
}

/// Reports a name that the container does not define, with a suggestion or the available names.
pub(super) fn not_found<'n>(
    at: &FieldCursor,
    code: &'static str,
    kind: &str,
    name: &str,
    container: &str,
    available: impl Iterator<Item = &'n str> + Clone,
    report: &mut FindingSink,
) {
    if name.is_empty() {
        return;
    }
    let hint = suggest(name, available.clone()).map_or_else(
        || format!("available: {}", some_of(available)),
        |meant| format!("did you mean {meant:?}?"),
    );
    report
        .error(
            at,
            FindingKind::NotSupported,
            code,
            format!("{kind} {name:?} not found in {container}"),
        )
        .hint(hint);
}

/// Reports an entry of the CloudProfile that new machines cannot use.
pub(super) fn not_usable(
    at: &FieldCursor,
    code: &'static str,
    kind: &str,
    name: &str,
    entry: &FieldCursor,
    report: &mut FindingSink,
) {
    let message = format!("{kind} {name:?} cannot be used for new machines");
    report
        .error(at, FindingKind::NotSupported, code, message)
        .see(&entry.key("usable"), "defined here");
}

/// Reports every entry with the name of an earlier one.
pub(super) fn unique<'n>(
    names: impl Iterator<Item = &'n str>,
    at: &FieldCursor,
    key: &str,
    report: &mut FindingSink,
) {
    let mut known = HashMap::new();
    for (i, name) in names.enumerate().filter(|(_, name)| !name.is_empty()) {
        if let Some(first) = known.get(name) {
            report
                .error(
                    &at.index(i).key(key),
                    FindingKind::Duplicate,
                    "profile/duplicate",
                    format!("duplicate {key} {name:?}"),
                )
                .see(&at.index(*first).key(key), "first defined here");
        } else {
            known.insert(name, i);
        }
    }
}

pub(super) fn not_negative(amount: &Quantity, at: &FieldCursor, report: &mut FindingSink) {
    if amount.value < 0.0 {
        let message = format!("must be at least 0 (is {amount})");
        report.error(at, FindingKind::Invalid, "quantity/negative", message);
    }
}

/// Lists the first names for a hint.
pub(super) fn some_of<'n>(names: impl Iterator<Item = &'n str>) -> String {
    const SHOWN: usize = 10;
    let mut names: Vec<&str> = names.collect();
    let more = names.len().saturating_sub(SHOWN);
    names.truncate(SHOWN);
    match (names.is_empty(), more) {
        (true, _) => "none".to_owned(),
        (false, 0) => names.join(", "),
        (false, more) => format!("{} and {more} more", names.join(", ")),
    }
}
