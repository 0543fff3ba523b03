//! Text cut to the columns that there are.

use console::{measure_text_width, truncate_str};

/// At most `columns` wide, on one line, and marked where it was cut.
pub(super) fn cut(text: &str, columns: usize) -> String {
    let line = text.replace(['\n', '\r', '\t'], " ");
    truncate_str(&line, columns, "…").into_owned()
}

/// Filled with blanks up to `columns`.
pub(super) fn padded(text: &str, columns: usize) -> String {
    let missing = columns.saturating_sub(measure_text_width(text));
    format!("{text}{}", " ".repeat(missing))
}

/// Title and reason within `columns`. Of a long reason the end is kept, for there stands the deepest fact.
pub(super) fn title_and_why(title: &str, why: Option<&str>, columns: usize) -> String {
    let Some(why) = why else {
        return cut(title, columns);
    };
    let half = measure_text_width(why).min(columns / 2);
    let title = cut(title, columns.saturating_sub(half + 2));
    let room = columns.saturating_sub(measure_text_width(&title) + 2);
    format!("{title}: {}", end_of(why, room))
}

pub(super) fn fits(title: &str, why: Option<&str>, columns: usize) -> bool {
    let why = why.map_or(0, |it| measure_text_width(it) + 2);
    measure_text_width(title) + why <= columns
}

/// The last `columns` of a text, and a mark where it was cut.
fn end_of(text: &str, columns: usize) -> String {
    let text = cut(text, usize::MAX);
    let mut wide = measure_text_width(&text);
    if wide <= columns {
        return text;
    }
    let mut rest = text.chars();
    while wide >= columns.max(1) {
        let Some(letter) = rest.next() else { break };
        wide -= measure_text_width(letter.encode_utf8(&mut [0; 4]));
    }
    format!("…{}", rest.as_str())
}

/// Broken at blanks into lines of at most `columns`; a longer word is left whole.
pub(super) fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.len() - 1;
        let line = &mut lines[last];
        let fits = measure_text_width(line) + 1 + measure_text_width(word) <= columns;
        match line.as_str() {
            "" => line.push_str(word),
            _ if fits => *line += &format!(" {word}"),
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Lines of at most `columns`, those after the first indented; what follows an arrow begins one, if all does not fit.
pub(super) fn folded(text: &str, columns: usize) -> String {
    const INDENT: &str = "    ";
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if measure_text_width(&line) <= columns {
        return line + "\n";
    }
    let room = columns.saturating_sub(INDENT.len()).max(20);
    let mut out = String::new();
    for (index, part) in line.split(" <- ").enumerate() {
        let part = match index {
            0 => part.to_owned(),
            _ => format!("<- {part}"),
        };
        for line in wrapped(&part, room) {
            let indent = if out.is_empty() { "" } else { INDENT };
            out += &format!("{indent}{line}\n");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::folded;

    #[test]
    fn a_chain_that_is_too_long_is_folded_at_its_arrows() {
        let text = "Machine a: VirtualMachine Starting <- Pod b Pending: no host has\nroom for it";
        assert_eq!(
            folded(text, 80),
            "Machine a: VirtualMachine Starting <- Pod b Pending: no host has room for it\n"
        );
        assert_eq!(
            folded(text, 40),
            "Machine a: VirtualMachine Starting\n    <- Pod b Pending: no host has room\n    for it\n"
        );
    }
}
