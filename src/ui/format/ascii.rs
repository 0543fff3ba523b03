//! ASCII replacements for the drawing characters of kvshoot and miette.

/// Replaces drawing characters, each by one column of ASCII except the ellipsis. Other text is left alone.
pub(in crate::ui) fn to_ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        let ascii = match letter {
            '…' => "...",
            '─' => "-",
            '│' => "|",
            '·' => ":",
            '┼' => "+",
            '╭' | '╮' => ",",
            '╰' | '╯' => "`",
            '┬' | '▲' => "^",
            '┴' => "v",
            '├' | '┤' => "|",
            '▶' => ">",
            '×' => "x",
            '⚠' => "!",
            '☞' => ">",
            _ => {
                out.push(letter);
                continue;
            }
        };
        out.push_str(ascii);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::to_ascii;

    #[test]
    fn drawing_characters_are_replaced_and_other_text_is_kept() {
        assert_eq!(to_ascii("╭─[a.yaml:1] … ×é"), ",-[a.yaml:1] ... xé");
    }
}
