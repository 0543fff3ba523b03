//! Names of types for messages: of a node that was found, and of a shape that is wanted.

use crate::manifest::scalar::Meaning;
use crate::manifest::schema::{Scalar, Shape, ShapeId, Shapes};
use crate::manifest::source::Source;
use crate::manifest::tree::{NodeId, NodeKind, Tree};

pub(super) fn of_node(source: &Source, tree: &Tree, id: NodeId) -> &'static str {
    match tree.kind(id) {
        NodeKind::List(_) => "a list",
        NodeKind::Map(_) => "a mapping",
        NodeKind::Scalar { .. } | NodeKind::Alias(_) => {
            let text = tree.text(source, id).map_or("", |(text, _)| text);
            let meaning = tree.meaning(source, id).unwrap_or(Meaning::Text);
            of_scalar(text, meaning)
        }
    }
}

pub(super) fn of_scalar(text: &str, meaning: Meaning) -> &'static str {
    match meaning {
        Meaning::Int(_) | Meaning::Float(_) => "a number",
        Meaning::Bool(_) => "a truth value",
        Meaning::Null => "nothing",
        Meaning::Contested if is_number(text) => "a number to some readers",
        Meaning::Contested => "a truth value to some readers",
        Meaning::Text => "text",
    }
}

/// A contested scalar is either a number or a truth value in YAML 1.1.
pub(super) fn is_number(contested: &str) -> bool {
    contested.contains(|c: char| c.is_ascii_digit())
}

pub(super) fn of_shape(shapes: &Shapes, shape: ShapeId) -> String {
    match shapes.get(shape) {
        Shape::Any | Shape::Unused => "anything".to_owned(),
        Shape::Scalar(scalar) => of_wanted(scalar),
        Shape::List { .. } => "a list".to_owned(),
        Shape::Map { .. } | Shape::Struct(_) => "a mapping".to_owned(),
        Shape::Either(alternatives) => alternatives
            .iter()
            .map(|alternative| of_shape(shapes, *alternative))
            .collect::<Vec<_>>()
            .join(" or "),
    }
}

pub(super) fn of_wanted(scalar: &Scalar) -> String {
    let names = [
        (scalar.integer, "a whole number"),
        (scalar.number, "a number"),
        (scalar.boolean, "true or false"),
        (scalar.text, "text"),
    ];
    names
        .iter()
        .filter(|(is_wanted, _)| *is_wanted)
        .map(|(_, name)| *name)
        .collect::<Vec<_>>()
        .join(" or ")
}
