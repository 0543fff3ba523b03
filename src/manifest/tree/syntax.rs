//! Syntax errors in the words of the person who made them: the parser reports where it gave up, often a line late.

use granit_parser::ScanError;

use crate::manifest::problem::Problem;
use crate::manifest::source::{FileSpan, SourceFile, offset};

/// Hint for text with the placeholders of a template.
pub(in crate::manifest) const TEMPLATE: &str =
    "this looks like a template: render it first, for example with helm template or envsubst";

/// A better description of an error.
struct Cause {
    at: usize,
    message: String,
    hint: &'static str,
}

pub(super) fn problem(number: u32, source: &SourceFile, error: &ScanError) -> Problem {
    let at = error.marker().byte_offset().unwrap_or(source.text.len());
    let info = error.info().to_lowercase();
    let (line, _) = source.line_column(offset(at));
    let before = line.checked_sub(1).filter(|it| *it > 0);
    let mut lines = [Some(line), before].into_iter().flatten();
    let cause = escape(at, &info)
        .or_else(|| indentation(source, line, &info, |_| true))
        .or_else(|| template(source, line, &info, |_| true))
        .or_else(|| {
            indentation(source, before?, &info, |it| {
                it != '\t' || info.contains("tab")
            })
        })
        .or_else(|| template(source, before?, &info, is_start_of_value))
        .or_else(|| quote(source, line, &info))
        .or_else(|| lines.find_map(|it| colon(source, it, &info)))
        .or_else(|| colon_in_value(source, line, &info))
        .or_else(|| siblings(source, line, at, &info));
    let (at, message, hint) = match cause {
        Some(cause) => (cause.at, cause.message, Some(cause.hint)),
        None => (at, info, None),
    };
    let place = FileSpan {
        source: number,
        start: offset(at),
        end: offset(at + 1),
    };
    Problem::syntax("yaml/syntax", message).at(place).hint(hint)
}

fn start_of(source: &SourceFile, line: usize) -> usize {
    source.line_range(line).start as usize
}

/// A backslash in a double-quoted string, as in a regular expression.
fn escape(at: usize, info: &str) -> Option<Cause> {
    let is_escape = ["escape", "hexadecimal", "surrogate"];
    let is_escape = is_escape.iter().any(|it| info.contains(it));
    (is_escape && info.contains("quoted scalar")).then(|| Cause {
        at,
        message: info.to_owned(),
        hint: "write '...' with single quotes, or double the backslash",
    })
}

/// A tab, or a character that only looks like a space, in the indentation.
///
/// `may_break` returns true for characters that can be the cause: not for a tab in a comment or in a block scalar.
fn indentation(
    source: &SourceFile,
    line: usize,
    info: &str,
    may_break: impl Fn(char) -> bool,
) -> Option<Cause> {
    let text = source.line(line);
    let is_blank = |it: char| it.is_whitespace() || matches!(it, '\u{200b}' | '\u{feff}');
    let rest = text.trim_start_matches(is_blank);
    let blank = &text[..text.len() - rest.len()];
    let (column, other) = blank.char_indices().find(|it| it.1 != ' ')?;
    if !may_break(other) {
        return None;
    }
    let message = match other {
        '\t' => info.to_owned(),
        other => format!("the indentation contains U+{:04X}", u32::from(other)),
    };
    Some(Cause {
        at: start_of(source, line) + column,
        message,
        hint: "indent with spaces",
    })
}

/// Braces of a template. `may_break` returns true if the text before them allows them to be the cause.
fn template(
    source: &SourceFile,
    line: usize,
    info: &str,
    may_break: impl Fn(&str) -> bool,
) -> Option<Cause> {
    let text = source.line(line);
    let braces = text.find("{{").filter(|it| may_break(&text[..*it]))?;
    Some(Cause {
        at: start_of(source, line) + braces,
        message: info.to_owned(),
        hint: TEMPLATE,
    })
}

