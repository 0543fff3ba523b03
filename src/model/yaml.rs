//! Reading of YAML of others within limits: of nesting, nodes, aliases and bytes.

use serde::de::DeserializeOwned;
use serde_saphyr::Options;

/// The most bytes of a text.
const MAX_BYTES: usize = 4 << 20;

/// Why a text cannot be read. The message quotes nothing of the text, which may be secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum YamlError {
    #[error("it is larger than 4 MiB")]
    TooLarge,
    #[error("invalid YAML in line {0}")]
    Line(u64),
    #[error("invalid YAML")]
    Invalid,
}

/// Reads a document. Numbers such as `0644`, and words such as `yes`, are strings.
///
/// # Errors
///
/// The text is not YAML, is larger than the limits, or has another type than `T`.
pub(crate) fn read_yaml<T: DeserializeOwned>(text: &str) -> Result<T, YamlError> {
    if text.len() > MAX_BYTES {
        return Err(YamlError::TooLarge);
    }
    serde_saphyr::from_str_with_options(text, options()).map_err(|error| match error.location() {
        Some(location) => YamlError::Line(location.line()),
        None => YamlError::Invalid,
    })
}

/// The parser has limits of its own, which are far above any file for people.
fn options() -> Options {
    let mut options = Options::default();
    options.with_snippet = false;
    options.strict_booleans = true;
    options.leading_zero_numbers_as_strings = true;
    options.underscored_numbers_as_strings = true;
    options
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzz::cpu_time;
    use serde_json::{Value, json};
    use std::time::Duration;

    fn read(text: &str) -> Result<Value, YamlError> {
        read_yaml(text)
    }

    #[test]
    fn values_have_the_types_that_people_mean() {
        let text = "a: 0644\nb: yes\nc: 1_000\nd: 7\ne: true\nf: null\ng: 1.5\nh: '8'\n";
        let expected = json!({
            "a": "0644", "b": "yes", "c": "1_000", "d": 7, "e": true, "f": null, "g": 1.5, "h": "8",
        });
        assert_eq!(read(text), Ok(expected));
        assert_eq!(read(""), Ok(Value::Null));
        let merged = read("base: &b {x: 1}\nall:\n  <<: *b\n  y: 2\n");
        assert_eq!(
            merged.map(|it| it["all"].clone()),
            Ok(json!({ "x": 1, "y": 2 }))
        );
    }

    #[test]
    fn errors_name_the_line_and_quote_nothing() {
        assert_eq!(read("a: 1\npassword: [hunter2\n"), Err(YamlError::Line(2)));
        assert_eq!(read("a: 1\na: 2\n"), Err(YamlError::Line(2)));
    }

    #[test]
    fn no_text_takes_long() {
        let bomb = "a: &a [x]\n".to_owned()
            + &(0..40)
                .map(|n| format!("b{n}: &b{n} [{}]\n", "*a,".repeat(50)))
                .collect::<String>();
        for text in [
            "[".repeat(1 << 20),
            "{a: ".repeat(1 << 18),
            "- ".repeat(1 << 19),
            "? ".repeat(1 << 19),
            "a".repeat((4 << 20) + 1),
            bomb,
        ] {
            let begun = cpu_time();
            let _ = read(&text);
            let time = cpu_time().saturating_sub(begun);
            assert!(time < Duration::from_secs(5), "{time:?}: {}", &text[..10]);
        }
    }
}
