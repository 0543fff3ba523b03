//! `-o`: the same result for people and for programs.

use super::{Table, Ui};
use serde::Serialize;

/// How to print a result
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

/// A thing that lists show.
pub(crate) trait ListRow: Serialize {
    fn headers() -> &'static [&'static str];

    /// Columns that only `-o wide` has; they stand after the others.
    fn wide_headers() -> &'static [&'static str] {
        &[]
    }

    fn cells(&self) -> Vec<String>;

    fn wide_cells(&self) -> Vec<String> {
        Vec::new()
    }

    /// As `-o name` prints it: `shoot/dev`.
    fn name(&self) -> String;
}

/// Programs get a list in the shape in which kubectl gives them.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct List<'a, T> {
    api_version: &'static str,
    kind: &'static str,
    items: &'a [T],
}

impl Ui {
    /// Prints a list of things; `none` says it when there is nothing for a table to show.
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

    /// Prints one thing; as a table of one row where no program reads it.
    pub(crate) fn item<T: ListRow>(&self, format: Format, row: &T) {
        match format {
            Format::Json | Format::Yaml => self.value(format, row),
            _ => self.list(format, std::slice::from_ref(row), ""),
        }
    }

    /// Prints a value as YAML, or as JSON when that is asked for.
    pub(crate) fn value<T: Serialize>(&self, format: Format, value: &T) {
        let text = match format {
            Format::Json => serde_json::to_string_pretty(value).map(|it| it + "\n"),
            _ => Ok(serde_yaml::to_string(value).expect("plain data is YAML")),
        };
        self.data(&text.expect("plain data is JSON"));
    }
}

/// All columns of a list, where it goes into a file.
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
    rows.iter().map(|it| it.name() + "\n").collect()
}
