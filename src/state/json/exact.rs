//! Quoted text that reads as the same value and prints as it stands: nothing in it controls a terminal or a CI system.

use crate::state::printable::{has_commands, is_invisible, next_mark};
use serde::Serialize;
use std::fmt::Write as _;

/// Formats a value as indented JSON.
pub(crate) fn to_json(value: &impl Serialize) -> String {
    quiet_json(&serde_json::to_string_pretty(value).expect("plain data is JSON")) + "\n"
}

/// Formats a value as one line of JSON.
pub(crate) fn to_json_line(value: &impl Serialize) -> String {
    quiet_json(&serde_json::to_string(value).expect("plain data is JSON")) + "\n"
}

/// True if a text must be quoted to be printed.
pub(super) fn needs_quotes(text: &str) -> bool {
    text.contains(is_invisible) || has_commands(text)
}

/// Quotes a text for YAML, on one line.
pub(super) fn quoted_yaml(text: &str) -> String {
    let mut quoted = String::from("\"");
    escape_marks(text, &mut |character, is_mark| match character {
        '\n' => quoted.push_str("\\n"),
        '"' | '\\' => quoted.extend(['\\', character]),
        _ if is_mark || character.is_control() || is_invisible(character) => {
            // Writing to a string cannot fail.
            let _ = write!(quoted, "\\U{:08x}", u32::from(character));
        }
        _ => quoted.push(character),
    });
    quoted.push('"');
    quoted
}

/// Escapes what is invisible in JSON, where it can only be part of a string.
pub(crate) fn quiet_json(json: &str) -> String {
    if !needs_quotes(json) {
        return json.to_owned();
    }
    let mut quiet = String::with_capacity(json.len());
    escape_marks(json, &mut |character, is_mark| {
        if is_mark || is_invisible(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                // Writing to a string cannot fail.
                let _ = write!(quiet, "\\u{unit:04x}");
            }
        } else {
            quiet.push(character);
        }
    });
    quiet
}

/// Passes on each character, and whether it has to be escaped to break a workflow command.
fn escape_marks(text: &str, push: &mut impl FnMut(char, bool)) {
    let mut rest = text;
    while let Some(at) = next_mark(rest) {
        rest[..at].chars().for_each(|it| push(it, false));
        // The marks are ASCII.
        rest[at..=at].chars().for_each(|it| push(it, true));
        rest = &rest[at + 1..];
    }
    rest.chars().for_each(|it| push(it, false));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::json::to_yaml;
    use crate::state::printable::visible;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    proptest! {
        #[test]
        fn text_of_others_prints_as_it_stands_and_reads_as_the_same(
            text in r"(?s)([\x00-\x{a0}]|##\[|::|\n|section_start:|[\x{200b}-\x{206f}]|\x{e0001}|.){0,12}",
        ) {
            let mut value = json!({"list": [text, {"field": text}]});
            value[&text] = json!(1);
            for document in [to_json(&value), to_json_line(&value), to_yaml(&value)] {
                // libyaml reads no surrogates, so JSON is read as JSON.
                let yaml = || serde_yaml::from_str(&document).expect("YAML");
                let read: Value = serde_json::from_str(&document).unwrap_or_else(|_| yaml());
                prop_assert_eq!(&read, &value);
                prop_assert_eq!(visible(&document), document);
            }
        }
    }
}
