//! The JSON Schema of the model, compiled for checking: references resolved, alternatives distinguished by type.
//!
//! Supports only the keywords that `schemars` generates for the model.

use std::collections::HashMap;

use serde_json::{Map, Value};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct SchemaId(u32);

#[derive(Debug)]
pub(crate) struct CompiledSchema {
    nodes: Vec<SchemaNode>,
    pub(crate) root: SchemaId,
}

#[derive(Debug)]
pub(crate) enum SchemaNode {
    Any,
    Scalar(ScalarSchema),
    List {
        item: SchemaId,
        least: u64,
    },
    Map {
        value: SchemaId,
    },
    Struct(StructSchema),
    /// Alternatives, at most one for each type of node.
    Either(Vec<SchemaId>),
}

#[derive(Debug, Default)]
pub(crate) struct ScalarSchema {
    pub(crate) text: bool,
    pub(crate) integer: bool,
    pub(crate) number: bool,
    pub(crate) boolean: bool,
    /// Allowed values; any if empty.
    pub(crate) words: Vec<String>,
    pub(crate) format: Option<String>,
    pub(crate) least_length: u64,
    pub(crate) minimum: Option<i64>,
    pub(crate) maximum: Option<i64>,
}

#[derive(Debug, Default)]
pub(crate) struct StructSchema {
    pub(crate) fields: HashMap<String, FieldSchema>,
    pub(crate) required: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct FieldSchema {
    pub(crate) schema: SchemaId,
    /// Why the field has no effect; None for a field that has one.
    pub(crate) no_effect: Option<String>,
}

/// Begins the description of a field without effect; the reason follows.
const NO_EFFECT: &str = "No effect: ";

impl CompiledSchema {
    pub(crate) fn of(schema: &Value) -> Self {
        let mut compiler = Compiler {
            document: schema,
            nodes: Vec::new(),
            known: HashMap::new(),
        };
        let root = compiler.compile(schema);
        Self {
            nodes: compiler.nodes,
            root,
        }
    }

    pub(crate) fn get(&self, id: SchemaId) -> &SchemaNode {
        &self.nodes[id.0 as usize]
    }

    /// Fields of the node, if it is or can be a mapping with known keys.
    pub(crate) fn fields(&self, id: SchemaId) -> Option<&StructSchema> {
        match self.get(id) {
            SchemaNode::Struct(fields) => Some(fields),
            SchemaNode::Either(nodes) => nodes.iter().find_map(|node| self.fields(*node)),
            _ => None,
        }
    }
}

struct Compiler<'s> {
    document: &'s Value,
    nodes: Vec<SchemaNode>,
    known: HashMap<&'s str, SchemaId>,
}

impl<'s> Compiler<'s> {
    fn compile(&mut self, schema: &'s Value) -> SchemaId {
        let Value::Object(keywords) = schema else {
            return self.add(SchemaNode::Any);
        };
        if let Some(Value::String(reference)) = keywords.get("$ref") {
            return self.reference(reference);
        }
        let alternatives = keywords
            .get("anyOf")
            .or_else(|| keywords.get("oneOf"))
            .and_then(Value::as_array);
        if let Some(alternatives) = alternatives {
            return self.alternatives(alternatives);
        }
        let types = types(keywords);
        match types.as_slice() {
            [] if keywords.contains_key("const") || keywords.contains_key("enum") => {
                self.add(SchemaNode::Scalar(scalar(keywords, &["string"])))
            }
            [] => self.add(SchemaNode::Any),
            ["object"] => self.object(keywords),
            ["array"] => {
                let item = self.compile(keywords.get("items").unwrap_or(&Value::Bool(true)));
                let least = keywords
                    .get("minItems")
                    .and_then(Value::as_u64)
                    .unwrap_or(0);
                self.add(SchemaNode::List { item, least })
            }
            types => self.add(SchemaNode::Scalar(scalar(keywords, types))),
        }
    }

