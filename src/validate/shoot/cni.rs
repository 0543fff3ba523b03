//! The CNI configuration of a tenant network: JSON in a string.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::model::FindingKind;
use crate::validate::report::{FieldCursor, FindingSink};

const MAX_BYTES: usize = 1 << 20;

pub(crate) fn check(text: &str, at: &FieldCursor, report: &mut FindingSink) {
    // An empty value is reported as missing.
    if text.is_empty() {
        return;
    }
    if text.len() > MAX_BYTES {
        let message = format!("must be at most {MAX_BYTES} bytes (is {})", text.len());
        report.error(at, FindingKind::TooLong, "cni/too-long", message);
        return;
    }
    match serde_json::from_str::<CniValue>(text) {
        Ok(CniValue::Object(keys)) => object(&keys, at, report),
        Ok(_) => invalid(
            "cni/no-object",
            "must be a JSON object".to_owned(),
            at,
            report,
        ),
        Err(error) => {
            let text_with_position = error.to_string();
            let place = format!(" at line {} column {}", error.line(), error.column());
            let message = text_with_position
                .strip_suffix(&place)
                .unwrap_or(&text_with_position);
            report
                .error(
                    at,
                    FindingKind::Invalid,
                    "cni/json",
                    format!("not valid JSON: {message}"),
                )
                .inside(error.line().max(1), error.column().max(1));
        }
    }
}

/// Returns true for three numbers, as in 0.3.1.
fn is_version(text: &str) -> bool {
    let is_number = |it: &str| !it.is_empty() && it.bytes().all(|b| b.is_ascii_digit());
    text.split('.').count() == 3 && text.split('.').all(is_number)
}

fn invalid(code: &'static str, message: String, at: &FieldCursor, report: &mut FindingSink) {
    report
        .error(at, FindingKind::Invalid, code, message)
        .hint("a CNI configuration needs a cniVersion, and each plugin a type");
}

fn object(keys: &[(String, CniValue)], at: &FieldCursor, report: &mut FindingSink) {
    let find = |name: &str| {
        keys.iter()
            .find(|(key, _)| key == name)
            .map(|(_, part)| part)
    };
    match find("cniVersion") {
        Some(CniValue::Text(version)) if is_version(version) => {}
        Some(CniValue::Text(version)) => {
            let message =
                format!("cniVersion {version:?} is not a version of the CNI specification");
            report
                .error(at, FindingKind::Invalid, "cni/version", message)
                .hint("released versions: 0.1.0, 0.2.0, 0.3.0, 0.3.1, 0.4.0, 1.0.0, 1.1.0");
        }
        Some(_) => invalid(
            "cni/version",
            "cniVersion must be a string".to_owned(),
            at,
            report,
        ),
        None => invalid(
            "cni/version",
            "cniVersion is required".to_owned(),
            at,
            report,
        ),
    }
    match (find("plugins"), find("type")) {
        (None, type_) => plugin("the configuration", type_, at, report),
        (Some(CniValue::List(plugins)), _) if !plugins.is_empty() => {
            for (i, part) in plugins.iter().enumerate() {
                let type_ = match part {
                    CniValue::Object(keys) => {
                        keys.iter().find(|(key, _)| key == "type").map(|(_, it)| it)
                    }
                    _ => None,
                };
                plugin(&format!("plugins[{i}]"), type_, at, report);
            }
        }
        (Some(_), _) => invalid(
            "cni/plugins",
            "plugins must be a non-empty list".to_owned(),
            at,
            report,
        ),
    }
}

/// The type is the name of an executable on the host, which must not be a path.
fn plugin(what: &str, type_: Option<&CniValue>, at: &FieldCursor, report: &mut FindingSink) {
    match type_ {
        Some(CniValue::Text(name)) if name.contains('/') || name.contains("..") => {
            invalid(
                "cni/type",
                format!("{what} has type {name:?}, which must not be a path"),
                at,
                report,
            );
        }
        Some(CniValue::Text(name)) if !name.is_empty() => {}
        _ => invalid("cni/type", format!("{what} has no type"), at, report),
    }
}

/// A JSON value, as far as it is validated. Duplicate keys are rejected, since readers treat them differently.
enum CniValue {
    Text(String),
    List(Vec<CniValue>),
    Object(Vec<(String, CniValue)>),
    Other,
}

impl<'de> Deserialize<'de> for CniValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CniValueVisitor)
    }
}

struct CniValueVisitor;

impl<'de> Visitor<'de> for CniValueVisitor {
    type Value = CniValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<CniValue, E> {
        Ok(CniValue::Other)
    }

    fn visit_i64<E>(self, _: i64) -> Result<CniValue, E> {
        Ok(CniValue::Other)
    }

    fn visit_u64<E>(self, _: u64) -> Result<CniValue, E> {
        Ok(CniValue::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<CniValue, E> {
        Ok(CniValue::Other)
    }

    fn visit_unit<E>(self) -> Result<CniValue, E> {
        Ok(CniValue::Other)
    }

    fn visit_str<E>(self, text: &str) -> Result<CniValue, E> {
        Ok(CniValue::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<CniValue, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(CniValue::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<CniValue, A::Error> {
        let mut known = std::collections::HashSet::new();
        let mut object = Vec::new();
        while let Some(key) = entries.next_key::<String>()? {
            if !known.insert(key.clone()) {
                return Err(A::Error::custom(format!("duplicate key {key:?}")));
            }
            object.push((key, entries.next_value()?));
        }
        Ok(CniValue::Object(object))
    }
}
