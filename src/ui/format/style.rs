//! Colors. Text reads the same without them.
//!
//! Each color carries the number of this process, which no text of others can know. The streams print colors with
//! the number, and show all other control sequences as escapes.

use crate::state::printable::{is_invisible, push_visible, without_commands};
use std::collections::hash_map::RandomState;
use std::fmt::Display;
use std::hash::{BuildHasher, Hasher};
use std::sync::LazyLock;

/// The last parameter of each own color: random, and hidden from everyone else.
static SIGNATURE: LazyLock<String> =
    LazyLock::new(|| format!(";{:020}m", RandomState::new().build_hasher().finish()));

/// When to use color
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Color {
    /// On terminals, unless NO_COLOR or TERM=dumb is set
    #[default]
    Auto,
    Always,
    Never,
}

/// Adds ANSI colors to text, if enabled.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    pub(crate) on: bool,
}

impl Style {
    pub(crate) fn red(self, text: impl Display) -> String {
        self.paint("1;31", text)
    }

    pub(crate) fn yellow(self, text: impl Display) -> String {
        self.paint("33", text)
    }

    pub(crate) fn green(self, text: impl Display) -> String {
        self.paint("32", text)
    }

    pub(crate) fn cyan(self, text: impl Display) -> String {
        self.paint("36", text)
    }

    pub(crate) fn bold(self, text: impl Display) -> String {
        self.paint("1", text)
    }

    pub(crate) fn dim(self, text: impl Display) -> String {
        self.paint("2", text)
    }

    fn paint(self, code: &str, text: impl Display) -> String {
        match self.on {
            true => format!("\x1b[{code}{0}{text}\x1b[0{0}", *SIGNATURE),
            false => text.to_string(),
        }
    }
}

/// Makes text printable: own colors are kept, everything else that is invisible becomes an escape, and workflow
/// commands of CI systems are broken.
pub(in crate::ui) fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, character)) = split_invisible(rest) {
        shown += before;
        rest = &rest[before.len()..];
        if let Some((code, after)) = own_color(rest) {
            shown.extend(["\x1b[", code, "m"]);
            rest = after;
            continue;
        }
        rest = &rest[character.len_utf8()..];
        if character != '\r' || !rest.starts_with('\n') {
            push_visible(&mut shown, character);
        }
    }
    shown += rest;
    without_commands(&shown)
}

/// Returns the first invisible character, and the text before it.
fn split_invisible(text: &str) -> Option<(&str, char)> {
    let (at, character) = text.char_indices().find(|it| is_invisible(it.1))?;
    Some((&text[..at], character))
}

/// Signs the colors in text that a library has formatted from text without escapes.
pub(crate) fn signed(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let mut signed = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|it: char| !it.is_ascii_digit() && it != ';');
        let (code, after) = part.split_at(end.unwrap_or(part.len()));
        signed.extend(["\x1b[", code]);
        signed += &after.strip_prefix('m').map_or_else(
            || after.to_owned(),
            |after| format!("{}{after}", *SIGNATURE),
        );
    }
    signed
}

/// Splits an own color from the beginning of a text.
fn own_color(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix("\x1b[")?;
    let end = rest.find(|it: char| !it.is_ascii_digit() && it != ';')?;
    let code = rest[..=end].strip_suffix(SIGNATURE.as_str())?;
    Some((code, &rest[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::{Style, printable, signed};

    #[test]
    fn only_own_colors_are_printed() {
        let style = Style { on: true };
        let text = style.red(format!("a\x1b[31mb{}\x1b]0;c\x07", style.bold("::d")));
        let shown = "\x1b[1;31ma\\x1b[31mb\x1b[1m::d\x1b[0m\\x1b]0;c\\x07\x1b[0m";
        assert_eq!(printable(&text), shown);
        assert_eq!(
            printable("\x1b[0;00000000000000000001m"),
            "\\x1b[0;00000000000000000001m"
        );
        assert_eq!(
            printable(&style.dim("::set-env::x")),
            "\x1b[2m\\::set-env::x\x1b[0m"
        );
    }

    #[test]
    fn colors_of_libraries_are_signed() {
        assert_eq!(
            printable(&signed("\x1b[38;5;1mx\x1b[0m\x1b[2J")),
            "\x1b[38;5;1mx\x1b[0m\\x1b[2J"
        );
    }
}