    fn reference(&mut self, reference: &'s str) -> SchemaId {
        if let Some(id) = self.known.get(reference) {
            return *id;
        }
        let target = self
            .document
            .pointer(reference.trim_start_matches('#'))
            .expect("schemars defines what it refers to");
        let id = self.add(SchemaNode::Any);
        self.known.insert(reference, id);
        let made = self.compile(target);
        self.nodes[id.0 as usize] =
            std::mem::replace(&mut self.nodes[made.0 as usize], SchemaNode::Any);
        id
    }

    /// `null` is not an alternative, since it equals absence; documented variants of an enum are one scalar.
    fn alternatives(&mut self, alternatives: &'s [Value]) -> SchemaId {
        let words: Vec<String> = alternatives
            .iter()
            .filter_map(|a| a.get("const")?.as_str().map(str::to_owned))
            .collect();
        if words.len() == alternatives.len() {
            return self.add(SchemaNode::Scalar(ScalarSchema {
                text: true,
                words,
                ..ScalarSchema::default()
            }));
        }
        let real = alternatives
            .iter()
            .filter(|a| a.get("type") != Some(&Value::from("null")));
        let nodes: Vec<SchemaId> = real.map(|a| self.compile(a)).collect();
        if let [only] = nodes[..] {
            only
        } else {
            self.add(SchemaNode::Either(nodes))
        }
    }

    fn object(&mut self, keywords: &'s Map<String, Value>) -> SchemaId {
        let Some(Value::Object(properties)) = keywords.get("properties") else {
            let value = match keywords.get("additionalProperties") {
                Some(values) => self.compile(values),
                None => self.add(SchemaNode::Any),
            };
            return self.add(SchemaNode::Map { value });
        };
        let names = |key| {
            keywords
                .get(key)
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
        };
        let required: Vec<String> = names("required").map(str::to_owned).collect();
        let fields = properties
            .iter()
            .map(|(name, schema)| {
                (
                    name.clone(),
                    FieldSchema {
                        schema: self.compile(schema),
                        no_effect: no_effect(schema),
                    },
                )
            })
            .collect();
        self.add(SchemaNode::Struct(StructSchema { fields, required }))
    }

    fn add(&mut self, node: SchemaNode) -> SchemaId {
        self.nodes.push(node);
        SchemaId(super::source::offset(self.nodes.len() - 1))
    }
}

fn no_effect(schema: &Value) -> Option<String> {
    let description = schema.get("description")?.as_str()?;
    description.strip_prefix(NO_EFFECT).map(str::to_owned)
}

fn types(keywords: &Map<String, Value>) -> Vec<&str> {
    match keywords.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(many)) => many
            .iter()
            .filter_map(Value::as_str)
            .filter(|t| *t != "null")
            .collect(),
        _ => Vec::new(),
    }
}

fn scalar(keywords: &Map<String, Value>, types: &[&str]) -> ScalarSchema {
    let format = keywords.get("format").and_then(Value::as_str);
    let words = keywords
        .get("enum")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .chain(keywords.get("const"));
    let (lowest, highest) = match format {
        Some("int32") => (Some(i64::from(i32::MIN)), Some(i64::from(i32::MAX))),
        Some("uint32") => (Some(0), Some(i64::from(u32::MAX))),
        Some("uint16") => (Some(0), Some(i64::from(u16::MAX))),
        Some("uint8") => (Some(0), Some(i64::from(u8::MAX))),
        _ => (None, None),
    };
    ScalarSchema {
        text: types.contains(&"string"),
        integer: types.contains(&"integer"),
        number: types.contains(&"number"),
        boolean: types.contains(&"boolean"),
        words: words
            .filter_map(|w| w.as_str().map(str::to_owned))
            .collect(),
        format: format.map(str::to_owned),
        least_length: keywords
            .get("minLength")
            .and_then(Value::as_u64)
            .unwrap_or(0),
        minimum: keywords.get("minimum").and_then(Value::as_i64).or(lowest),
        maximum: keywords.get("maximum").and_then(Value::as_i64).or(highest),
    }
}
