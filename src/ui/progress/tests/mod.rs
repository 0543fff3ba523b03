//! The same events, read by each reader.

mod json;
mod lines;
mod screen;
mod script;
