//! Tables as kubectl prints them: upper-case headers, three blanks between columns, no borders.

use comfy_table::presets::NOTHING;

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

    /// An empty cell is told as `<none>`.
    pub(crate) fn add<T: Into<String>>(&mut self, cells: impl IntoIterator<Item = T>) {
        let told = |cell: String| match cell.is_empty() {
            true => "<none>".to_owned(),
            false => cell.replace(['\n', '\r', '\t'], " "),
        };
        self.rows
            .push(cells.into_iter().map(|it| told(it.into())).collect());
    }

    /// Never wrapped or cut: what reads a table in a pipe wants all of it.
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
