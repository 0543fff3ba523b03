//! The CNI configuration of a tenant network: JSON that stands in a text.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::model::Kind;
use crate::validate::report::{At, Report};

const MOST_BYTES: usize = 1 << 20;

pub(crate) fn check(text: &str, at: &At, report: &mut Report) {
    // An empty text was told of already.
    if text.is_empty() {
        return;
    }
    if text.len() > MOST_BYTES {
        let message = format!("has {} bytes, more than {MOST_BYTES}", text.len());
        report.error(at, Kind::TooLong, "cni/too-long", message);
        return;
    }
    match serde_json::from_str::<Part>(text) {
        Ok(Part::Object(keys)) => object(&keys, at, report),
        Ok(_) => invalid("cni/no-object", "is no JSON object".to_owned(), at, report),
        Err(error) => {
            let whole = error.to_string();
            let place = format!(" at line {} column {}", error.line(), error.column());
            let message = whole.strip_suffix(&place).unwrap_or(&whole);
            report
                .error(
                    at,
                    Kind::Invalid,
                    "cni/json",
                    format!("is no JSON: {message}"),
                )
                .inside(error.line().max(1), error.column().max(1));
        }
    }
}

fn invalid(code: &'static str, message: String, at: &At, report: &mut Report) {
    report
        .error(at, Kind::Invalid, code, message)
        .hint("see the CNI specification; every plugin needs a type, and the whole a cniVersion");
}

fn object(keys: &[(String, Part)], at: &At, report: &mut Report) {
    let find = |name: &str| {
        keys.iter()
            .find(|(key, _)| key == name)
            .map(|(_, part)| part)
    };
    match find("cniVersion") {
        Some(Part::Text(version)) if !version.is_empty() => {}
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
        (Some(Part::List(plugins)), _) if !plugins.is_empty() => {
            for (i, part) in plugins.iter().enumerate() {
                let type_ = match part {
                    Part::Object(keys) => {
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
fn plugin(what: &str, type_: Option<&Part>, at: &At, report: &mut Report) {
    match type_ {
        Some(Part::Text(name)) if name.contains('/') || name.contains("..") => {
            invalid(
                "cni/type",
                format!("{what} has the type {name:?}, which is a path"),
                at,
                report,
            );
        }
        Some(Part::Text(name)) if !name.is_empty() => {}
        _ => invalid("cni/type", format!("{what} has no type"), at, report),
    }
}

/// As much of a JSON value as is judged; a key twice is refused, since readers disagree about which one counts.
enum Part {
    Text(String),
    List(Vec<Part>),
    Object(Vec<(String, Part)>),
    Other,
}

impl<'de> Deserialize<'de> for Part {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Parts)
    }
}

struct Parts;

impl<'de> Visitor<'de> for Parts {
    type Value = Part;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Part, E> {
        Ok(Part::Other)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Part, E> {
        Ok(Part::Other)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Part, E> {
        Ok(Part::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Part, E> {
        Ok(Part::Other)
    }

    fn visit_unit<E>(self) -> Result<Part, E> {
        Ok(Part::Other)
    }

    fn visit_str<E>(self, text: &str) -> Result<Part, E> {
        Ok(Part::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Part, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Part::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Part, A::Error> {
        let mut known = std::collections::HashSet::new();
        let mut object = Vec::new();
        while let Some(key) = entries.next_key::<String>()? {
            if !known.insert(key.clone()) {
                return Err(A::Error::custom(format!("key {key:?} is there twice")));
            }
            object.push((key, entries.next_value()?));
        }
        Ok(Part::Object(object))
    }
}
