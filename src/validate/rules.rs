//! Rules that several parts share: values out of a fixed set, unique names, amounts.

use std::collections::HashMap;

use super::report::{FieldCursor, FindingSink};
use crate::model::{FindingKind, Quantity, nearest};

/// Tells what is not among the words that there are.
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
                format!("{given:?} is not supported"),
            )
            .hint(format!("one of {}", words.join(", ")));
    }
}

/// Tells that a name is not among those of the profile, and which are.
pub(super) fn not_found<'n>(
    at: &FieldCursor,
    code: &'static str,
    name: &str,
    offered: impl Iterator<Item = &'n str> + Clone,
    report: &mut FindingSink,
) {
    if name.is_empty() {
        return;
    }
    let hint = nearest(name, offered.clone()).map_or_else(
        || format!("the profile offers {}", some_of(offered)),
        |meant| format!("did you mean {meant}?"),
    );
    report
        .error(
            at,
            FindingKind::NotSupported,
            code,
            format!("{name} is not offered"),
        )
        .hint(hint);
}

/// Tells every entry whose name an earlier one has.
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
                    format!("{name} is there already"),
                )
                .see(&at.index(*first).key(key), "the first one");
        } else {
            known.insert(name, i);
        }
    }
}

pub(super) fn not_negative(amount: &Quantity, at: &FieldCursor, report: &mut FindingSink) {
    if amount.value < 0.0 {
        let message = format!("is {amount}, below nothing");
        report.error(at, FindingKind::Invalid, "quantity/negative", message);
    }
}

/// A few names of what there is, for a hint.
pub(super) fn some_of<'n>(names: impl Iterator<Item = &'n str>) -> String {
    const SHOWN: usize = 10;
    let mut names: Vec<&str> = names.collect();
    let more = names.len().saturating_sub(SHOWN);
    names.truncate(SHOWN);
    match (names.is_empty(), more) {
        (true, _) => "nothing".to_owned(),
        (false, 0) => names.join(", "),
        (false, more) => format!("{} and {more} more", names.join(", ")),
    }
}
