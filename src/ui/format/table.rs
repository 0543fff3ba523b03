//! Tables in the style of kubectl: upper-case headers, three spaces between columns, no borders.

use crate::state::printable::one_line;
use comfy_table::presets::NOTHING;

/// A table of text cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Table {
    headers: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new<T: Into<String>>(headers: impl IntoIterator<Item = T>) -> Self {
        Self {
            headers: headers.into_iter().map(Into::into).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row. Empty cells are printed as `<none>`.
    pub(crate) fn add<T: Into<String>>(&mut self, cells: impl IntoIterator<Item = T>) {
        let printed = |cell: String| match cell.is_empty() {
            true => "<none>".to_owned(),
            false => one_line(&cell),
        };
        self.rows
            .push(cells.into_iter().map(|cell| printed(cell.into())).collect());
    }

    /// Renders the table without wrapping or truncation, so that pipes receive all of it.
    pub(crate) fn render(&self) -> String {
        let mut table = comfy_table::Table::new();
        table.load_style(NOTHING).set_header(&self.headers);
        table.add_rows(&self.rows);
        for column in table.column_iter_mut() {
            column.set_padding((0, 3));
        }
        table
            .lines()
            .map(|line| format!("{}\n", line.trim_end()))
            .collect()
    }
}
