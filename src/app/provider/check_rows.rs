//! Results of checks as text, and as rows of a list.

use crate::app::context::Context;
use crate::app::error::Exit;
use crate::cluster::{CheckResult, CheckStatus};
use crate::ui::{Format, ListRow, Style};
use serde::Serialize;

/// Prints checks. The exit code is 1 if one failed.
pub(super) fn print(rows: &[CheckRow], output: Format, context: &Context) -> Exit {
    match output {
        Format::Table | Format::Wide => context.ui.data(&text(rows, context.ui.style())),
        format => context.ui.list(format, rows, ""),
    }
    let is_ok = rows.iter().all(|row| row.0.status != CheckStatus::Failed);
    if is_ok { Exit::Done } else { Exit::No }
}

/// A check as a row of a list.
pub(crate) struct CheckRow(pub(super) CheckResult);

/// A check as JSON.
#[derive(Serialize)]
struct CheckJson<'a> {
    check: &'a str,
    status: &'static str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
}

impl Serialize for CheckRow {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let it = &self.0;
        let json = CheckJson {
            check: it.subject,
            status: word(it.status),
            message: &it.message,
            hint: it.hint.as_deref(),
        };
        json.serialize(serializer)
    }
}

impl ListRow for CheckRow {
    fn headers() -> &'static [&'static str] {
        &["STATUS", "CHECK", "MESSAGE"]
    }

    fn cells(&self) -> Vec<String> {
        let it = &self.0;
        vec![
            word(it.status).to_owned(),
            it.subject.to_owned(),
            it.message.clone(),
        ]
    }

    fn name(&self) -> String {
        format!("check/{}", self.0.subject.replace(' ', "-"))
    }
}

fn word(grade: CheckStatus) -> &'static str {
    match grade {
        CheckStatus::Passed => "ok",
        CheckStatus::Warning => "warning",
        CheckStatus::Failed => "failure",
    }
}

pub(super) fn text(lines: &[CheckRow], style: Style) -> String {
    let mut text = String::new();
    for CheckRow(it) in lines {
        let word = format!("{:<8}", word(it.status));
        let word = match it.status {
            CheckStatus::Passed => style.green(word),
            CheckStatus::Warning => style.yellow(word),
            CheckStatus::Failed => style.red(word),
        };
        text += &format!("{word} {:<20} {}\n", it.subject, it.message);
        if let Some(hint) = &it.hint {
            text += &format!("{:30}{} {hint}\n", "", style.cyan("hint:"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_has_a_status_and_a_hint() {
        let line = |grade, hint: Option<&str>| {
            CheckRow(CheckResult {
                subject: "CDI",
                status: grade,
                message: "not installed".to_owned(),
                hint: hint.map(str::to_owned),
            })
        };
        let lines = [
            line(CheckStatus::Failed, Some("install it")),
            line(CheckStatus::Passed, None),
        ];
        let text = text(&lines, Style { on: false });
        let expected = "failure  CDI                  not installed\n                              hint: install it\nok       CDI                  not installed\n";
        assert_eq!(text, expected);
    }
}