/// Returns true if a value can start after this part of a line, so that a quote or a brace is syntax there.
fn is_start_of_value(before: &str) -> bool {
    let rest = before.trim_end();
    let is_apart = rest.len() < before.len();
    let item = rest.strip_suffix('-');
    let is_item = item.is_some_and(|it| it.is_empty() || it.ends_with(' '));
    rest.is_empty()
        || rest.ends_with(['[', '{', ','])
        || (is_apart && (rest.ends_with(':') || is_item))
}

/// The nearest quote without a partner in its line.
fn quote(source: &SourceFile, line: usize, info: &str) -> Option<Cause> {
    let is_unclosed = info.contains("unclosed quote") || info.contains("quoted scalar");
    if !is_unclosed || info.contains("trailing content") {
        return None;
    }
    (1..=line).rev().find_map(|line| {
        Some(Cause {
            at: start_of(source, line) + open_quote(source.line(line))?,
            message: "this quote is not closed".to_owned(),
            hint: "add the closing quote",
        })
    })
}

/// The quote that opens a string which does not end in this line. Apostrophes in comments and plain text are none.
fn open_quote(text: &str) -> Option<usize> {
    let mut open: Option<(usize, char)> = None;
    let mut chars = text.char_indices().peekable();
    while let Some((at, it)) = chars.next() {
        let before = &text[..at];
        match open {
            Some((_, '"')) if it == '\\' => {
                chars.next();
            }
            Some((_, '\'')) if it == '\'' && chars.peek().is_some_and(|it| it.1 == '\'') => {
                chars.next();
            }
            Some((_, quote)) if it == quote => open = None,
            Some(_) => {}
            None if it == '#' && (before.is_empty() || before.ends_with([' ', '\t'])) => break,
            None if matches!(it, '"' | '\'') && is_start_of_value(before) => open = Some((at, it)),
            None => {}
        }
    }
    open.map(|it| it.0)
}

/// `key:value`.
fn colon(source: &SourceFile, line: usize, info: &str) -> Option<Cause> {
    if !info.contains("':'") && !info.contains("mapping values are not allowed") {
        return None;
    }
    let text = source.line(line);
    let colon = text.find(':')?;
    let key = text[..colon].trim_start_matches([' ', '-']);
    let is_key = !key.is_empty()
        && key
            .chars()
            .all(|it| it.is_ascii_alphanumeric() || "-_.".contains(it));
    let is_joined = text[colon + 1..].starts_with(|it: char| !it.is_whitespace() && it != '/');
    (is_key && is_joined).then(|| Cause {
        at: start_of(source, line) + colon,
        message: "no space after the colon".to_owned(),
        hint: "write a space after the colon",
    })
}

/// `key: value: more`.
fn colon_in_value(source: &SourceFile, line: usize, info: &str) -> Option<Cause> {
    if !info.contains("mapping values are not allowed") {
        return None;
    }
    let text = source.line(line);
    let text = text.split_once(" #").map_or(text, |it| it.0).trim_end();
    let value = text.find(": ")? + 1;
    let rest = &text[value..];
    let colon = rest
        .find(": ")
        .or(rest.ends_with(':').then(|| rest.len() - 1))?;
    let is_plain = !rest.trim_start().starts_with(['"', '\'', '[', '{']);
    is_plain.then(|| Cause {
        at: start_of(source, line) + value + colon,
        message: "the value contains a colon".to_owned(),
        hint: "quote the value",
    })
}

/// A key that is indented differently from those before it.
fn siblings(source: &SourceFile, line: usize, at: usize, info: &str) -> Option<Cause> {
    let is_about_keys = info.contains("did not find expected")
        || info.contains("mapping values are not allowed")
        || info.contains("invalid indentation");
    let width = |line: usize| {
        let text = source.line(line);
        let rest = text.trim_start_matches([' ', '-']);
        (!rest.is_empty() && !rest.starts_with('#')).then(|| text.len() - rest.len())
    };
    let here = width(line)?;
    let (other, there) = (1..line).rev().find_map(|it| Some((it, width(it)?)))?;
    (is_about_keys && here != there).then(|| Cause {
        at,
        message: format!("{info}: line {line} is indented by {here}, and line {other} by {there}"),
        hint: "indent the keys of one mapping equally",
    })
}
