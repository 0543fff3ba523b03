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
    let lines = [Some(line), line.checked_sub(1).filter(|it| *it > 0)];
    let mut lines = lines.into_iter().flatten();
    let cause = lines
        .clone()
        .find_map(|it| indentation(source, it, &info).or_else(|| template(source, it, &info)))
        .or_else(|| quote(source, line, &info))
        .or_else(|| lines.find_map(|it| colon(source, it, &info)))
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

/// A tab, or a character that only looks like a space, in the indentation.
fn indentation(source: &SourceFile, line: usize, info: &str) -> Option<Cause> {
    let text = source.line(line);
    let is_blank = |it: char| it.is_whitespace() || matches!(it, '\u{200b}' | '\u{feff}');
    let rest = text.trim_start_matches(is_blank);
    let blank = &text[..text.len() - rest.len()];
    let (column, other) = blank.char_indices().find(|it| it.1 != ' ')?;
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

fn template(source: &SourceFile, line: usize, info: &str) -> Option<Cause> {
    Some(Cause {
        at: start_of(source, line) + source.line(line).find("{{")?,
        message: info.to_owned(),
        hint: TEMPLATE,
    })
}

/// The nearest quote without a partner in its line.
fn quote(source: &SourceFile, line: usize, info: &str) -> Option<Cause> {
    if !info.contains("quoted scalar") {
        return None;
    }
    (1..=line).rev().find_map(|line| {
        let text = source.line(line);
        let open = ['"', '\''].into_iter().find_map(|quote| {
            let is_open = text.matches(quote).count() % 2 == 1;
            is_open.then(|| text.rfind(quote)).flatten()
        })?;
        Some(Cause {
            at: start_of(source, line) + open,
            message: "this quote is not closed".to_owned(),
            hint: "add the closing quote",
        })
    })
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
