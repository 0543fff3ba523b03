//! Errors as printed at the end of a command.

use super::format::style::Style;

/// An error with its causes and hints. Message and causes are lower-case fragments.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ErrorMessage<'a> {
    pub(crate) message: &'a str,
    pub(crate) causes: &'a [String],
    pub(crate) hints: &'a [String],
}

impl ErrorMessage<'_> {
    pub(super) fn text(&self, style: Style) -> String {
        let mut text = format!("{} {}\n", style.red("error:"), indented(self.message, "  "));
        for (index, cause) in self.causes.iter().enumerate() {
            text += &match self.causes.len() {
                1 => format!("  because {}\n", indented(cause, "  ")),
                _ => format!("  {}: {}\n", index + 1, indented(cause, "     ")),
            };
        }
        for hint in self.hints {
            text += &format!("{} {}\n", style.cyan("hint:"), indented(hint, "      "));
        }
        text
    }
}

/// Indents all lines but the first.
pub(super) fn indented(text: &str, indent: &str) -> String {
    text.trim_end().replace('\n', &format!("\n{indent}"))
}
