//! Scalars with a format. Each keeps the text as written and declares its format in the schema.

mod amount;
mod cidr;
mod cron;
mod duration;
mod int_or_string;
pub(super) mod macros;
mod placeholder;
mod quantity;
mod version;
mod version_constraint;

pub(crate) use amount::Amount;
pub(crate) use cidr::Cidr;
pub(crate) use cron::Cron;
pub(crate) use duration::Duration;
pub(crate) use int_or_string::IntOrString;
pub(crate) use placeholder::{Ignored, Unused};
pub(crate) use quantity::Quantity;
pub(crate) use version::Version;
pub(crate) use version_constraint::VersionConstraint;

/// Checks a text; the error is the message.
pub(crate) type Parse = fn(&str) -> Result<(), String>;

/// Parsers of the formats in the schema, by name.
pub(crate) const FORMATS: &[(&str, Parse)] = &[
    ("quantity", |text| Quantity::parse(text).map(drop)),
    ("duration", |text| Duration::parse(text).map(drop)),
];
