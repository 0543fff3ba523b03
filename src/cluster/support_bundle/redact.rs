//! Redaction of texts and objects: known secrets, and patterns that look like secrets. Pure functions.

use crate::cluster::json::text;
use aho_corasick::{AhoCorasick, MatchKind};
use regex::{Captures, Regex};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeSet;

/// Replacement for a known secret.
const REDACTED: &str = "<redacted>";
/// Patterns of secrets, with their replacement.
const SECRET_PATTERNS: [(&str, &str); 8] = [
    // A key or certificate in base64, as in kubeconfigs and Secrets.
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
    // Credentials before the host of a URL.
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
/// A block of PEM, whose lines may have log timestamps or be joined by `\n`.
const PEM: &str = r"-----BEGIN ([A-Z0-9 ]+)-----((?:\d{4}-\d\d-\d\dT[0-9:.]+(?:Z|[+-]\d\d:\d\d)|\\[nr]|[A-Za-z-]+: [^\n\\]*|[A-Za-z0-9+/=\s])*)(?:-----END [A-Z0-9 ]+-----)?";
/// Shorter texts occur in too many places.
pub(crate) const MIN_SECRET_LENGTH: usize = 8;

/// Names of fields whose value is always secret.
pub(crate) const SECRET_FIELD_NAMES: &str = r"(?i)(passwor[dt]|passwd|passphrase|token$|secret$|credential|api[_-]?key|access[_-]?key|private[_-]?key|^auth$|dockerconfig)";
/// Fields with user data of machines.
const USER_DATA: [&str; 6] = [
    "userData",
    "userDataBase64",
    "networkData",
    "networkDataBase64",
    "user-data",
    "userdata",
];
/// A copy of the object, including its secrets.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Namespaces whose ConfigMaps belong to the system, not to users.
const SYSTEM_NAMESPACES: [&str; 3] = ["kube-system", "kube-public", "kube-node-lease"];
/// Fields with the data of Secrets and ConfigMaps.
const DATA: [&str; 3] = ["data", "stringData", "binaryData"];
/// Fields of an audit log entry with objects.
const AUDITED: [&str; 2] = ["requestObject", "responseObject"];

/// Replaces secrets.
pub(crate) struct Redactor {
    known: Option<AhoCorasick>,
    shapes: Vec<(Regex, &'static str)>,
    pem: Regex,
    /// Names of fields that hold secrets.
    pub(crate) names: Regex,
}

impl Redactor {
    /// `known` are secret texts.
    pub(crate) fn new(known: &BTreeSet<String>) -> Redactor {
        let known = known.iter().filter(|it| it.len() >= MIN_SECRET_LENGTH);
        let known = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(known);
        let regex = |shape| Regex::new(shape).expect("a test compiles the patterns");
        Redactor {
            known: known.ok(),
            shapes: SECRET_PATTERNS
                .iter()
                .map(|it| (regex(it.0), it.1))
                .collect(),
            pem: regex(PEM),
            names: regex(SECRET_FIELD_NAMES),
        }
    }

    /// Redacts a text.
    pub(crate) fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        // Before known secrets: certificates are part of Secrets too, and are replaced by fingerprints.
        if text.contains("-----BEGIN ") {
            text = self.pem.replace_all(&text, redact_pem).into_owned();
        }
        if let Some(known) = self.known.as_ref().filter(|it| it.is_match(&text)) {
            let mut out = String::with_capacity(text.len());
            known.replace_all_with(&text, &mut out, |_, _, out| {
                out.push_str(REDACTED);
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

    /// Redacts a log. Lines of JSON are parsed: an audit log has complete objects.
    pub(crate) fn log(&self, log: &str) -> String {
        // Without objects, it is one text; a console may have millions of lines.
        if !log.contains('{') {
            return self.text(log);
        }
        let mut out = String::with_capacity(log.len());
        for line in log.split_inclusive('\n') {
            match self.line(line) {
                Some(read) => out += &read,
                None => out += line,
            }
        }
        self.text(&out)
    }

    /// None if nothing changes.
    fn line(&self, line: &str) -> Option<String> {
        let (time, object) = line.split_at(line.find('{')?);
        // Only a timestamp may precede the object.
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

impl Redactor {
    /// Redacts an object and drops managed fields.
    pub(crate) fn object(&self, value: &mut Value) {
        if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
        }
        self.value(value);
    }

    pub(crate) fn value(&self, value: &mut Value) {
        match value {
            Value::String(it) => *it = self.text(it),
            Value::Array(items) => items.iter_mut().for_each(|it| self.value(it)),
            Value::Object(fields) => self.fields(fields),
            _ => {}
        }
    }

    fn fields(&self, fields: &mut Map<String, Value>) {
        let is_named_value = fields.get("value").is_some_and(Value::is_string);
        let name = fields.get("name").and_then(Value::as_str);
        if is_named_value && name.is_some_and(|it| self.names.is_match(it)) {
            fields["value"] = redacted_length(&fields["value"]);
        }
        redact_data(fields);
        redact_audited(fields);
        for (key, it) in fields {
            let is_secret = USER_DATA.contains(&key.as_str())
                || key == LAST_APPLIED
                || self.names.is_match(key);
            match it {
                Value::String(_) if is_secret => *it = redacted_length(it),
                _ => self.value(it),
            }
        }
    }
}

/// User data are private: key names and lengths are enough.
fn redact_data(fields: &mut Map<String, Value>) {
    let kind = fields.get("kind").and_then(Value::as_str);
    let is_users = match kind {
        Some("Secret") => true,
        Some("ConfigMap") => fields
            .get("metadata")
            .is_some_and(|it| is_user_namespace(&it["namespace"])),
        _ => false,
    };
    if is_users {
        redact_values(fields);
    }
}

/// The same for requests in audit logs: a patch does not have the kind of its object.
fn redact_audited(fields: &mut Map<String, Value>) {
    let Some(about) = fields.get("objectRef") else {
        return;
    };
    let is_users = match text(&about["resource"]) {
        "secrets" => true,
        "configmaps" => is_user_namespace(&about["namespace"]),
        _ => false,
    };
    for object in AUDITED {
        if is_users && let Some(object) = fields.get_mut(object) {
            *object = "<omitted>".into();
        }
    }
}

/// True if ConfigMaps of this namespace of a shoot belong to users.
pub(crate) fn is_user_namespace(namespace: &Value) -> bool {
    namespace
        .as_str()
        .is_some_and(|it| !SYSTEM_NAMESPACES.contains(&it))
}

/// Replaces the values of a Secret or ConfigMap by their lengths.
pub(crate) fn redact_values(fields: &mut Map<String, Value>) {
    for field in DATA {
        let data = fields.get_mut(field).and_then(Value::as_object_mut);
        for (_, it) in data.into_iter().flatten() {
            *it = redacted_length(it);
        }
    }
}

/// Replacement for a secret text; a text that is replaced already stays.
pub(crate) fn redacted_length(value: &Value) -> Value {
    let text = text(value);
    match text.starts_with('<') && text.ends_with(" bytes>") {
        true => text.into(),
        false => format!("<{} bytes>", text.len()).into(),
    }
}

/// Certificates are replaced by a fingerprint, so that they can be compared; other blocks by their type.
fn redact_pem(block: &Captures<'_>) -> String {
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
