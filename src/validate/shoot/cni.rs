//! The CNI configuration of a tenant network: JSON that stands in a text.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::model::FindingKind;
use crate::validate::report::{FieldCursor, FindingSink};

const MOST_BYTES: usize = 1 << 20;

pub(crate) fn check(text: &str, at: &FieldCursor, report: &mut FindingSink) {
    // An empty text was told of already.
    if text.is_empty() {
        return;
    }
    if text.len() > MOST_BYTES {
        let message = format!("has {} bytes, more than {MOST_BYTES}", text.len());
        report.error(at, FindingKind::TooLong, "cni/too-long", message);
        return;
    }
    match serde_json::from_str::<CniValue>(text) {
        Ok(CniValue::Object(keys)) => object(&keys, at, report),
        Ok(_) => invalid("cni/no-object", "is no JSON object".to_owned(), at, report),
        Err(error) => {
            let whole = error.to_string();
            let place = format!(" at line {} column {}", error.line(), error.column());
            let message = whole.strip_suffix(&place).unwrap_or(&whole);
            report
                .error(
                    at,
                    FindingKind::Invalid,
                    "cni/json",
                    format!("is no JSON: {message}"),
                )
                .inside(error.line().max(1), error.column().max(1));
        }
    }
}

fn invalid(code: &'static str, message: String, at: &FieldCursor, report: &mut FindingSink) {
    report
        .error(at, FindingKind::Invalid, code, message)
        .hint("see the CNI specification; every plugin needs a type, and the whole a cniVersion");
}

fn object(keys: &[(String, CniValue)], at: &FieldCursor, report: &mut FindingSink) {
    let find = |name: &str| {
        keys.iter()
            .find(|(key, _)| key == name)
            .map(|(_, part)| part)
    };
    match find("cniVersion") {
        Some(CniValue::Text(version)) if !version.is_empty() => {}
        Some(_) => invalid(
            "cni/version",
            "has a cniVersion that is no text".to_owned(),
            at,
            report,
        ),
        None => invalid("cni/version", "has no cniVersion".to_owned(), at, report),
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
            "has plugins that are no list of at least one".to_owned(),
            at,
            report,
        ),
    }
}

/// The type is the name of a program on the host, which must not lead out of its folder.
fn plugin(what: &str, type_: Option<&CniValue>, at: &FieldCursor, report: &mut FindingSink) {
    match type_ {
        Some(CniValue::Text(name)) if name.contains('/') || name.contains("..") => {
            invalid(
                "cni/type",
                format!("{what} has the type {name:?}, which is a path"),
                at,
                report,
            );
        }
        Some(CniValue::Text(name)) if !name.is_empty() => {}
        _ => invalid("cni/type", format!("{what} has no type"), at, report),
    }
}

/// As much of a JSON value as is judged; a key twice is refused, since readers disagree about which one counts.
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
                return Err(A::Error::custom(format!("key {key:?} is there twice")));
            }
            object.push((key, entries.next_value()?));
        }
        Ok(CniValue::Object(object))
    }
}
