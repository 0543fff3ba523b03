//! Text of others made safe to print: characters that control a terminal or hide from the reader, and marks that a CI
//! system executes as workflow commands.

use std::fmt::Write as _;

/// True for characters that a terminal obeys or does not show: controls, bidirectional controls, separators of lines,
/// and characters without width. Line breaks and tabs are not among them.
pub(crate) fn is_invisible(character: char) -> bool {
    matches!(character,
        '\0'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{ad}' | '\u{34f}' | '\u{61c}'
        | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Makes text of others visible: its line breaks and tabs are kept, everything else that is invisible becomes an
/// escape such as `\x1b` or `\u{202e}`, and workflow commands are broken by a backslash.
pub(crate) fn visible(text: &str) -> String {
    without_commands(&with_escapes(text))
}

/// Makes text of others visible on one line, such as in a cell of a table.
pub(crate) fn one_line(text: &str) -> String {
    let line = text.trim().replace("\r\n", "\n").replace('\t', " ");
    visible(&line.replace('\n', "\\n"))
}

/// Cuts text to at most `most` bytes, between two characters, and marks that with an ellipsis.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    match text.len() > most {
        true => format!("{}…", text[..text.floor_char_boundary(most)].trim_end()),
        false => text.to_owned(),
    }
}

/// Replaces invisible characters by escapes. A carriage return before a line break is dropped.
fn with_escapes(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if character == '\r' && characters.peek() == Some(&'\n') {
            continue;
        }
        push_visible(&mut shown, character);
    }
    shown
}

/// Adds a character, as an escape if it is invisible.
pub(crate) fn push_visible(text: &mut String, character: char) {
    match u32::from(character) {
        _ if !is_invisible(character) => text.push(character),
        // Writing to a string cannot fail.
        code @ ..0x80 => drop(write!(text, "\\x{code:02x}")),
        code => drop(write!(text, "\\u{{{code:x}}}")),
    }
}

/// Breaks what GitHub Actions, GitLab, Azure Pipelines and TeamCity execute in a log. Colors of kvshoot may precede it.
pub(crate) fn without_commands(text: &str) -> String {
    // Most texts have none of them; a log may have millions of lines.
    if !["::", "##", "section_"].iter().any(|it| text.contains(it)) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let rest = after_space_and_color(line);
        if rest.starts_with("::") {
            out += &line[..line.len() - rest.len()];
            out.push('\\');
            push_without_marks(&mut out, rest);
        } else {
            push_without_marks(&mut out, line);
        }
    }
    out
}

/// True if a CI system could execute a part of the text, wherever it begins a line.
pub(crate) fn has_commands(text: &str) -> bool {
    text.lines()
        .any(|line| line.trim_start().starts_with("::") || next_mark(line).is_some())
}

/// Adds a line, with a backslash in each mark that is executed anywhere in it.
fn push_without_marks(out: &mut String, mut line: &str) {
    while let Some(at) = next_mark(line) {
        out.push_str(&line[..at]);
        out.push('\\');
        line = &line[at..];
    }
    out.push_str(line);
}

/// Position at which a mark is broken: before the last `#` of `##vso[` and the like, and the underscore of
/// `section_start:`.
pub(crate) fn next_mark(text: &str) -> Option<usize> {
    let mut candidates = text.match_indices(['#', 's']).map(|(at, _)| at);
    candidates.find_map(|at| {
        let rest = &text[at..];
        if let Some(name) = rest.strip_prefix("##") {
            let after = name.trim_start_matches(|it: char| it.is_ascii_alphabetic());
            return after.starts_with('[').then_some(at + 1);
        }
        let event = rest.strip_prefix("section_")?;
        let is_section = event.starts_with("start:") || event.starts_with("end:");
        is_section.then_some(at + "section".len())
    })
}

/// The line after its white space and colors.
pub(crate) fn after_space_and_color(line: &str) -> &str {
    let mut rest = line.trim_start();
    while let Some((_, after)) = rest.strip_prefix("\x1b[").and_then(|it| it.split_once('m')) {
        rest = after.trim_start();
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::{one_line, visible};

    #[test]
    fn invisible_characters_become_escapes() {
        assert_eq!(
            visible("a\x1b[2J\x07\u{9b}\u{202e}\u{feff}\n\tb\r\n\r"),
            "a\\x1b[2J\\x07\\u{9b}\\u{202e}\\u{feff}\n\tb\n\\x0d"
        );
        assert_eq!(visible("gr\u{fc}n …"), "gr\u{fc}n …");
    }

    #[test]
    fn workflow_commands_are_broken() {
        let cases = [
            ("::set-output name=a::b", "\\::set-output name=a::b"),
            ("x\n \u{a0}::add-mask::b", "x\n \u{a0}\\::add-mask::b"),
            ("a ##[group]b ###[x", "a #\\#[group]b ##\\#[x"),
            ("##vso[task.x]", "#\\#vso[task.x]"),
            ("##TeamCity[x]", "#\\#TeamCity[x]"),
            ("section_start:1:a", "section\\_start:1:a"),
            ("a::b # ## c[d]", "a::b # ## c[d]"),
        ];
        for (text, shown) in cases {
            assert_eq!(visible(text), shown);
            assert_eq!(visible(shown), shown);
        }
    }

    #[test]
    fn a_text_on_one_line_shows_its_line_breaks() {
        assert_eq!(one_line("a\n::b\tc\n"), "a\\n::b c");
    }
}
