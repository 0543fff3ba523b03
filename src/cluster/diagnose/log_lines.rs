//! The line of a log that names the cause of a crash.

use super::cause_index::single_line;
use crate::state::printable::shortened;

/// Maximum length of a message of one or two sentences, in bytes.
const MAX_MESSAGE: usize = 200;
/// Lines of a log that are kept.
const LOG_LINES: usize = 5;
/// Fields of audit records. The end of a log may begin within a record, so that it is not valid JSON.
const AUDIT_FIELDS: [&str; 3] = ["audit.k8s.io/", "\"auditID\":", "\"stageTimestamp\":"];

/// Returns the cause in the message of a terminated container, which may be the end of its log: the last error, or the
/// last line without one. Audit records are no cause.
pub(super) fn last_message(message: &str) -> String {
    let lines = lines(message);
    if let Some(error) = lines.iter().rev().find(|it| is_error(it)) {
        return shortened(&single_line(error), MAX_MESSAGE);
    }
    let whole = single_line(&lines.join(" "));
    match lines.last() {
        Some(last) if whole.len() > MAX_MESSAGE => shortened(&single_line(last), MAX_MESSAGE),
        _ => whole,
    }
}

/// Returns the last lines, if there are more than one or two sentences.
pub(super) fn last_lines(message: &str) -> Vec<String> {
    let lines = lines(message);
    if single_line(&lines.join(" ")).len() <= MAX_MESSAGE {
        return Vec::new();
    }
    let last = lines.len().saturating_sub(LOG_LINES);
    lines[last..].iter().map(|it| single_line(it)).collect()
}

fn lines(message: &str) -> Vec<&str> {
    let is_audit = |line: &str| AUDIT_FIELDS.iter().any(|it| line.contains(it));
    let lines = message.lines().map(str::trim);
    lines.filter(|it| !it.is_empty() && !is_audit(it)).collect()
}

/// Errors of klog (`E0102 …`, `F0102 …`), of logs in JSON, of Go's runtime, and of plain programs.
fn is_error(line: &str) -> bool {
    let mut letters = line.chars();
    let severity = letters.next();
    let has_klog_date = letters
        .next()
        .is_some_and(|it| it.is_ascii_digit() || it == ' ');
    if has_klog_date && matches!(severity, Some('E' | 'F')) {
        return true;
    }
    let line = line.to_ascii_lowercase();
    let levels = ["error", "fatal", "panic"];
    let is_json = line.starts_with('{');
    levels.iter().any(|it| match is_json {
        true => line.contains(&format!("\"level\":\"{it}\"")),
        false => line
            .strip_prefix(it)
            .is_some_and(|rest| rest.starts_with([':', ' '])),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const AUDIT: &str =
        r#"{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"1"}"#;
    const INFO: &str = "I0102 10:00:00.000000       1 server.go:10] Stopped";

    #[test]
    fn the_last_error_is_the_cause_and_not_what_follows_it() {
        let error = "E0102 10:00:00.000000       1 run.go:72] command failed: no such file";
        let log = format!("E0101 older\n{error}\n{INFO}\n{AUDIT}\n");
        assert_eq!(last_message(&log), single_line(error));
        let log = format!("{{\"level\":\"fatal\",\"msg\":\"no data\"}}\n{INFO}");
        assert_eq!(last_message(&log), r#"{"level":"fatal","msg":"no data"}"#);
        assert_eq!(last_message(&format!("panic: nil\n{INFO}")), "panic: nil");
    }

    #[test]
    fn an_audit_record_is_no_cause_even_if_its_begin_is_missing() {
        let cut = r#"data","stageTimestamp":"2026-01-02T10:00:00Z","annotations":{}}"#;
        let log = format!("{cut}\nno space left\n{AUDIT}");
        assert_eq!(last_message(&log), "no space left");
        assert_eq!(last_message(AUDIT), "");
        assert!(
            last_lines(&log.repeat(20))
                .iter()
                .all(|it| !it.contains('{'))
        );
    }

    #[test]
    fn without_an_error_short_messages_are_whole_and_long_ones_are_the_last_line() {
        assert_eq!(last_message("no route\nto host\n"), "no route to host");
        let log = format!("{}no route", "starting\n".repeat(40));
        assert_eq!(last_message(&log), "no route");
        assert_eq!(last_lines(&log).len(), LOG_LINES);
    }

    #[test]
    fn a_long_error_is_shortened_between_two_letters() {
        let error = last_message(&format!("error: {}", "ä".repeat(300)));
        assert!(
            error.len() <= MAX_MESSAGE + 3 && error.ends_with("ä…"),
            "{error}"
        );
    }
}
