//! Results of checks in the format of JUnit, which CI systems show.

use super::report::{CheckReport, ConformanceReport};
use crate::cluster::conformance::outcome::CheckOutcome;
use crate::state::printable::visible;

/// The report as XML.
pub(super) fn render(report: &ConformanceReport) -> String {
    let number = |status: &str| {
        report
            .checks
            .iter()
            .filter(|it| it.status() == status)
            .count()
    };
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"kvshoot conformance {}\" timestamp=\"{}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\" time=\"{:.3}\">\n",
        escaped(&report.name),
        escaped(&report.started),
        report.checks.len(),
        number("failure"),
        number("skipped"),
        report.seconds,
    );
    for check in &report.checks {
        text += &case(check);
    }
    text + "</testsuite>\n"
}

fn case(report: &CheckReport) -> String {
    let message = escaped(report.message());
    let inner = match report.outcome {
        CheckOutcome::Passed(_) => format!("<system-out>{message}</system-out>"),
        CheckOutcome::Warning(_) => format!("<system-out>warning: {message}</system-out>"),
        CheckOutcome::Skipped(_) => format!("<skipped message=\"{message}\"/>"),
        CheckOutcome::Failed(_) => {
            let meaning = escaped(report.meaning.unwrap_or_default());
            format!("<failure message=\"{message}\">{meaning}</failure>")
        }
    };
    let (name, seconds) = (escaped(&report.check), report.took.as_secs_f64());
    format!(
        "  <testcase classname=\"conformance\" name=\"{name}\" time=\"{seconds:.3}\">{inner}</testcase>\n"
    )
}

/// Text of others as text or attribute of XML, which cannot have control characters.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for character in visible(text).chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            _ => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::version::VERSION;
    use std::time::Duration;

    #[test]
    fn results_are_valid_xml_whatever_a_cluster_says() {
        let check = |check: &'static str, outcome| CheckReport {
            check: check.into(),
            meaning: Some("names are not found"),
            outcome,
            took: Duration::from_millis(1500),
        };
        let report = ConformanceReport {
            name: "dev".to_owned(),
            started: "2026-01-01T00:00:00Z".to_owned(),
            seconds: 2.0,
            version: VERSION,
            noun: "check",
            checks: vec![
                check("nodes", CheckOutcome::Passed("2 of 2".to_owned())),
                check("dns", CheckOutcome::Failed("a<b>&\"\u{1b}[31m".to_owned())),
                check("volume", CheckOutcome::Skipped("no class".to_owned())),
            ],
        };
        let expected = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
            <testsuite name=\"kvshoot conformance dev\" timestamp=\"2026-01-01T00:00:00Z\" tests=\"3\" failures=\"1\" skipped=\"1\" time=\"2.000\">\n  \
            <testcase classname=\"conformance\" name=\"nodes\" time=\"1.500\"><system-out>2 of 2</system-out></testcase>\n  \
            <testcase classname=\"conformance\" name=\"dns\" time=\"1.500\"><failure message=\"a&lt;b&gt;&amp;&quot;\\x1b[31m\">names are not found</failure></testcase>\n  \
            <testcase classname=\"conformance\" name=\"volume\" time=\"1.500\"><skipped message=\"no class\"/></testcase>\n\
            </testsuite>\n";
        assert_eq!(render(&report), expected);
    }
}
