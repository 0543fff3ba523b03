//! What stands there and what is wanted, in words.

use crate::model::FieldPath;

use super::Walk;
use crate::manifest::problem::{Kind, Problem};
use crate::manifest::scalar::Meaning;
use crate::manifest::schema::{Scalar, Shape, ShapeId};
use crate::manifest::tree::{NodeId, NodeKind};

impl Walk<'_> {
    pub(crate) fn wrong_type(&mut self, id: NodeId, key: NodeId, shape: ShapeId) {
        let message = format!("{} where {} is wanted", self.called(id), self.wanted(shape));
        let hint = match (self.shapes.get(shape), self.tree.text(self.source, id)) {
            (Shape::List { .. }, Some((text, _))) => Some(format!("write a list: [{text}]")),
            _ => None,
        };
        let place = if self.tree.text(self.source, id).is_some() {
            self.place(id)
        } else {
            self.place(key)
        };
        self.tell(
            id,
            Problem::new(FieldPath::root(), Kind::Invalid, "schema/type", message)
                .hint(hint)
                .at(place),
        );
    }

    pub(crate) fn called(&self, id: NodeId) -> &'static str {
        match (self.tree.kind(id), self.tree.meaning(self.source, id)) {
            (NodeKind::List(_), _) => "a list",
            (NodeKind::Map(_), _) => "a mapping",
            (_, Some(Meaning::Int(_) | Meaning::Float(_))) => "a number",
            (_, Some(Meaning::Bool(_))) => "a truth value",
            (_, Some(Meaning::Null)) => "nothing",
            (_, Some(Meaning::Contested))
                if self
                    .tree
                    .text(self.source, id)
                    .is_some_and(|(text, _)| text.contains(|c: char| c.is_ascii_digit())) =>
            {
                "a number to some readers"
            }
            (_, Some(Meaning::Contested)) => "a truth value to some readers",
            _ => "text",
        }
    }

    pub(crate) fn wanted(&self, shape: ShapeId) -> String {
        match self.shapes.get(shape) {
            Shape::Any | Shape::Unused => "anything".to_owned(),
            Shape::Scalar(scalar) => name_of(scalar),
            Shape::List { .. } => "a list".to_owned(),
            Shape::Map { .. } | Shape::Struct(_) => "a mapping".to_owned(),
            Shape::Either(shapes) => shapes
                .iter()
                .map(|s| self.wanted(*s))
                .collect::<Vec<_>>()
                .join(" or "),
        }
    }

    pub(crate) fn wants_text(&self, shape: ShapeId) -> bool {
        matches!(
            self.shapes.get(shape),
            Shape::Scalar(Scalar { text: true, .. })
        )
    }
}

pub(crate) fn name_of(scalar: &Scalar) -> String {
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
