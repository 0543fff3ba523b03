//! Secrets: what they are called and how long, for all to see; what they hold, for looking for it everywhere else. Pure.
use super::redact::{self, SHORTEST};
use crate::cluster::json::text;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Keys of Kubernetes' own Secrets that say what they are for.
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
/// Annotations that tell what a Secret is, and not what it holds.
const TELLING: [&str; 2] = ["kvshoot.io/", "kubernetes.io/"];
/// Of a line of PEM; words are shorter.
const LINE: usize = 40;

/// A Secret without what it holds: key names and lengths are left.
pub(crate) fn reduced(secret: &Value) -> Value {
    let mut metadata = secret["metadata"].clone();
    if let Some(annotations) = metadata["annotations"].as_object_mut() {
        for (key, it) in annotations {
            if !TELLING.iter().any(|telling| key.starts_with(telling)) {
                *it = redact::length(it);
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
            Err(_) => "<no base64>".to_owned(),
        };
        let data = data
            .iter()
            .map(|(key, it)| (key.clone(), length(it).into()));
        reduced["data"] = Value::Object(data.collect());
    }
    reduced
}

/// Adds what a Secret holds, in all ways in which it may stand elsewhere.
pub(crate) fn learn(known: &mut BTreeSet<String>, secret: &Value) {
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

/// As it is, in base64, each line of a key by itself, and each value of a file.
pub(crate) fn learn_text(known: &mut BTreeSet<String>, plain: &str) {
    let whole = plain.trim();
    known.insert(whole.to_owned());
    known.insert(STANDARD.encode(whole));
    known.insert(STANDARD.encode(plain));
    let lines = whole.lines().map(str::trim);
    known.extend(lines.filter(|it| is_coded(it)).map(str::to_owned));
}

/// Adds what a file that people wrote for machines holds.
pub(crate) fn learn_file(known: &mut BTreeSet<String>, plain: &str) {
    learn_text(known, plain);
    if let Ok(value) = serde_yaml::from_str::<Value>(plain) {
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
    line.len() >= LINE
        && line
            .bytes()
            .all(|it| it.is_ascii_alphanumeric() || b"+/=".contains(&it))
}

/// Leaves out what every object's name may be, for it stands everywhere and hides nothing.
pub(crate) fn without_names<'a>(
    known: &mut BTreeSet<String>,
    names: impl IntoIterator<Item = &'a str>,
) {
    for name in names {
        known.remove(name);
    }
    known.retain(|it| it.len() >= SHORTEST);
}
