//! Output formats (`-o`).

use super::format::table::Table;
use super::printer::Ui;
use crate::state::json::{to_json, to_yaml};
use crate::state::printable::one_line;
use serde::Serialize;

/// Output format
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// A table
    #[default]
    #[value(name = "table")]
    Table,
    /// A table with more columns
    Wide,
    /// Only the names
    Name,
    Json,
    Yaml,
}

/// A row of a list.
pub(crate) trait ListRow: Serialize {
    fn headers() -> &'static [&'static str];

    /// Additional columns of `-o wide`, after the others.
    fn wide_headers() -> &'static [&'static str] {
        &[]
    }

    fn cells(&self) -> Vec<String>;

    fn wide_cells(&self) -> Vec<String> {
        Vec::new()
    }

    /// Name for `-o name`, such as `shoot/dev`.
    fn name(&self) -> String;
}

/// A list in the format of `kubectl get -o json`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct List<'a, T> {
    api_version: &'static str,
    kind: &'static str,
    items: &'a [T],
}

impl Ui {
    /// Prints a list; for an empty table, prints `none` as status.
    pub(crate) fn list<T: ListRow>(&self, format: Format, rows: &[T], none: &str) {
        match format {
            Format::Table | Format::Wide if rows.is_empty() => self.status(none),
            Format::Table | Format::Wide => self.data(&table(format, rows).render()),
            Format::Name => self.data(&names(rows)),
            Format::Json | Format::Yaml => self.value(
                format,
                &List {
                    api_version: "v1",
                    kind: "List",
                    items: rows,
                },
            ),
        }
    }

    /// Prints one object; a table then has one row.
    pub(crate) fn item<T: ListRow>(&self, format: Format, row: &T) {
        match format {
            Format::Json | Format::Yaml => self.value(format, row),
            _ => self.list(format, std::slice::from_ref(row), ""),
        }
    }

    /// Prints a value as JSON with `-o json`, otherwise as YAML.
    pub(crate) fn value<T: Serialize>(&self, format: Format, value: &T) {
        self.data(&match format {
            Format::Json => to_json(value),
            _ => to_yaml(value),
        });
    }
}

/// Renders a list with all columns.
pub(crate) fn wide_table<T: ListRow>(rows: &[T]) -> String {
    table(Format::Wide, rows).render()
}

fn table<T: ListRow>(format: Format, rows: &[T]) -> Table {
    let wide = format == Format::Wide;
    let more = if wide { T::wide_headers() } else { &[] };
    let mut table = Table::new(T::headers().iter().chain(more).copied());
    for row in rows {
        let more = if wide { row.wide_cells() } else { Vec::new() };
        table.add(row.cells().into_iter().chain(more));
    }
    table
}

fn names<T: ListRow>(rows: &[T]) -> String {
    rows.iter().map(|it| one_line(&it.name()) + "\n").collect()
}
