//! Formats of names, labels and annotations in Kubernetes.

use std::collections::BTreeMap;

use super::report::{FieldCursor, FindingSink};
use crate::model::FindingKind;

/// Maximum length of an object name that becomes a label or a host name.
pub(super) const MAX_NAME: usize = 63;

/// Maximum size of all annotations of an object, in bytes.
const MAX_ANNOTATIONS: usize = 256 << 10;

/// Lower-case letters, digits and `-`, starting and ending with a letter or digit.
pub(super) fn is_dns_label(text: &str) -> bool {
    is_bounded(text, |b| b.is_ascii_lowercase() || b.is_ascii_digit(), b"-")
        && text.len() <= MAX_NAME
}

pub(super) fn is_dns_subdomain(text: &str) -> bool {
    text.len() <= 253
        && text
            .split('.')
            .all(|part| is_bounded(part, |b| b.is_ascii_lowercase() || b.is_ascii_digit(), b"-"))
}

/// Empty values are valid.
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
    text.len() <= MAX_NAME && is_bounded(text, |b| b.is_ascii_alphanumeric(), b"-_.")
}

fn is_bounded(text: &str, is_plain: impl Fn(u8) -> bool, between: &[u8]) -> bool {
    let bytes = text.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else {
        return false;
    };
    is_plain(*first) && is_plain(*last) && bytes.iter().all(|b| is_plain(*b) || between.contains(b))
}

pub(super) const DNS_LABEL: &str =
    "use at most 63 lower-case letters, digits and -, starting and ending with a letter or digit";
pub(super) const LABEL_VALUE: &str =
    "use at most 63 letters, digits, -, _ and ., starting and ending with a letter or digit";
const QUALIFIED: &str =
    "use NAME or PREFIX/NAME; a name has at most 63 letters, digits, -, _ and .";

/// Checks a name that must be a DNS label of at most `most` characters.
pub(super) fn check_dns_label(
    at: &FieldCursor,
    text: &str,
    most: usize,
    (code, code_length): (&'static str, &'static str),
    report: &mut FindingSink,
) {
    // An empty name is reported as missing.
    if text.is_empty() {
        return;
    }
    if text.len() > most {
        let message = format!("must be at most {most} characters (is {})", text.len());
        report.error(at, FindingKind::TooLong, code_length, message);
    } else if !is_dns_label(text) {
        let message = format!("{text:?} is not a valid DNS label");
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
            let message = format!("{key:?} is not a valid label key");
            report
                .error(&at.key(key), FindingKind::Invalid, "label/key", message)
                .hint(QUALIFIED)
                .of_key();
        }
        if !is_label_value(value) {
            let message = format!("{value:?} is not a valid label value");
            report
                .error(&at.key(key), FindingKind::Invalid, "label/value", message)
                .hint(LABEL_VALUE);
        }
    }
}

/// Labels that the kubelet and the cloud controller manager set, and that others rely on.
const NODE_LABELS: [&str; 6] = [
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "kubernetes.io/arch",
    "node.kubernetes.io/instance-type",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
];

/// Checks labels of nodes, some of which are not the user's to set.
pub(super) fn check_node_labels(
    at: &FieldCursor,
    labels: &BTreeMap<String, String>,
    report: &mut FindingSink,
) {
    check_labels(at, labels, report);
    for key in labels
        .keys()
        .filter(|it| NODE_LABELS.contains(&it.as_str()))
    {
        let message = format!("{key} is set by Kubernetes");
        report
            .error(
                &at.key(key),
                FindingKind::Forbidden,
                "label/reserved",
                message,
            )
            .hint("use a key with a domain of your own")
            .of_key();
    }
}

pub(super) fn check_annotations(
    at: &FieldCursor,
    annotations: &BTreeMap<String, String>,
    report: &mut FindingSink,
) {
    for key in annotations.keys() {
        // The prefix of an annotation may contain upper-case letters.
        if !is_qualified(key) && !is_qualified(&key.to_ascii_lowercase()) {
            let message = format!("{key:?} is not a valid annotation key");
            report
                .error(
                    &at.key(key),
                    FindingKind::Invalid,
                    "annotation/key",
                    message,
                )
                .hint(QUALIFIED)
                .of_key();
        }
    }
    let size: usize = annotations
        .iter()
        .map(|(key, value)| key.len() + value.len())
        .sum();
    if size > MAX_ANNOTATIONS {
        let message = format!("must be at most {MAX_ANNOTATIONS} bytes in total (is {size})");
        report.error(at, FindingKind::TooLong, "annotation/too-many", message);
    }
}

pub(super) fn check_taint_key(at: &FieldCursor, key: &str, report: &mut FindingSink) {
    if !is_qualified(key) {
        let message = format!("{key:?} is not a valid taint key");
        report
            .error(at, FindingKind::Invalid, "taint/key", message)
            .hint(QUALIFIED);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_formats_are_those_of_kubernetes() {
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
