//! Scalars of YAML, for text that may come from the provider cluster.

/// Words that YAML 1.1 or 1.2 reads as a boolean or as null.
const WORDS: [&str; 9] = ["true", "false", "yes", "no", "on", "off", "y", "n", "null"];

/// Formats a string so that every YAML parser reads the same string again, on one line.
pub(super) fn scalar(text: &str) -> String {
    match is_plain(text) {
        true => text.to_owned(),
        false => quoted(text),
    }
}

fn is_plain(text: &str) -> bool {
    let is_safe = |it: char| it.is_ascii_alphanumeric() || "-_./:%+~".contains(it);
    let is_word = WORDS.iter().any(|word| text.eq_ignore_ascii_case(word));
    let Some(first) = text.chars().next() else {
        return false;
    };
    // Other values that begin with a digit could be read as numbers or dates.
    let is_amount = || text.ends_with("Gi") || text.ends_with("Mi");
    let is_range = || text.contains('/') && !text.contains(':');
    let begins =
        first.is_ascii_alphabetic() || (first.is_ascii_digit() && (is_amount() || is_range()));
    begins && text.chars().all(is_safe) && !text.ends_with(':') && !is_word
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            ' '..='~' => quoted.push(letter),
            _ => quoted.push_str(&format!("\\U{:08x}", u32::from(letter))),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_are_plain_and_other_text_is_quoted() {
        for plain in [
            "small",
            "u1.large",
            "10.64.0.0/12",
            "20Gi",
            "https://a.example/b%20c.img",
        ] {
            assert_eq!(scalar(plain), plain);
        }
        assert_eq!(scalar("1.34"), "\"1.34\"");
        assert_eq!(scalar("No"), "\"No\"");
        assert_eq!(scalar(""), "\"\"");
        assert_eq!(scalar("a: b"), "\"a: b\"");
        assert_eq!(scalar("a\nb\""), "\"a\\U0000000ab\\\"\"");
    }

    proptest! {
        #[test]
        fn a_scalar_is_read_as_the_same_text(text in any::<String>()) {
            let yaml = format!("key: {}\n", scalar(&text));
            let read: serde_yaml::Value = serde_yaml::from_str(&yaml).expect("valid YAML");
            prop_assert_eq!(read["key"].as_str(), Some(text.as_str()));
        }

        #[test]
        fn a_short_scalar_is_read_as_the_same_text(text in "[-0-9a-zA-Z_.:/+~#&*]{0,6}") {
            let yaml = format!("key: {}\n", scalar(&text));
            let read: serde_yaml::Value = serde_yaml::from_str(&yaml).expect("valid YAML");
            prop_assert_eq!(read["key"].as_str(), Some(text.as_str()));
        }
    }
}
