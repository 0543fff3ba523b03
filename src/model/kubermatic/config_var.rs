//! Values of Kubermatic that can be references.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::scalar::macros::one_of;

/// A string, or an object with a value or a reference
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum ConfigVar {
    Text(#[schemars(schema_with = "bare")] String),
    Object(ConfigVarObject),
}

/// A string, or a reference to one
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConfigVarObject {
    /// The string itself; used if neither reference is complete
    pub(crate) value: Option<String>,
    /// Key of a Secret; takes precedence over configMapKeyRef
    pub(crate) secret_key_ref: Option<KeyRef>,
    /// Key of a ConfigMap; takes precedence over value
    pub(crate) config_map_key_ref: Option<KeyRef>,
}

/// A boolean, or an object with a value or a reference
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum ConfigVarBool {
    Text(#[schemars(schema_with = "truth")] String),
    Object(ConfigVarBoolObject),
}

/// A boolean, or a reference to one
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConfigVarBoolObject {
    /// The boolean itself; used if neither reference is complete
    pub(crate) value: Option<bool>,
    /// Key of a Secret; takes precedence over configMapKeyRef
    pub(crate) secret_key_ref: Option<KeyRef>,
    /// Key of a ConfigMap; takes precedence over value
    pub(crate) config_map_key_ref: Option<KeyRef>,
}

/// A key of a Secret or a ConfigMap; used only if all three fields are set
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct KeyRef {
    /// Namespace of the object
    pub(crate) namespace: Option<String>,
    /// Name of the object
    pub(crate) name: Option<String>,
    /// Key in the data of the object
    pub(crate) key: Option<String>,
}

/// Kubermatic accepts a number or a boolean as a string.
fn bare(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": ["string", "number", "boolean"]})
}

fn truth(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": "boolean"})
}

one_of!(ConfigVar { Text, Object(ConfigVarObject) });
one_of!(ConfigVarBool { Text, Object(ConfigVarBoolObject) });

/// Kind of a referenced object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum ReferenceKind {
    Secret,
    ConfigMap,
}

impl fmt::Display for ReferenceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ReferenceKind::Secret => "Secret",
            ReferenceKind::ConfigMap => "ConfigMap",
        })
    }
}

/// A complete reference to a key of an object.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct KeyReference {
    pub(crate) kind: ReferenceKind,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) key: String,
}

/// The effective value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ConfigVarValue {
    /// An inline value; empty if absent.
    Inline(String),
    Reference(KeyReference),
}

impl ConfigVar {
    pub(crate) fn resolve(&self) -> ConfigVarValue {
        match self {
            ConfigVar::Text(text) => ConfigVarValue::Inline(text.clone()),
            ConfigVar::Object(it) => {
                let text = || it.value.clone().unwrap_or_default();
                counts(&it.secret_key_ref, &it.config_map_key_ref, text)
            }
        }
    }
}

impl ConfigVarBool {
    pub(crate) fn resolve(&self) -> ConfigVarValue {
        match self {
            ConfigVarBool::Text(text) => ConfigVarValue::Inline(text.clone()),
            ConfigVarBool::Object(it) => {
                let text = || it.value.map(|it| it.to_string()).unwrap_or_default();
                counts(&it.secret_key_ref, &it.config_map_key_ref, text)
            }
        }
    }
}

fn counts(
    secret: &Option<KeyRef>,
    config_map: &Option<KeyRef>,
    text: impl Fn() -> String,
) -> ConfigVarValue {
    let complete = |of: &Option<KeyRef>, holder| of.as_ref()?.complete(holder);
    let reference = complete(secret, ReferenceKind::Secret)
        .or_else(|| complete(config_map, ReferenceKind::ConfigMap));
    reference.map_or_else(|| ConfigVarValue::Inline(text()), ConfigVarValue::Reference)
}

impl KeyRef {
    fn complete(&self, holder: ReferenceKind) -> Option<KeyReference> {
        let given = |it: &Option<String>| it.clone().filter(|it| !it.is_empty());
        Some(KeyReference {
            kind: holder,
            namespace: given(&self.namespace)?,
            name: given(&self.name)?,
            key: given(&self.key)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Option<KeyRef> {
        let given = |it: &str| Some(it.to_owned());
        Some(KeyRef {
            namespace: given("n"),
            name: given(name),
            key: given("k"),
        })
    }

    fn holder(secret: Option<KeyRef>, config_map: Option<KeyRef>) -> Option<ReferenceKind> {
        let var = ConfigVar::Object(ConfigVarObject {
            value: Some("v".into()),
            secret_key_ref: secret,
            config_map_key_ref: config_map,
        });
        match var.resolve() {
            ConfigVarValue::Reference(it) => Some(it.kind),
            ConfigVarValue::Inline(text) => {
                assert_eq!(text, "v");
                None
            }
        }
    }

    #[test]
    fn a_secret_takes_precedence_over_a_config_map_over_a_value() {
        assert_eq!(holder(key("a"), key("b")), Some(ReferenceKind::Secret));
        assert_eq!(holder(None, key("b")), Some(ReferenceKind::ConfigMap));
        assert_eq!(holder(None, None), None);
    }

    #[test]
    fn an_incomplete_reference_is_ignored() {
        assert_eq!(holder(key(""), key("b")), Some(ReferenceKind::ConfigMap));
        assert_eq!(holder(key(""), None), None);
    }
}
