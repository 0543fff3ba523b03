//! All output to the terminal: results to stdout, everything else to stderr. No other module prints.

mod ci_log_groups;
mod error_message;
mod format;
mod json_events;
mod output;
mod panic;
mod preparation;
mod printer;
pub(crate) mod problems;
mod progress;
mod prompt;
mod settings;
mod tty_stream;
mod words;

pub(crate) use ci_log_groups::LogGroup;
pub(crate) use error_message::ErrorMessage;
pub(crate) use format::relative_time::age;
pub(crate) use format::style::{Color, Style, signed};
pub(crate) use format::table::Table;
pub(crate) use output::{Format, ListRow, wide_table};
pub(crate) use panic::{BUG_EXIT_CODE, install_panic_hook};
pub(crate) use preparation::{Preparation, StepProgress};
pub(crate) use printer::Ui;
pub(crate) use progress::Progress;
pub(crate) use prompt::{Question, Refused};
pub(crate) use settings::{CiSystem, ProgressMode, RunLabel, UiSettings};
pub(crate) use words::{count, format_duration, format_size, parse_duration};

#[cfg(test)]
mod tests;
