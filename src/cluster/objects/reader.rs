//! Deserializer of partial objects from JSON values. Its errors have the path of the invalid field and no values, which
//! may be secret.

use crate::cluster::client::error::{Error, RequestInfo};
use crate::cluster::client::request::ResourceRef;
use crate::cluster::client::resources::Resource;
use serde::Deserialize;
use serde::de::{
    DeserializeSeed, Deserializer, Expected, MapAccess, SeqAccess, Unexpected, Visitor,
    value::BorrowedStrDeserializer,
};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value, map};
use std::fmt;
use std::iter::Enumerate;
use std::slice;

/// The most bytes of a name that Kubernetes allows.
pub(crate) const MAX_NAME: usize = 253;

/// Reads an object of a resource.
///
/// # Errors
///
/// A required field is missing, or a field has another type.
pub(crate) fn read<'a, T: Deserialize<'a>>(
    resource: &'static Resource,
    object: &'a Value,
) -> Result<T, Error> {
    T::deserialize(FieldReader(object)).map_err(|error| {
        let field = |name: &str| object.get("metadata")?.get(name)?.as_str();
        let field = |name: &str| field(name).filter(|it| it.len() <= MAX_NAME);
        let resource_ref = ResourceRef {
            resource,
            namespace: field("namespace"),
            name: field("name"),
        };
        Error::InvalidObject {
            what: resource_ref.request_info("get"),
            message: error.to_string(),
        }
    })
}

/// Reads a response that is not an object of a known resource.
///
/// # Errors
///
/// A required field is missing, or a field has another type.
pub(crate) fn read_response<'a, T: Deserialize<'a>>(
    what: RequestInfo,
    response: &'a Value,
) -> Result<T, Error> {
    T::deserialize(FieldReader(response)).map_err(|error| Error::InvalidObject {
        what,
        message: error.to_string(),
    })
}

/// Reads an object of others. None if it is invalid: one object must not hide the rest.
pub(crate) fn read_if_valid<'a, T: Deserialize<'a>>(
    resource: &'static Resource,
    object: &'a Value,
) -> Option<T> {
    match read(resource, object) {
        Ok(object) => Some(object),
        Err(error) => {
            tracing::warn!(%error, "ignoring an invalid object");
            None
        }
    }
}

/// Reads the valid objects of a LIST, which others may have written.
pub(crate) fn read_valid<'a, T: Deserialize<'a>>(
    resource: &'static Resource,
    objects: &'a [Value],
) -> Vec<T> {
    let objects = objects.iter();
    objects
        .filter_map(|it| read_if_valid(resource, it))
        .collect()
}

/// Reads all objects of a LIST.
///
/// # Errors
///
/// One of them is invalid.
pub(crate) fn read_all<'a, T: Deserialize<'a>>(
    resource: &'static Resource,
    objects: &'a [Value],
) -> Result<Vec<T>, Error> {
    objects.iter().map(|it| read(resource, it)).collect()
}

/// Deserializer of one value.
struct FieldReader<'a>(&'a Value);

/// Why a field is invalid, and where it is.
#[derive(Debug, PartialEq, Eq)]
struct FieldError {
    /// As in `kubectl explain`, with indexes of lists: `.status.conditions[0].type`. Empty for the object itself.
    path: String,
    message: String,
}

impl FieldError {
    fn below(mut self, parent: &str) -> FieldError {
        self.path.insert_str(0, parent);
        self
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.trim_start_matches('.') {
            "" => f.write_str(&self.message),
            path => write!(f, "{path}: {}", self.message),
        }
    }
}

impl std::error::Error for FieldError {}

impl serde::de::Error for FieldError {
    fn custom<T: fmt::Display>(message: T) -> FieldError {
        FieldError {
            path: String::new(),
            message: message.to_string(),
        }
    }

    fn missing_field(field: &'static str) -> FieldError {
        FieldError {
            path: format!(".{field}"),
            message: "missing".to_owned(),
        }
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> FieldError {
        let found = match found {
            Unexpected::Bool(_) => "a boolean",
            Unexpected::Unsigned(_) | Unexpected::Signed(_) | Unexpected::Float(_) => "a number",
            Unexpected::Str(_) => "a string",
            Unexpected::Unit => "null",
            Unexpected::Seq => "a list",
            Unexpected::Map => "an object",
            _ => "another type",
        };
        FieldError::custom(format_args!("expected {expected}, found {found}"))
    }

    fn invalid_value(_: Unexpected<'_>, expected: &dyn Expected) -> FieldError {
        FieldError::custom(format_args!("expected {expected}"))
    }
}

impl<'de> Deserializer<'de> for FieldReader<'de> {
    type Error = FieldError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(it) => visitor.visit_bool(*it),
            Value::Number(it) => match (it.as_u64(), it.as_i64()) {
                (Some(number), _) => visitor.visit_u64(number),
                (None, Some(number)) => visitor.visit_i64(number),
                (None, None) => visitor.visit_f64(it.as_f64().unwrap_or_default()),
            },
            Value::String(it) => visitor.visit_borrowed_str(it),
            Value::Array(items) => visitor.visit_seq(Items(items.iter().enumerate())),
            Value::Object(fields) => visitor.visit_map(Fields::of(fields)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        match self.0 {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct enum identifier
    }
}

struct Items<'a>(Enumerate<slice::Iter<'a, Value>>);

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = FieldError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, FieldError> {
        let Some((index, item)) = self.0.next() else {
            return Ok(None);
        };
        let read = seed.deserialize(FieldReader(item));
        read.map(Some).map_err(|it| it.below(&format!("[{index}]")))
    }
}

