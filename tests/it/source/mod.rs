//! Rules for the source code that no lint knows.

mod arrows;
mod circles;
pub(crate) mod files;
mod syntax;
mod type_names;
mod words;
