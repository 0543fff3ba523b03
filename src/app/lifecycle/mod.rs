//! Verbs over the life of a shoot. Each writes a wish to the record, and applies the last applied manifest.

pub(crate) mod hibernate;
pub(crate) mod recorded;
pub(crate) mod scale;
pub(crate) mod upgrade;
