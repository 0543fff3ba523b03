//! Rules for the source code that no lint knows.

mod arrows;
mod circles;
mod dependencies;
pub(crate) mod files;
mod syntax;
mod type_names;
mod words;
