//! Takes what is secret out of texts and objects: what is known to be, and what looks as if it were. Pure.

use super::fields;
use aho_corasick::{AhoCorasick, MatchKind};
use regex::{Captures, Regex};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeSet;

/// Stands where a known secret stood.
const GONE: &str = "<redacted>";
/// Shapes of secrets, and what stands there instead.
const SHAPES: [(&str, &str); 8] = [
    // A key or certificate as a kubeconfig holds it, and as a Secret holds it: in base64.
    ("LS0tLS1CRUdJTi[A-Za-z0-9+/=]*", "<PEM in base64>"),
    (
        r"\beyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*)*",
        "<token>",
    ),
    (r"\bZXlK[A-Za-z0-9+/]{40,}=*", "<token in base64>"),
    // Not the end of an event's name.
    (
        r"(^|[^A-Za-z0-9.-])([a-z0-9]{6})\.[a-z0-9]{16}\b",
        "$1$2.<token>",
    ),
    // Who logs in stands before the host.
    (r#"([A-Za-z][A-Za-z0-9+.-]*://)[^/\s@"'<>]+@"#, "$1<login>@"),
    (
        r#"(?i)([?&](?:[a-z-]*token|sig|signature|x-amz-[a-z-]+|x-goog-[a-z-]+|[a-z_]*key|password)=)[^&\s"'<>]+"#,
        "$1<redacted>",
    ),
    (
        r"(?i)\b((?:bearer|basic)\s+)[A-Za-z0-9._~+/-]{12,}=*",
        "$1<redacted>",
    ),
    (
        r#"(?i)((?:passwor[dt]|passwd|passphrase|api[_-]?key|access[_-]?key|private[_-]?key|client[_-]?secret|[a-z]*token)\\?["']?\s*[=:]\s*\\?["']?)[^\s"'\\,;&<>(){}\[\]]{4,}"#,
        "$1<redacted>",
    ),
];
/// A block of PEM, whose lines may bear the times of a log or be joined by `\n`.
const PEM: &str = r"-----BEGIN ([A-Z0-9 ]+)-----((?:\d{4}-\d\d-\d\dT[0-9:.]+(?:Z|[+-]\d\d:\d\d)|\\[nr]|[A-Za-z-]+: [^\n\\]*|[A-Za-z0-9+/=\s])*)(?:-----END [A-Z0-9 ]+-----)?";
/// What is shorter stands in too many places.
pub(super) const SHORTEST: usize = 8;

/// Knows what may not be shown.
pub(crate) struct Redactor {
    known: Option<AhoCorasick>,
    shapes: Vec<(Regex, &'static str)>,
    pem: Regex,
    /// What a field is called that holds a secret.
    pub(super) names: Regex,
}

impl Redactor {
    /// `known` are texts that are secret.
    pub(super) fn new(known: &BTreeSet<String>) -> Redactor {
        let known = known.iter().filter(|it| it.len() >= SHORTEST);
        let known = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(known);
        let regex = |shape| Regex::new(shape).expect("a test compiles them");
        Redactor {
            known: known.ok(),
            shapes: SHAPES.iter().map(|it| (regex(it.0), it.1)).collect(),
            pem: regex(PEM),
            names: regex(fields::NAMES),
        }
    }

    /// The text without what is secret in it.
    pub(crate) fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        // Before what is known: certificates stand in Secrets too, and are told by their fingerprints.
        if text.contains("-----BEGIN ") {
            text = self.pem.replace_all(&text, pem).into_owned();
        }
        if let Some(known) = self.known.as_ref().filter(|it| it.is_match(&text)) {
            let mut out = String::with_capacity(text.len());
            known.replace_all_with(&text, &mut out, |_, _, out| {
                out.push_str(GONE);
                true
            });
            text = out;
        }
        for (shape, instead) in &self.shapes {
            if shape.is_match(&text) {
                text = shape.replace_all(&text, *instead).into_owned();
            }
        }
        text
    }

    /// A log without what is secret in it. Lines that are JSON are read: an audit log holds whole objects.
    pub(super) fn log(&self, log: &str) -> String {
        let mut out = String::with_capacity(log.len());
        for line in log.split_inclusive('\n') {
            match self.line(line) {
                Some(read) => out += &read,
                None => out += line,
            }
        }
        self.text(&out)
    }

    /// None where nothing has to change.
    fn line(&self, line: &str) -> Option<String> {
        let (time, object) = line.split_at(line.find('{')?);
        // Only a time stands before it.
        let is_time = time.trim().parse::<jiff::Timestamp>().is_ok();
        if !time.is_empty() && !is_time {
            return None;
        }
        let read: Value = serde_json::from_str(object).ok()?;
        let mut without = read.clone();
        self.value(&mut without);
        (read != without).then(|| format!("{time}{without}\n"))
    }
}

/// A certificate is told by its fingerprint, so that it can be compared; all else by its kind alone.
fn pem(block: &Captures<'_>) -> String {
    let kind = &block[1];
    let body: String = block[2].split_whitespace().collect();
    match kind {
        "CERTIFICATE" => {
            let digest = Sha256::digest(body.replace("\\n", "").as_bytes());
            let digest: String = digest[..6].iter().map(|it| format!("{it:02x}")).collect();
            format!("<PEM {kind} {digest}>")
        }
        _ => format!("<PEM {kind}>"),
    }
}

#[cfg(test)]
#[path = "redact_tests.rs"]
mod tests;
