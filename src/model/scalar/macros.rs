//! Macros that implement serde and schemars for scalar types.

/// Implements serde and schemars for a string with a format; the original text is written back unchanged.
macro_rules! formatted {
    ($name:ident, $format:literal, $types:tt, $description:literal) => {
        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn inline_schema() -> bool {
                true
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({"type": $types, "format": $format, "description": $description})
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                if text.is_empty() { Ok(Self::default()) } else { Self::parse(&text).map_err(serde::de::Error::custom) }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.text)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.text)
            }
        }
    };
}
pub(super) use formatted;

/// Deserializes an untagged enum of a string and a mapping by the node type, so that errors inside the mapping keep their messages.
macro_rules! one_of {
    ($name:ident { $text:ident, $map:ident($type:ty) }) => {
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Visitor;
                impl<'de> serde::de::Visitor<'de> for Visitor {
                    type Value = $name;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str("a string or a mapping")
                    }
                    fn visit_str<E>(self, value: &str) -> Result<$name, E> {
                        Ok($name::$text(value.to_owned()))
                    }
                    fn visit_map<A: serde::de::MapAccess<'de>>(
                        self,
                        map: A,
                    ) -> Result<$name, A::Error> {
                        <$type>::deserialize(serde::de::value::MapAccessDeserializer::new(map))
                            .map($name::$map)
                    }
                }
                deserializer.deserialize_str(Visitor)
            }
        }
    };
}
pub(crate) use one_of;
