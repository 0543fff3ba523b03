//! The JSON Schema of the model, made ready for checking: references resolved, alternatives told apart by their type.
//!
//! Only what `schemars` makes out of our own types is understood. A keyword that is not is a bug and panics in a test.

use std::collections::HashMap;

use serde_json::{Map, Value};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ShapeId(u32);

#[derive(Debug)]
pub(crate) struct Shapes {
    shapes: Vec<Shape>,
    pub(crate) root: ShapeId,
}

#[derive(Debug)]
pub(crate) enum Shape {
    Any,
    /// Anything, and worth a warning.
    Unused,
    Scalar(Scalar),
    List {
        item: ShapeId,
        least: u64,
    },
    Map {
        value: ShapeId,
    },
    Struct(Struct),
    /// At most one alternative for each type of node.
    Either(Vec<ShapeId>),
}

#[derive(Debug, Default)]
pub(crate) struct Scalar {
    pub(crate) text: bool,
    pub(crate) integer: bool,
    pub(crate) number: bool,
    pub(crate) boolean: bool,
    /// The only texts that are allowed, unless empty.
    pub(crate) words: Vec<String>,
    pub(crate) format: Option<String>,
    pub(crate) least_length: u64,
    pub(crate) minimum: Option<i64>,
    pub(crate) maximum: Option<i64>,
}

#[derive(Debug, Default)]
pub(crate) struct Struct {
    pub(crate) fields: HashMap<String, Field>,
    pub(crate) required: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) shape: ShapeId,
}

impl Shapes {
    pub(crate) fn of(schema: &Value) -> Self {
        let mut compiler = Compiler {
            document: schema,
            shapes: Vec::new(),
            known: HashMap::new(),
        };
        let root = compiler.shape(schema);
        Self {
            shapes: compiler.shapes,
            root,
        }
    }

    pub(crate) fn get(&self, id: ShapeId) -> &Shape {
        &self.shapes[id.0 as usize]
    }

    /// The field of that name, when the shape is, or may be, a mapping with known keys.
    pub(crate) fn fields(&self, id: ShapeId) -> Option<&Struct> {
        match self.get(id) {
            Shape::Struct(fields) => Some(fields),
            Shape::Either(shapes) => shapes.iter().find_map(|shape| self.fields(*shape)),
            _ => None,
        }
    }
}

struct Compiler<'s> {
    document: &'s Value,
    shapes: Vec<Shape>,
    known: HashMap<&'s str, ShapeId>,
}

impl<'s> Compiler<'s> {
    fn shape(&mut self, schema: &'s Value) -> ShapeId {
        let Value::Object(keywords) = schema else {
            return self.add(Shape::Any);
        };
        if let Some(Value::String(reference)) = keywords.get("$ref") {
            return self.reference(reference);
        }
        if keywords.contains_key("x-unused") {
            return self.add(Shape::Unused);
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
                self.add(Shape::Scalar(scalar(keywords, &["string"])))
            }
            [] => self.add(Shape::Any),
            ["object"] => self.object(keywords),
            ["array"] => {
                let item = self.shape(keywords.get("items").unwrap_or(&Value::Bool(true)));
                let least = keywords
                    .get("minItems")
                    .and_then(Value::as_u64)
                    .unwrap_or(0);
                self.add(Shape::List { item, least })
            }
            types => self.add(Shape::Scalar(scalar(keywords, types))),
        }
    }

    fn reference(&mut self, reference: &'s str) -> ShapeId {
        if let Some(id) = self.known.get(reference) {
            return *id;
        }
        let target = self
            .document
            .pointer(reference.trim_start_matches('#'))
            .expect("schemars defines what it refers to");
        let id = self.add(Shape::Any);
        self.known.insert(reference, id);
        let made = self.shape(target);
        self.shapes[id.0 as usize] =
            std::mem::replace(&mut self.shapes[made.0 as usize], Shape::Any);
        id
    }

    /// `null` is what absent is, so it is no alternative; variants of an enum with documentation are one scalar.
    fn alternatives(&mut self, alternatives: &'s [Value]) -> ShapeId {
        let words: Vec<String> = alternatives
            .iter()
            .filter_map(|a| a.get("const")?.as_str().map(str::to_owned))
            .collect();
        if words.len() == alternatives.len() {
            return self.add(Shape::Scalar(Scalar {
                text: true,
                words,
                ..Scalar::default()
            }));
        }
        let real = alternatives
            .iter()
            .filter(|a| a.get("type") != Some(&Value::from("null")));
        let shapes: Vec<ShapeId> = real.map(|a| self.shape(a)).collect();
        if let [only] = shapes[..] {
            only
        } else {
            self.add(Shape::Either(shapes))
        }
    }

    fn object(&mut self, keywords: &'s Map<String, Value>) -> ShapeId {
        let Some(Value::Object(properties)) = keywords.get("properties") else {
            let value = match keywords.get("additionalProperties") {
                Some(values) => self.shape(values),
                None => self.add(Shape::Any),
            };
            return self.add(Shape::Map { value });
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
                    Field {
                        shape: self.shape(schema),
                    },
                )
            })
            .collect();
        self.add(Shape::Struct(Struct { fields, required }))
    }

    fn add(&mut self, shape: Shape) -> ShapeId {
        self.shapes.push(shape);
        ShapeId(super::source::offset(self.shapes.len() - 1))
    }
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

fn scalar(keywords: &Map<String, Value>, types: &[&str]) -> Scalar {
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
    Scalar {
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
