//! Scalars with a form of their own. Each keeps the text as written and says in its schema what it takes.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

/// Says what is wrong with a text.
pub(crate) type Parse = fn(&str) -> Result<(), String>;

/// Parsers of the formats that the schema names.
pub(crate) const FORMATS: &[(&str, Parse)] = &[
    ("quantity", |text| Quantity::parse(text).map(drop)),
    ("duration", |text| Duration::parse(text).map(drop)),
];

/// Declares a text with a form: reads it, writes it as it was, and names its format in the schema.
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

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                if text.is_empty() { Ok(Self::default()) } else { Self::parse(&text).map_err(serde::de::Error::custom) }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.text)
            }
        }

        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.text)
            }
        }
    };
}

/// An amount such as `20Gi` or `1500m`.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Quantity {
    text: String,
    pub(crate) value: f64,
}

formatted!(
    Quantity,
    "quantity",
    ["string", "number"],
    "An amount with an optional suffix, such as 500m, 2 or 20Gi"
);

impl Quantity {
    /// As it was written.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        const SUFFIXES: [(&str, f64); 14] = [
            ("Ki", 1024.0),
            ("Mi", 1_048_576.0),
            ("Gi", 1_073_741_824.0),
            ("Ti", 1_099_511_627_776.0),
            ("Pi", 1_125_899_906_842_624.0),
            ("Ei", 1_152_921_504_606_846_976.0),
            ("m", 1e-3),
            ("k", 1e3),
            ("M", 1e6),
            ("G", 1e9),
            ("T", 1e12),
            ("P", 1e15),
            ("n", 1e-9),
            ("u", 1e-6),
        ];
        let (digits, factor) = SUFFIXES
            .iter()
            .find_map(|(suffix, factor)| Some((text.strip_suffix(suffix)?, *factor)))
            .unwrap_or((text, 1.0));
        let is_number = digits
            .bytes()
            .all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'-' | b'+' | b'e' | b'E'));
        let value: f64 =
            digits.parse().ok().filter(|_| is_number).ok_or_else(|| {
                format!("{text:?} is no quantity; write for example 500m, 2 or 20Gi")
            })?;
        Ok(Self {
            text: text.to_owned(),
            value: value * factor,
        })
    }
}

/// A length of time as Go writes it, such as `1h30m`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Duration {
    text: String,
    pub(crate) value: std::time::Duration,
}

formatted!(
    Duration,
    "duration",
    "string",
    "A length of time such as 30s, 10m or 1h30m"
);

impl Duration {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        const UNITS: [(&str, f64); 6] = [
            ("ns", 1e-9),
            ("us", 1e-6),
            ("ms", 1e-3),
            ("s", 1.0),
            ("m", 60.0),
            ("h", 3600.0),
        ];
        let refuse = || format!("{text:?} is no duration; write for example 30s, 10m or 1h30m");
        let (mut rest, mut seconds) = (text, 0.0);
        while !rest.is_empty() && rest != "0" {
            let digits = rest
                .find(|c: char| !c.is_ascii_digit() && c != '.')
                .ok_or_else(refuse)?;
            let number: f64 = rest[..digits].parse().map_err(|_| refuse())?;
            rest = &rest[digits..];
            let letters = rest
                .find(|c: char| c.is_ascii_digit())
                .unwrap_or(rest.len());
            let (_, factor) = UNITS
                .iter()
                .find(|(unit, _)| *unit == &rest[..letters])
                .ok_or_else(refuse)?;
            seconds += number * factor;
            rest = &rest[letters..];
        }
        let value = std::time::Duration::try_from_secs_f64(seconds).map_err(|_| refuse())?;
        if text.is_empty() {
            Err(refuse())
        } else {
            Ok(Self {
                text: text.to_owned(),
                value,
            })
        }
    }
}

/// A whole number or a text: a count, or a share such as `25%`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(crate) enum IntOrString {
    Int(i32),
    String(String),
}

impl schemars::JsonSchema for IntOrString {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "IntOrString".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": ["integer", "string"], "format": "int32", "x-kubernetes-int-or-string": true})
    }
}

/// Declares a type that takes anything and keeps nothing.
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
    /// A part that Gardener knows and that nothing here reads; a warning names those that are given.
    Unused,
    "x-unused"
);
anything!(
    /// A part that a server writes, such as `status`; of no interest to anybody here.
    Ignored,
    "x-ignored"
);

impl<'de> Deserialize<'de> for IntOrString {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = IntOrString;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number or a text")
            }
            fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<IntOrString, E> {
                i32::try_from(value)
                    .map(IntOrString::Int)
                    .map_err(E::custom)
            }
            fn visit_str<E>(self, value: &str) -> Result<IntOrString, E> {
                Ok(IntOrString::String(value.to_owned()))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// Reads an untagged enum of a text and a mapping by what stands there, so that errors inside the mapping keep their own words.
macro_rules! one_of {
    ($name:ident { $text:ident, $map:ident($type:ty) }) => {
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Visitor;
                impl<'de> serde::de::Visitor<'de> for Visitor {
                    type Value = $name;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str("a text or a mapping")
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
pub(super) use one_of;

/// A count, or a share of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) enum Amount {
    Number(usize),
    Percent(usize),
}

impl Amount {
    /// For maxSurge, as Kubernetes does it.
    pub(crate) fn rounded_up(self, total: usize) -> usize {
        match self {
            Amount::Number(it) => it,
            Amount::Percent(it) => (total * it).div_ceil(100),
        }
    }

    /// For maxUnavailable, as Kubernetes does it; more than all is all.
    pub(crate) fn rounded_down(self, total: usize) -> usize {
        match self {
            Amount::Number(it) => it.min(total),
            Amount::Percent(it) => (total * it / 100).min(total),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Amount;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn shares_are_rounded_in_favour_of_what_serves(percent in 0..=100usize, total in 0..5000usize) {
            let share = Amount::Percent(percent);
            let (up, down) = (share.rounded_up(total), share.rounded_down(total));
            prop_assert!(up * 100 >= total * percent && total * percent >= down * 100);
            prop_assert!(up - down <= 1 && up <= total);
            prop_assert_eq!(up == down, total * percent % 100 == 0);
        }

        /// What validation asks for: a share above zero lets an update begin, whatever the size.
        #[test]
        fn a_share_for_surge_is_one_at_least(percent in 1..=100usize, total in 1..5000usize) {
            prop_assert!(Amount::Percent(percent).rounded_up(total) >= 1);
        }

        #[test]
        fn no_more_than_all_are_unavailable(number in 0..5000usize, total in 0..5000usize) {
            prop_assert_eq!(Amount::Number(number).rounded_up(total), number);
            prop_assert_eq!(Amount::Number(number).rounded_down(total), number.min(total));
            prop_assert!(Amount::Percent(number).rounded_down(total) <= total);
        }
    }
}
