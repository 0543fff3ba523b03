//! Takes what is secret out of texts and objects: what is known to be, and what looks as if it were. Pure.

use crate::cluster::json::text;
use aho_corasick::{AhoCorasick, MatchKind};
use regex::{Captures, Regex};
use serde_json::{Map, Value};
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
pub(crate) const SHORTEST: usize = 8;

/// What is called so is secret, whatever it looks like.
pub(crate) const NAMES: &str = r"(?i)(passwor[dt]|passwd|passphrase|token$|secret$|credential|api[_-]?key|access[_-]?key|private[_-]?key|^auth$|dockerconfig)";
/// Fields that hold what a machine is told when it boots.
const USER_DATA: [&str; 6] = [
    "userData",
    "userDataBase64",
    "networkData",
    "networkDataBase64",
    "user-data",
    "userdata",
];
/// Says again what stands in the object, secrets too.
const APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Whose ConfigMaps serve the cluster, and not its users.
const SYSTEM: [&str; 3] = ["kube-system", "kube-public", "kube-node-lease"];
/// Where Secrets and ConfigMaps have what they hold.
const DATA: [&str; 3] = ["data", "stringData", "binaryData"];
/// What an entry of an audit log has of an object.
const AUDITED: [&str; 2] = ["requestObject", "responseObject"];

/// Knows what may not be shown.
pub(crate) struct Redactor {
    known: Option<AhoCorasick>,
    shapes: Vec<(Regex, &'static str)>,
    pem: Regex,
    /// What a field is called that holds a secret.
    pub(crate) names: Regex,
}

impl Redactor {
    /// `known` are texts that are secret.
    pub(crate) fn new(known: &BTreeSet<String>) -> Redactor {
        let known = known.iter().filter(|it| it.len() >= SHORTEST);
        let known = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(known);
        let regex = |shape| Regex::new(shape).expect("a test compiles them");
        Redactor {
            known: known.ok(),
            shapes: SHAPES.iter().map(|it| (regex(it.0), it.1)).collect(),
            pem: regex(PEM),
            names: regex(NAMES),
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
    pub(crate) fn log(&self, log: &str) -> String {
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

impl Redactor {
    /// The object without what is secret in it, and without what only programs read.
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
            fields["value"] = length(&fields["value"]);
        }
        without_data(fields);
        without_audited(fields);
        for (key, it) in fields {
            let is_secret =
                USER_DATA.contains(&key.as_str()) || key == APPLIED || self.names.is_match(key);
            match it {
                Value::String(_) if is_secret => *it = length(it),
                _ => self.value(it),
            }
        }
    }
}

/// What users keep is nobody else's business: names and lengths will do.
fn without_data(fields: &mut Map<String, Value>) {
    let kind = fields.get("kind").and_then(Value::as_str);
    let is_users = match kind {
        Some("Secret") => true,
        Some("ConfigMap") => fields
            .get("metadata")
            .is_some_and(|it| is_users(&it["namespace"])),
        _ => false,
    };
    if is_users {
        lengths(fields);
    }
}

/// The same of what is told of a request: a patch does not say what kind of object it is of.
fn without_audited(fields: &mut Map<String, Value>) {
    let Some(about) = fields.get("objectRef") else {
        return;
    };
    let is_users = match text(&about["resource"]) {
        "secrets" => true,
        "configmaps" => is_users(&about["namespace"]),
        _ => false,
    };
    for object in AUDITED {
        if is_users && let Some(object) = fields.get_mut(object) {
            *object = "<left out>".into();
        }
    }
}

/// Whether a ConfigMap in this namespace of a shoot is not Kubernetes' own.
pub(crate) fn is_users(namespace: &Value) -> bool {
    namespace.as_str().is_some_and(|it| !SYSTEM.contains(&it))
}

/// Keeps names and lengths of what a Secret or ConfigMap holds.
pub(crate) fn lengths(fields: &mut Map<String, Value>) {
    for field in DATA {
        let data = fields.get_mut(field).and_then(Value::as_object_mut);
        for (_, it) in data.into_iter().flatten() {
            *it = length(it);
        }
    }
}

/// What is left of a text that may not be shown; what is so already stays.
pub(crate) fn length(value: &Value) -> Value {
    let text = text(value);
    match text.starts_with('<') && text.ends_with(" bytes>") {
        true => text.into(),
        false => format!("<{} bytes>", text.len()).into(),
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
