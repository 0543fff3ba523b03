//! Scalars with a form of their own. Each keeps the text as written and says in its schema what it takes.

mod amount;
mod cidr;
mod duration;
mod int_or_string;
pub(super) mod macros;
mod placeholder;
mod quantity;
mod version;

pub(crate) use amount::Amount;
pub(crate) use cidr::Cidr;
pub(crate) use duration::Duration;
pub(crate) use int_or_string::IntOrString;
pub(crate) use placeholder::{Ignored, Unused};
pub(crate) use quantity::Quantity;
pub(crate) use version::Version;

/// Says what is wrong with a text.
pub(crate) type Parse = fn(&str) -> Result<(), String>;

/// Parsers of the formats that the schema names.
pub(crate) const FORMATS: &[(&str, Parse)] = &[
    ("quantity", |text| Quantity::parse(text).map(drop)),
    ("duration", |text| Duration::parse(text).map(drop)),
];
