//! `kvshoot explain` and `kvshoot schema`.

use serde_json::Value;

use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::manifest::{kinds, schema_of};
use crate::model::suggest;

/// Prints the description of a field such as `shoot.spec.provider.workers`.
pub(crate) fn explain(path: &str, context: &Context) -> Result<Exit, CommandError> {
    context.ui.data(&describe(path)?);
    Ok(Exit::Done)
}

/// Prints the JSON schema of a kind.
pub(crate) fn schema(kind: &str, context: &Context) -> Result<Exit, CommandError> {
    let schema = schema_of(kind).ok_or_else(|| no_kind(kind))?;
    context.ui.data(&format!("{:#}\n", schema.as_value()));
    Ok(Exit::Done)
}

fn no_kind(given: &str) -> CommandError {
    let kinds: Vec<String> = kinds().map(str::to_lowercase).collect();
    let hint = suggest(given, kinds.iter().map(String::as_str)).map_or_else(
        || format!("supported values: {}", kinds.join(", ")),
        |meant| format!("did you mean \"{meant}\"?"),
    );
    CommandError::new(Exit::Usage, format!("unknown kind {given:?}")).hint(hint)
}

/// The type of a field, its description, and the fields below it.
fn describe(path: &str) -> Result<String, CommandError> {
    let mut names = path.split('.');
    let kind = names.next().unwrap_or_default();
    let schema = schema_of(kind).ok_or_else(|| no_kind(kind))?;
    let root = schema.as_value();
    let mut found = SchemaField {
        outer: root,
        inner: resolve(root, root),
    };
    for name in names {
        found = below(root, found.inner, name.trim_end_matches("[]"))?;
    }
    let mut text = format!("{path}  <{}>\n", type_name(root, found.outer));
    if let Some(description) = found.description() {
        text += &format!("\n  {description}\n");
    }
    let fields = fields(root, found.inner);
    if !fields.is_empty() {
        text += "\nFields:\n";
    }
    for (label, description) in fields {
        text += &format!("  {label}\n");
        if let Some(description) = description {
            text += &format!("      {description}\n");
        }
    }
    Ok(text)
}

/// A schema in its parent, and the schema that it refers to.
#[derive(Clone, Copy)]
struct SchemaField<'s> {
    outer: &'s Value,
    inner: &'s Value,
}

impl<'s> SchemaField<'s> {
    fn description(self) -> Option<&'s str> {
        let of = |schema: &'s Value| schema.get("description").and_then(Value::as_str);
        of(self.outer).or_else(|| of(self.inner))
    }
}

/// The field of that name, through the items of a list and the values of a map.
fn below<'s>(
    root: &'s Value,
    node: &'s Value,
    name: &str,
) -> Result<SchemaField<'s>, CommandError> {
    let properties = node.get("properties").and_then(Value::as_object);
    if properties.is_none()
        && let Some(values) = node.get("additionalProperties").filter(|it| it.is_object())
    {
        return Ok(SchemaField {
            outer: values,
            inner: resolve(root, values),
        });
    }
    let Some(outer) = properties.and_then(|it| it.get(name)) else {
        let names = || {
            properties
                .into_iter()
                .flatten()
                .map(|(name, _)| name.as_str())
        };
        let error = CommandError::new(Exit::Usage, format!("unknown field {name:?}"));
        return Err(match suggest(name, names()) {
            Some(meant) => error.hint(format!("did you mean \"{meant}\"?")),
            None if names().next().is_none() => error.hint("this field has no subfields"),
            None => error.hint(format!(
                "supported values: {}",
                names().collect::<Vec<_>>().join(", ")
            )),
        });
    };
    let inner = resolve(root, outer);
    let inner = inner
        .get("items")
        .map_or(inner, |items| resolve(root, items));
    Ok(SchemaField { outer, inner })
}

fn fields<'s>(root: &'s Value, node: &'s Value) -> Vec<(String, Option<&'s str>)> {
    let required: Vec<&str> = node
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let properties = node.get("properties").and_then(Value::as_object);
    let field = |(name, outer): (&'s String, &'s Value)| {
        let mark = if required.contains(&name.as_str()) {
            "  required"
        } else {
            ""
        };
        let inner = resolve(root, outer);
        let label = format!("{name}  <{}>{mark}", type_name(root, outer));
        (label, SchemaField { outer, inner }.description())
    };
    properties.into_iter().flatten().map(field).collect()
}

/// Follows references; of alternatives, the first one that is not null.
fn resolve<'s>(root: &'s Value, mut node: &'s Value) -> &'s Value {
    loop {
        let real = |alternatives: &'s Value| {
            let mut alternatives = alternatives.as_array()?.iter();
            alternatives.find(|it| it.get("type").is_none_or(|name| name != "null"))
        };
        let next = node
            .get("$ref")
            .and_then(Value::as_str)
            .and_then(|it| root.pointer(it.trim_start_matches('#')))
            .or_else(|| node.get("anyOf").and_then(real));
        match next {
            Some(target) => node = target,
            None => return node,
        }
    }
}

fn type_name(root: &Value, node: &Value) -> String {
    let node = resolve(root, node);
    if node.get("x-unused").is_some() {
        return "not used by kvshoot".to_owned();
    }
    let words = node.get("enum").and_then(Value::as_array);
    if let Some(words) = words {
        let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
        return words.join(" | ");
    }
    let format = node.get("format").and_then(Value::as_str);
    if let Some(name) = format.filter(|it| ["quantity", "duration"].contains(it)) {
        return name.to_owned();
    }
    let types: Vec<&str> = match node.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(many)) => many
            .iter()
            .filter_map(Value::as_str)
            .filter(|it| *it != "null")
            .collect(),
        _ => vec!["any"],
    };
    if let (["array"], Some(items)) = (types.as_slice(), node.get("items")) {
        return format!("[]{}", type_name(root, items));
    }
    let values = node.get("additionalProperties").filter(|it| it.is_object());
    if let (["object"], Some(values)) = (types.as_slice(), values) {
        return format!("map of {}", type_name(root, values));
    }
    types.join(" or ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_explained_with_its_subfields() {
        let text = describe("shoot.spec.provider.workers.volume").expect("the field exists");
        assert_eq!(
            text,
            "shoot.spec.provider.workers.volume  <object>\n\n  Root disk of the machines\n\nFields:\n  \
             encrypted  <boolean>\n      Must not be true: use a volume type whose StorageClass encrypts\n  \
             name  <string>\n      No effect: the root disk is always called root-disk\n  size  <quantity>\n      Size in whole Gi, such as 20Gi\n  \
             type  <string>\n      Name of a volume type of the CloudProfile\n"
        );
    }

    #[test]
    fn an_unknown_field_gets_a_suggestion() {
        let error = describe("shoot.spec.provider.worker").expect_err("it is workers");
        assert_eq!(error.message, "unknown field \"worker\"");
        assert_eq!(error.hints, ["did you mean \"workers\"?"]);
    }

    #[test]
    fn every_kind_has_a_schema_and_an_explanation() {
        for kind in kinds() {
            assert!(schema_of(kind).is_some(), "{kind}");
            assert!(describe(&kind.to_lowercase()).is_ok(), "{kind}");
        }
    }
}
