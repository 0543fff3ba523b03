//! Layout of text for people: colours, columns, tables, durations.

pub(super) mod ascii;
pub(super) mod relative_time;
pub(super) mod style;
pub(super) mod table;
pub(super) mod width;

#[cfg(test)]
mod hostile_text_tests;
