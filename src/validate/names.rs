//! The forms that Kubernetes wants of names, labels and annotations.

use std::collections::BTreeMap;

use super::report::{FieldCursor, FindingSink};
use crate::model::FindingKind;

/// The longest name of an object that becomes a label or a host name.
pub(super) const MOST_NAME: usize = 63;

/// All annotations of an object together.
const MOST_ANNOTATIONS: usize = 256 << 10;

/// Small letters, digits and `-`, beginning and ending with a letter or digit.
pub(super) fn is_dns_label(text: &str) -> bool {
    is_bounded(text, |b| b.is_ascii_lowercase() || b.is_ascii_digit(), b"-")
        && text.len() <= MOST_NAME
}

pub(super) fn is_dns_subdomain(text: &str) -> bool {
    text.len() <= 253
        && text
            .split('.')
            .all(|part| is_bounded(part, |b| b.is_ascii_lowercase() || b.is_ascii_digit(), b"-"))
}

/// Empty is fine.
pub(super) fn is_label_value(text: &str) -> bool {
    text.is_empty() || is_name_part(text)
}

/// `name` or `prefix/name`, the key of a label, an annotation or a taint.
pub(super) fn is_qualified(text: &str) -> bool {
    match text.split_once('/') {
        Some((prefix, name)) => is_dns_subdomain(prefix) && is_name_part(name),
        None => is_name_part(text),
    }
}

fn is_name_part(text: &str) -> bool {
    text.len() <= MOST_NAME && is_bounded(text, |b| b.is_ascii_alphanumeric(), b"-_.")
}

fn is_bounded(text: &str, is_plain: impl Fn(u8) -> bool, between: &[u8]) -> bool {
    let bytes = text.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else {
        return false;
    };
    is_plain(*first) && is_plain(*last) && bytes.iter().all(|b| is_plain(*b) || between.contains(b))
}

pub(super) const DNS_LABEL: &str =
    "write at most 63 small letters, digits and -, with a letter or digit at both ends";
pub(super) const LABEL_VALUE: &str =
    "write at most 63 letters, digits, -, _ and ., with a letter or digit at both ends";
const QUALIFIED: &str =
    "write name or prefix/name; a name has at most 63 letters, digits, -, _ and .";

/// Tells what is wrong with a name that has to be a DNS label of at most `most` characters.
pub(super) fn check_dns_label(
    at: &FieldCursor,
    text: &str,
    most: usize,
    (code, code_length): (&'static str, &'static str),
    report: &mut FindingSink,
) {
    // Of an empty name all has been said.
    if text.is_empty() {
        return;
    }
    if text.len() > most {
        let message = format!("has {} characters, more than {most}", text.len());
        report.error(at, FindingKind::TooLong, code_length, message);
    } else if !is_dns_label(text) {
        let message = format!("{text:?} is no DNS label");
        report
            .error(at, FindingKind::Invalid, code, message)
            .hint(DNS_LABEL);
    }
}

pub(super) fn check_labels(
    at: &FieldCursor,
    labels: &BTreeMap<String, String>,
    report: &mut FindingSink,
) {
    for (key, value) in labels {
        if !is_qualified(key) {
            let message = format!("{key:?} is no key of a label");
            report
                .error(&at.key(key), FindingKind::Invalid, "label/key", message)
                .hint(QUALIFIED);
        }
        if !is_label_value(value) {
            let message = format!("{value:?} is no value of a label");
            report
                .error(&at.key(key), FindingKind::Invalid, "label/value", message)
                .hint(LABEL_VALUE);
        }
    }
}

pub(super) fn check_annotations(
    at: &FieldCursor,
    annotations: &BTreeMap<String, String>,
    report: &mut FindingSink,
) {
    for key in annotations.keys() {
        // Capitals are fine in the prefix of an annotation.
        if !is_qualified(key) && !is_qualified(&key.to_ascii_lowercase()) {
            let message = format!("{key:?} is no key of an annotation");
            report
                .error(
                    &at.key(key),
                    FindingKind::Invalid,
                    "annotation/key",
                    message,
                )
                .hint(QUALIFIED);
        }
    }
    let size: usize = annotations
        .iter()
        .map(|(key, value)| key.len() + value.len())
        .sum();
    if size > MOST_ANNOTATIONS {
        let message = format!("have {size} bytes together, more than {MOST_ANNOTATIONS}");
        report.error(at, FindingKind::TooLong, "annotation/too-many", message);
    }
}

pub(super) fn check_taint_key(at: &FieldCursor, key: &str, report: &mut FindingSink) {
    if !is_qualified(key) {
        let message = format!("{key:?} is no key of a taint");
        report
            .error(at, FindingKind::Invalid, "taint/key", message)
            .hint(QUALIFIED);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_names_are_those_of_kubernetes() {
        for (text, label, value, qualified) in [
            ("a", true, true, true),
            ("a-1", true, true, true),
            ("1", true, true, true),
            ("-a", false, false, false),
            ("A_b.c", false, true, true),
            ("example.org/tier", false, false, true),
            ("Example.org/tier", false, false, false),
            ("a/b/c", false, false, false),
            ("/b", false, false, false),
            ("", false, true, false),
            ("ü", false, false, false),
        ] {
            let found = (is_dns_label(text), is_label_value(text), is_qualified(text));
            assert_eq!(found, (label, value, qualified), "{text:?}");
        }
        assert!(!is_label_value(&"a".repeat(64)));
    }
}
