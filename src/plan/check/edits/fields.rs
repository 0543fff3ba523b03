//! The fields of a document, from its JSON schema, and values for them.

use crate::manifest::schema_of;
use serde_json::{Map, Value, json};
use std::fmt;

/// Beginnings of the descriptions of fields that have one valid value or none.
const FIXED: [&str; 4] = ["Always ", "Must ", "Not supported", "No effect: "];

/// A field that can be edited: a scalar, or a list or map of scalars.
pub(super) struct Field {
    path: Vec<Step>,
    schema: Value,
}

#[derive(Clone)]
enum Step {
    Key(String),
    /// The first item of a list.
    First,
}

/// All fields in the order of the schema. Those that `is_whole` selects by their path have no fields below.
pub(super) fn fields(kind: &str, is_whole: impl Fn(&str) -> bool) -> Vec<Field> {
    let root = schema_of(kind).expect("a known kind");
    let mut fields = Vec::new();
    let walk = Walk {
        root: root.as_value(),
        is_whole: &is_whole,
    };
    walk.below(root.as_value(), &[], &mut fields);
    fields
}

struct Walk<'a> {
    root: &'a Value,
    is_whole: &'a dyn Fn(&str) -> bool,
}

impl Walk<'_> {
    fn below(&self, schema: &Value, path: &[Step], fields: &mut Vec<Field>) {
        let root = self.root;
        let schema = resolved(root, schema);
        let text = schema["description"].as_str().unwrap_or_default();
        let is_unused = schema["x-ignored"] == true || schema["x-unused"] == true;
        if is_unused || FIXED.iter().any(|it| text.starts_with(it)) {
            return;
        }
        let field = Field {
            path: path.to_vec(),
            schema,
        };
        if (self.is_whole)(&field.to_string()) {
            return fields.push(field);
        }
        let schema = &field.schema;
        if let Some(Value::Object(properties)) = schema.get("properties") {
            for (name, property) in properties {
                let path = [path, &[Step::Key(name.clone())]].concat();
                self.below(property, &path, fields);
            }
            return;
        }
        let items = schema.get("items").map(|it| resolved(root, it));
        if let Some(items) = items.filter(|it| it.get("properties").is_some()) {
            return self.below(&items, &[path, &[Step::First]].concat(), fields);
        }
        fields.push(field);
    }
}

/// The schema with what it refers to, without the alternative `null`. Its own description wins.
fn resolved(root: &Value, schema: &Value) -> Value {
    let mut all: Map<String, Value> = schema.as_object().cloned().unwrap_or_default();
    loop {
        let inner = match (all.remove("$ref"), all.remove("anyOf")) {
            (Some(Value::String(reference)), _) => root.pointer(&reference[1..]).cloned(),
            (_, Some(Value::Array(alternatives))) => {
                let is_real = |it: &&Value| it["type"] != "null";
                alternatives.iter().find(is_real).cloned()
            }
            _ => return all.into(),
        };
        for (key, value) in inner
            .as_ref()
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            all.entry(key).or_insert_with(|| value.clone());
        }
    }
}

impl Field {
    /// Another value than that of the document.
    pub(super) fn other_value(&self, document: &Value) -> Value {
        let now = self.get(document);
        let types = self.schema["type"].as_array();
        let is = |name: &str| {
            self.schema["type"] == name || types.is_some_and(|it| it.contains(&json!(name)))
        };
        match (now, self.schema["format"].as_str()) {
            (_, Some("quantity")) => json!("3Gi"),
            (_, Some("duration")) => json!("90s"),
            (now, _) if is("boolean") => json!(now != Some(&json!(true))),
            (Some(Value::Number(now)), _) => json!(now.as_i64().unwrap_or_default() + 1),
            (None, _) if is("integer") => json!(3),
            (now, _) if is("array") => {
                let list = now.and_then(Value::as_array).cloned().unwrap_or_default();
                [list, vec![json!("edit")]].concat().into()
            }
            (now, _) if is("object") => {
                let mut map = now.and_then(Value::as_object).cloned().unwrap_or_default();
                let is_flag = self.schema["additionalProperties"]["type"] == "boolean";
                map.insert(
                    "Edit".to_owned(),
                    if is_flag { json!(true) } else { json!("edit") },
                );
                map.into()
            }
            _ => json!("edit"),
        }
    }

    fn get<'d>(&self, document: &'d Value) -> Option<&'d Value> {
        self.path
            .iter()
            .try_fold(document, |value, step| match step {
                Step::Key(key) => value.get(key),
                Step::First => value.get(0),
            })
    }

    /// Sets the field, and adds what is missing above it; null removes it.
    pub(super) fn set(&self, document: &mut Value, value: &Value) {
        let mut at = document;
        let (last, above) = self.path.split_last().expect("a field has a name");
        for step in above {
            at = match step {
                Step::Key(key) => &mut at[key],
                Step::First => {
                    if at.is_null() {
                        *at = json!([{}]);
                    }
                    &mut at[0]
                }
            };
        }
        match (last, value) {
            (Step::Key(key), Value::Null) => {
                at.as_object_mut().map(|it| it.remove(key));
            }
            (Step::Key(key), value) => at[key] = value.clone(),
            (Step::First, _) => unreachable!("a list of scalars is one field"),
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, step) in self.path.iter().enumerate() {
            match step {
                Step::First => f.write_str("[]")?,
                Step::Key(key) if index == 0 => f.write_str(key)?,
                Step::Key(key) => write!(f, ".{key}")?,
            }
        }
        Ok(())
    }
}
