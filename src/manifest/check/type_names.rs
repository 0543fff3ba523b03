//! Type names for messages: of a node, and of a schema.

use crate::manifest::scalar::ScalarValue;
use crate::manifest::schema::{CompiledSchema, ScalarSchema, SchemaId, SchemaNode};
use crate::manifest::source::SourceFile;
use crate::manifest::tree::{NodeId, NodeKind, Tree};

pub(super) fn of_node(source: &SourceFile, tree: &Tree, id: NodeId) -> &'static str {
    match tree.kind(id) {
        NodeKind::List(_) => "a list",
        NodeKind::Map(_) => "a mapping",
        NodeKind::Scalar { .. } | NodeKind::Alias(_) => {
            let text = tree.text(source, id).map_or("", |(text, _)| text);
            let value = tree.scalar_value(source, id).unwrap_or(ScalarValue::Text);
            of_scalar(text, value)
        }
    }
}

pub(super) fn of_scalar(text: &str, value: ScalarValue) -> &'static str {
    match value {
        ScalarValue::Float(_) if text.bytes().all(|it| it.is_ascii_digit()) => {
            "a number that is too large"
        }
        ScalarValue::Int(_) | ScalarValue::Float(_) => "a number",
        ScalarValue::Bool(_) => "a boolean",
        ScalarValue::Null => "null",
        ScalarValue::Ambiguous if is_number(text) => "a number in YAML 1.1",
        ScalarValue::Ambiguous => "a boolean in YAML 1.1",
        ScalarValue::Text => "a string",
    }
}

/// Returns true if an ambiguous scalar is a number in YAML 1.1, and false if it is a boolean.
pub(super) fn is_number(contested: &str) -> bool {
    contested.contains(|c: char| c.is_ascii_digit())
}

pub(super) fn of_schema(schema: &CompiledSchema, wanted: SchemaId) -> String {
    match schema.get(wanted) {
        SchemaNode::Any => "anything".to_owned(),
        SchemaNode::Scalar(scalar) => of_wanted(scalar),
        SchemaNode::List { .. } => "a list".to_owned(),
        SchemaNode::Map { .. } | SchemaNode::Struct(_) => "a mapping".to_owned(),
        SchemaNode::Either(alternatives) => alternatives
            .iter()
            .map(|alternative| of_schema(schema, *alternative))
            .collect::<Vec<_>>()
            .join(" or "),
    }
}

pub(super) fn of_wanted(scalar: &ScalarSchema) -> String {
    let names = [
        (scalar.integer, "an integer"),
        (scalar.number, "a number"),
        (scalar.boolean, "a boolean"),
        (scalar.text, "a string"),
    ];
    names
        .iter()
        .filter(|(is_wanted, _)| *is_wanted)
        .map(|(_, name)| *name)
        .collect::<Vec<_>>()
        .join(" or ")
}