struct Fields<'a> {
    rest: map::Iter<'a>,
    /// Name and value of the field whose name was read last.
    field: Option<(&'a str, &'a Value)>,
}

impl<'a> Fields<'a> {
    fn of(fields: &'a Map<String, Value>) -> Fields<'a> {
        Fields {
            rest: fields.iter(),
            field: None,
        }
    }
}

impl<'de> MapAccess<'de> for Fields<'de> {
    type Error = FieldError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, FieldError> {
        let Some((name, value)) = self.rest.find(|it| !it.1.is_null()) else {
            return Ok(None);
        };
        self.field = Some((name, value));
        seed.deserialize(BorrowedStrDeserializer::new(name))
            .map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, FieldError> {
        let (name, value) = self.field.take().unwrap_or(("", &Value::Null));
        let read = seed.deserialize(FieldReader(value));
        read.map_err(|it| it.below(&format!(".{name}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::client::resources;
    use crate::cluster::objects::kubevirt::virtual_machine::PartialVirtualMachine;
    use serde_json::json;

    fn machine(patch: impl FnOnce(&mut Value)) -> Result<PartialVirtualMachine, String> {
        let mut object = json!({
            "metadata": { "name": "a", "uid": "u", "resourceVersion": "1" },
            "status": { "ready": true, "conditions": [{ "type": "Ready", "status": "True" }] },
        });
        patch(&mut object);
        read(&resources::VIRTUAL_MACHINE, &object).map_err(|it| it.to_string())
    }

    fn error(patch: impl FnOnce(&mut Value)) -> String {
        machine(patch).expect_err("the object is invalid")
    }

    #[test]
    fn a_field_of_another_type_is_reported_with_its_path_and_without_its_value() {
        assert_eq!(
            error(|it| it["status"]["ready"] = json!("secret")),
            "invalid VirtualMachine a: status.ready: expected a boolean, found a string"
        );
        assert_eq!(
            error(|it| it["status"]["conditions"][0]["type"] = json!(7)),
            "invalid VirtualMachine a: status.conditions[0].type: expected a string, found a number"
        );
        assert_eq!(
            error(|it| it["metadata"]["labels"] = json!({ "a.b/c": [] })),
            "invalid VirtualMachine a: metadata.labels.a.b/c: expected a string, found a list"
        );
        assert_eq!(
            error(|it| it["spec"] = json!("x")),
            "invalid VirtualMachine a: spec: expected struct VirtualMachineSpec, found a string"
        );
    }

    #[test]
    fn an_invalid_object_of_others_does_not_hide_the_rest() {
        let object = |name: &str, ready: Value| json!({ "metadata": { "name": name, "uid": "u", "resourceVersion": "1" }, "status": { "ready": ready } });
        let objects = [object("a", json!("yes")), object("b", json!(true))];
        let read: Vec<PartialVirtualMachine> = read_valid(&resources::VIRTUAL_MACHINE, &objects);
        let names: Vec<&str> = read.iter().map(|it| it.metadata.name.as_str()).collect();
        assert_eq!(names, ["b"]);
    }

    #[test]
    fn a_required_field_that_is_missing_or_null_is_reported() {
        let missing = "invalid VirtualMachine a: metadata.uid: missing";
        assert_eq!(error(|it| it["metadata"]["uid"] = Value::Null), missing);
        assert_eq!(
            error(|it| *it = json!({ "metadata": { "name": "a", "resourceVersion": "1" } })),
            missing
        );
    }

    #[test]
    fn unknown_fields_unknown_states_and_null_are_accepted() {
        let read = machine(|it| {
            it["spec"] = Value::Null;
            it["status"]["printableStatus"] = json!("Teleporting");
            it["status"]["ready"] = Value::Null;
            it["status"]["conditions"][0]["observedGeneration"] = json!("one");
            it["metadata"]["annotations"] = json!({ "note": "{\"broken" });
        });
        let read = read.expect("nothing that is read is invalid");
        assert_eq!(read.status.printable_status, "Teleporting");
        assert_eq!(read.status.ready, None);
    }
}
