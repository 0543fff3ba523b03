//! The same events, printed by each reader.

mod json;
mod lines;
mod screen;
mod script;
