//! Two cloud-configs in one.

use serde_yaml::{Mapping, Value};

/// What a pool cannot take from us: hosts, VMs and nodes have one name.
const OURS: &str = "hostname";

/// Lists come one after the other, ours first; in mappings each key is merged; else the pool's own value stands.
pub(crate) fn merge(ours: Mapping, mut theirs: Mapping) -> Mapping {
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
    fn lists_are_put_together_with_ours_in_front() {
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
    fn nothing_takes_nothing_away() {
        check("a: [1]", "a:", "a: [1]");
    }

    #[test]
    fn the_name_of_a_machine_is_not_for_a_pool_to_say() {
        check("hostname: m", "hostname: other", "hostname: m");
    }

    #[test]
    fn the_old_spelling_of_certificates_is_taken_for_the_new_one() {
        check(
            "ca_certs: {trusted: [a]}",
            "ca-certs: {trusted: [b]}",
            "ca_certs: {trusted: [a, b]}",
        );
    }
}
