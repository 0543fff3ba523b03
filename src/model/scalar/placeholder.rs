//! Types of fields whose values are not kept.

use serde::{Deserialize, Deserializer, Serialize};

/// Declares a type that accepts any value and discards it.
macro_rules! anything {
    ($(#[doc = $doc:literal])* $name:ident, $mark:literal) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
        pub(crate) struct $name;

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                serde::de::IgnoredAny::deserialize(deserializer).map(|_| Self)
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn inline_schema() -> bool {
                true
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ $mark: true })
            }
        }
    };
}

anything!(
    /// A field of Gardener that kvshoot does not use; a warning lists those that are set.
    Unused,
    "x-unused"
);
anything!(
    /// A field that a server writes, such as `status`; ignored without a warning.
    Ignored,
    "x-ignored"
);
