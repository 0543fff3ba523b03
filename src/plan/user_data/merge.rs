//! Merges two cloud-configs.

use serde_yaml::{Mapping, Value};

/// Keys that a pool cannot override: host, VM and node have the same name.
const OURS: &str = "hostname";

/// Lists are concatenated, ours first; mappings are merged by key; otherwise the pool's value wins.
pub(super) fn merge(ours: Mapping, mut theirs: Mapping) -> Mapping {
    theirs.remove(OURS);
    // The old spelling would hide the new one.
    if let Some(old) = theirs.remove("ca-certs") {
        theirs.entry("ca_certs".into()).or_insert(old);
    }
    both(ours, theirs)
}

fn both(mut ours: Mapping, theirs: Mapping) -> Mapping {
    for (key, theirs) in theirs {
        match ours.get_mut(&key) {
            Some(there) => *there = one(std::mem::take(there), theirs),
            None => {
                ours.insert(key, theirs);
            }
        }
    }
    ours
}

fn one(ours: Value, theirs: Value) -> Value {
    match (ours, theirs) {
        (ours, Value::Null) => ours,
        (Value::Mapping(ours), Value::Mapping(theirs)) => both(ours, theirs).into(),
        (Value::Sequence(mut ours), Value::Sequence(theirs)) => {
            ours.extend(theirs);
            ours.into()
        }
        (_, theirs) => theirs,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(ours: &str, theirs: &str, expected: &str) {
        let read = |text| serde_yaml::from_str::<Mapping>(text).expect("a mapping");
        assert_eq!(merge(read(ours), read(theirs)), read(expected));
    }

    #[test]
    fn lists_are_concatenated_with_ours_first() {
        check("a: [1]", "a: [2]\nb: [3]", "a: [1, 2]\nb: [3]");
    }

    #[test]
    fn mappings_are_merged_key_by_key() {
        check(
            "a: {b: 1, c: [1], d: 4}",
            "a: {b: 2, c: [2]}",
            "a: {b: 2, c: [1, 2], d: 4}",
        );
    }

    #[test]
    fn a_null_value_removes_nothing() {
        check("a: [1]", "a:", "a: [1]");
    }

    #[test]
    fn a_pool_cannot_override_the_host_name() {
        check("hostname: m", "hostname: other", "hostname: m");
    }

    #[test]
    fn the_old_spelling_of_ca_certs_is_accepted() {
        check(
            "ca_certs: {trusted: [a]}",
            "ca-certs: {trusted: [b]}",
            "ca_certs: {trusted: [a, b]}",
        );
    }
}
