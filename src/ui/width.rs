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

/// Title and reason within `columns`: the reason gets what the title leaves, but at least a third.
pub(super) fn title_and_why(title: &str, why: Option<&str>, columns: usize) -> String {
    let Some(why) = why else {
        return cut(title, columns);
    };
    let wanted = measure_text_width(why).min(columns / 3) + 2;
    let title = cut(title, columns.saturating_sub(wanted));
    cut(&format!("{title}: {why}"), columns)
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
