//! Text fitted into columns.

use console::{measure_text_width, truncate_str};

/// Truncates text, with a mark where something was left out.
#[derive(Debug, Clone, Copy)]
pub(in crate::ui) struct Elision {
    mark: &'static str,
}

impl Elision {
    pub(in crate::ui) fn new(unicode: bool) -> Elision {
        Elision {
            mark: if unicode { "…" } else { "..." },
        }
    }

    pub(in crate::ui) fn mark(self) -> &'static str {
        self.mark
    }

    /// Truncates text to one line of at most `columns`.
    pub(in crate::ui) fn cut(self, text: &str, columns: usize) -> String {
        truncate_str(&on_one_line(text), columns, self.mark).into_owned()
    }

    /// Fits title and reason into `columns`. A long reason is shortened in the middle: its beginning names the object,
    /// its end the deepest cause.
    pub(in crate::ui) fn title_and_reason(
        self,
        title: &str,
        reason: Option<&str>,
        columns: usize,
    ) -> String {
        let Some(reason) = reason else {
            return self.cut(title, columns);
        };
        let half = measure_text_width(reason).min(columns / 2);
        let title = self.cut(title, columns.saturating_sub(half + 2));
        let room = columns.saturating_sub(measure_text_width(&title) + 2);
        format!("{title}: {}", self.cut_middle(reason, room))
    }

    fn cut_middle(self, text: &str, columns: usize) -> String {
        let text = on_one_line(text);
        if measure_text_width(&text) <= columns {
            return text;
        }
        let room = columns.saturating_sub(measure_text_width(self.mark));
        let head = truncate_str(&text, room / 2, "").into_owned();
        let tail = end_of(&text, room - measure_text_width(&head));
        format!("{head}{}{tail}", self.mark)
    }
}

/// Pads text with spaces to `columns`.
pub(in crate::ui) fn padded(text: &str, columns: usize) -> String {
    let missing = columns.saturating_sub(measure_text_width(text));
    format!("{text}{}", " ".repeat(missing))
}

/// True if title and reason fit into `columns`.
pub(in crate::ui) fn fits(title: &str, reason: Option<&str>, columns: usize) -> bool {
    let reason = reason.map_or(0, |it| measure_text_width(it) + 2);
    measure_text_width(title) + reason <= columns
}

fn on_one_line(text: &str) -> String {
    text.replace(['\n', '\r', '\t'], " ")
}

/// The last letters of a text, at most `columns` wide.
fn end_of(text: &str, columns: usize) -> &str {
    let mut width = 0;
    let start = text
        .char_indices()
        .rev()
        .take_while(|(_, letter)| {
            width += measure_text_width(letter.encode_utf8(&mut [0; 4]));
            width <= columns
        })
        .last()
        .map_or(text.len(), |(index, _)| index);
    &text[start..]
}

/// Wraps text at spaces into lines of at most `columns`; longer words are not broken.
pub(in crate::ui) fn wrapped(text: &str, columns: usize) -> Vec<String> {
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

/// Folds a line that is wider than `columns`, first at its `<-` arrows, and indents all lines but the first.
pub(in crate::ui) fn folded(text: &str, columns: usize) -> String {
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
    use super::{Elision, folded};

    #[test]
    fn a_long_cause_chain_is_folded_at_its_arrows() {
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

    #[test]
    fn a_long_reason_keeps_its_beginning_and_its_end() {
        let reason = Some("VM running, waiting for the node to register; see its console");
        let fitted = |unicode| Elision::new(unicode).title_and_reason("worker-z1", reason, 40);
        assert_eq!(fitted(true), "worker-z1: VM running, wa…ee its console");
        assert_eq!(fitted(false), "worker-z1: VM running, w...e its console");
    }
}
