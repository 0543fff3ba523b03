//! YAML text that every parser reads as the same value.

use super::exact::{needs_quotes, quoted_yaml};
use crate::model::read_yaml;
use serde::Serialize;
use serde_yaml::Value;

/// Words that are booleans in YAML 1.1, which kubectl reads, and strings in YAML 1.2, which `serde_yaml` writes.
const WORDS: [&str; 6] = ["y", "yes", "on", "n", "no", "off"];

/// Formats a value as YAML. Strings that YAML 1.1 and 1.2 read differently are quoted, and those
/// with characters or marks that must not be printed as they are.
pub(crate) fn to_yaml(value: &impl Serialize) -> String {
    let mut value = serde_yaml::to_value(value).expect("plain data is YAML");
    let mut quotes = Quotes {
        mark: unused_mark(&value),
        texts: Vec::new(),
    };
    quotes.take(&mut value);
    quotes.restore(&serde_yaml::to_string(&value).expect("a value is YAML"))
}

/// Reads YAML of others within the limits of [`read_yaml`]; none if it is invalid.
pub(crate) fn from_yaml(text: &str) -> Option<serde_json::Value> {
    read_yaml(text).ok()
}

/// Strings to be quoted, each with a mark in its place until the text is written, because `serde_yaml` decides by itself
/// what to quote.
struct Quotes {
    mark: String,
    texts: Vec<String>,
}

impl Quotes {
    fn take(&mut self, value: &mut Value) {
        match value {
            Value::String(text) if is_ambiguous(text) || needs_quotes(text) => {
                let mark = format!("{0}{1}{0}", self.mark, self.texts.len());
                self.texts.push(std::mem::replace(text, mark));
            }
            Value::Sequence(items) => items.iter_mut().for_each(|it| self.take(it)),
            Value::Mapping(fields) => {
                let given = std::mem::take(fields).into_iter();
                *fields = given
                    .map(|(mut key, mut field)| {
                        self.take(&mut key);
                        self.take(&mut field);
                        (key, field)
                    })
                    .collect();
            }
            _ => {}
        }
    }

    /// Puts the quoted strings in: between two marks is the index of one.
    fn restore(self, text: &str) -> String {
        let parts = text.split(&self.mark).enumerate();
        let texts = &self.texts;
        parts
            .map(|(index, part)| match index % 2 {
                0 => part.to_owned(),
                _ => {
                    let text = part.parse::<usize>().ok().and_then(|it| texts.get(it));
                    quoted_yaml(text.expect("a mark has the index of its text"))
                }
            })
            .collect()
    }
}

/// A word that no string of the value contains.
fn unused_mark(value: &Value) -> String {
    let mut mark = "quoted".to_owned();
    while contains(value, &mark) {
        mark.push('x');
    }
    mark
}

fn contains(value: &Value, mark: &str) -> bool {
    match value {
        Value::String(text) => text.contains(mark),
        Value::Sequence(items) => items.iter().any(|it| contains(it, mark)),
        Value::Mapping(fields) => fields
            .iter()
            .any(|(key, field)| contains(key, mark) || contains(field, mark)),
        _ => false,
    }
}

/// Words and numbers.
fn is_ambiguous(text: &str) -> bool {
    let is_word = WORDS.iter().any(|it| text.eq_ignore_ascii_case(it));
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let is_number = digits.starts_with(|it: char| it.is_ascii_digit())
        && digits.contains(['_', ':'])
        && digits
            .chars()
            .all(|it| it.is_ascii_digit() || "_.:".contains(it));
    is_word || is_number
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn words_and_numbers_of_yaml_1_1_are_quoted() {
        let value =
            json!({ "no": ["yes", "On", "1:30", "1_000", "plain", "20Gi", "quoted", true] });
        assert_eq!(
            to_yaml(&value),
            "\"no\":\n- \"yes\"\n- \"On\"\n- \"1:30\"\n- \"1_000\"\n- plain\n- 20Gi\n- quoted\n- true\n"
        );
        let read: serde_json::Value = serde_yaml::from_str(&to_yaml(&value)).expect("YAML");
        assert_eq!(read, value);
    }

    #[test]
    fn fields_keep_their_order_and_texts_their_lines() {
        let value = json!({ "b": "one\ntwo\n", "a": null });
        assert_eq!(
            to_yaml(&value),
            serde_yaml::to_string(&value).expect("JSON is YAML")
        );
    }
}
