//! Secrets: key names and lengths for the bundle, values for redaction elsewhere. Pure functions.
use super::redact::{self, MIN_SECRET_LENGTH};
use crate::cluster::json::text;
use crate::state::json::from_yaml;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Keys of Kubernetes' Secrets that are not secret.
const PUBLIC: [(&str, &[&str]); 2] = [
    (
        "bootstrap.kubernetes.io/token",
        &[
            "token-id",
            "auth-extra-groups",
            "description",
            "expiration",
            "usage-bootstrap-authentication",
            "usage-bootstrap-signing",
        ],
    ),
    ("kubernetes.io/service-account-token", &["namespace"]),
];
/// Prefixes of annotations that describe a Secret and are not secret.
const DESCRIPTIVE_ANNOTATIONS: [&str; 2] = ["kvshoot.io/", "kubernetes.io/"];
/// Length of a line of PEM; words are shorter.
const PEM_LINE_LENGTH: usize = 40;

/// Reduces a Secret to key names and lengths.
pub(crate) fn redacted_secret(secret: &Value) -> Value {
    let mut metadata = secret["metadata"].clone();
    if let Some(annotations) = metadata["annotations"].as_object_mut() {
        for (key, it) in annotations {
            if !DESCRIPTIVE_ANNOTATIONS
                .iter()
                .any(|telling| key.starts_with(telling))
            {
                *it = redact::redacted_length(it);
            }
        }
    }
    let mut reduced = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata,
        "type": secret["type"],
    });
    if let Some(data) = secret["data"].as_object() {
        let length = |it: &Value| match STANDARD.decode(text(it)) {
            Ok(bytes) => format!("<{} bytes>", bytes.len()),
            Err(_) => "<not base64>".to_owned(),
        };
        let data = data
            .iter()
            .map(|(key, it)| (key.clone(), length(it).into()));
        reduced["data"] = Value::Object(data.collect());
    }
    reduced
}

/// Adds the values of a Secret, in all encodings that may occur elsewhere.
pub(crate) fn learn_secret(known: &mut BTreeSet<String>, secret: &Value) {
    let kind = text(&secret["type"]);
    let public = PUBLIC
        .iter()
        .find(|it| it.0 == kind)
        .map_or(&[][..], |it| it.1);
    for (key, coded) in secret["data"].as_object().into_iter().flatten() {
        if public.contains(&key.as_str()) {
            continue;
        }
        let coded = text(coded);
        known.insert(coded.to_owned());
        if let Ok(plain) = STANDARD.decode(coded).map(String::from_utf8) {
            learn_text(known, &plain.unwrap_or_default());
        }
    }
}

/// Adds a text: as it is, in base64, each line of a key, and each value of a file.
pub(crate) fn learn_text(known: &mut BTreeSet<String>, plain: &str) {
    let whole = plain.trim();
    known.insert(whole.to_owned());
    known.insert(STANDARD.encode(whole));
    known.insert(STANDARD.encode(plain));
    let lines = whole.lines().map(str::trim);
    known.extend(lines.filter(|it| is_coded(it)).map(str::to_owned));
}

/// Adds the values of a user-written file for machines.
pub(crate) fn learn_file(known: &mut BTreeSet<String>, plain: &str) {
    learn_text(known, plain);
    if let Some(value) = from_yaml(plain) {
        learn_values(known, &value);
    }
}

fn learn_values(known: &mut BTreeSet<String>, value: &Value) {
    match value {
        Value::String(it) => {
            learn_text(known, it);
            known.extend(it.lines().map(|it| it.trim().to_owned()));
        }
        Value::Array(items) => items.iter().for_each(|it| learn_values(known, it)),
        Value::Object(fields) => fields.values().for_each(|it| learn_values(known, it)),
        _ => {}
    }
}

fn is_coded(line: &str) -> bool {
    line.len() >= PEM_LINE_LENGTH
        && line
            .bytes()
            .all(|it| it.is_ascii_alphanumeric() || b"+/=".contains(&it))
}

/// Removes names of objects, which occur everywhere and are not secret.
pub(crate) fn forget_names<'a>(
    known: &mut BTreeSet<String>,
    names: impl IntoIterator<Item = &'a str>,
) {
    for name in names {
        known.remove(name);
    }
    known.retain(|it| it.len() >= MIN_SECRET_LENGTH);
}
