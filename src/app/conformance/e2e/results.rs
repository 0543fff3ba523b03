//! Results of the specs, from the report that Ginkgo writes.

use crate::app::conformance::report::CheckReport;
use crate::app::error::{CommandError, Exit};
use crate::cluster::conformance::outcome::CheckOutcome;
use crate::state::printable::shortened;
use crate::ui::format_duration;
use serde::Deserialize;
use std::collections::HashMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::time::Duration;

/// The longest quoted message of a failure, in bytes.
const QUOTED: usize = 400;
/// The kind of a spec; others are set up and clean up the suite.
const SPEC: &str = "It";

/// The report of a suite.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct SuiteReport {
    spec_reports: Vec<SpecReport>,
}

/// The report of a spec, or of a function that sets up or cleans up.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct SpecReport {
    container_hierarchy_texts: Option<Vec<String>>,
    leaf_node_type: String,
    #[serde(default)]
    leaf_node_text: String,
    state: String,
    /// In nanoseconds.
    #[serde(default)]
    run_time: u64,
    failure: Option<SpecFailure>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct SpecFailure {
    #[serde(default)]
    message: String,
}

/// Reads the results of specs.
///
/// # Errors
///
/// The report does not exist or cannot be read: the program was killed.
pub(super) fn read(path: &Path, specs: &[String]) -> Result<Vec<CheckReport>, CommandError> {
    let cannot = |error: &dyn std::error::Error| {
        let message = format!("cannot read the results in {}", path.display());
        CommandError::new(Exit::Partly, message).cause(error.to_string())
    };
    let file = File::open(path).map_err(|it| cannot(&it))?;
    let suites: Vec<SuiteReport> =
        serde_json::from_reader(BufReader::new(file)).map_err(|it| cannot(&it))?;
    Ok(results(suites, specs))
}

/// One result for each spec, in their order, and one for each function that failed while it set up or cleaned up.
fn results(suites: Vec<SuiteReport>, specs: &[String]) -> Vec<CheckReport> {
    let mut of_specs = HashMap::new();
    let mut of_suite = Vec::new();
    for report in suites.into_iter().flat_map(|it| it.spec_reports) {
        let took = Duration::from_nanos(report.run_time);
        if report.leaf_node_type == SPEC {
            of_specs.insert(report.name(), (outcome(&report), took));
        } else if report.state != "passed" && report.state != "skipped" {
            of_suite.push(CheckReport {
                check: report.leaf_node_type.clone().into(),
                meaning: None,
                outcome: outcome(&report),
                took,
            });
        }
    }
    let results = specs.iter().map(|name| {
        let reported = of_specs.remove(name);
        let (outcome, took) = reported.unwrap_or_else(|| (not_run(), Duration::ZERO));
        CheckReport {
            check: name.clone().into(),
            meaning: None,
            outcome,
            took,
        }
    });
    let mut all: Vec<CheckReport> = results.collect();
    all.extend(of_suite);
    all
}

fn not_run() -> CheckOutcome {
    CheckOutcome::Failed("it did not run".to_owned())
}

fn outcome(report: &SpecReport) -> CheckOutcome {
    let message = report.failure.as_ref().map(|it| &*it.message);
    // Messages have many lines, some of them only for the layout.
    let words = message.map(|it| it.split_whitespace().collect::<Vec<_>>().join(" "));
    let quoted = words.filter(|it| !it.is_empty());
    let quoted = quoted.map(|it| shortened(&it, QUOTED));
    match (&*report.state, quoted) {
        ("passed", _) => {
            let took = Duration::from_nanos(report.run_time);
            CheckOutcome::Passed(format!("({})", format_duration(took)))
        }
        // Specs that are skipped because the run has ended have no reason.
        ("skipped" | "pending", None) => not_run(),
        ("skipped" | "pending", Some(reason)) => CheckOutcome::Skipped(reason),
        (state, None) => CheckOutcome::Failed(state.to_owned()),
        (_, Some(message)) => CheckOutcome::Failed(message),
    }
}

impl SpecReport {
    /// The name, as `--list-tests` prints it.
    fn name(&self) -> String {
        let containers = self.container_hierarchy_texts.iter().flatten();
        let texts = containers
            .map(String::as_str)
            .chain([&*self.leaf_node_text]);
        let texts: Vec<&str> = texts.filter(|it| !it.is_empty()).collect();
        texts.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn spec(text: &str, state: &str, message: Option<&str>) -> serde_json::Value {
        json!({
            "ContainerHierarchyTexts": ["[sig-node] Pods"],
            "LeafNodeType": "It",
            "LeafNodeText": text,
            "State": state,
            "RunTime": 2_500_000_000_u64,
            "Failure": message.map(|it| json!({ "Message": it })),
        })
    }

    fn read_results(specs: serde_json::Value, names: &[&str]) -> Vec<(String, CheckOutcome)> {
        let suites = serde_json::from_value(json!([{ "SpecReports": specs }])).unwrap();
        let names = names.iter().map(|it| format!("[sig-node] Pods {it}"));
        let results = results(suites, &names.collect::<Vec<_>>());
        let results = results.into_iter().map(|it| {
            let name = it
                .check
                .strip_prefix("[sig-node] Pods ")
                .unwrap_or(&it.check);
            (name.to_owned(), it.outcome)
        });
        results.collect()
    }

    #[test]
    fn each_state_of_a_spec_has_its_outcome() {
        let specs = json!([
            spec("run", "passed", None),
            spec("fail", "failed", Some("expected 1\nfound 2")),
            spec("hang", "timedout", None),
            spec("need", "skipped", Some("needs two nodes")),
            spec("wait", "skipped", None),
            spec("other", "skipped", None),
        ]);
        let names = ["run", "fail", "hang", "need", "wait", "missing"];
        let failed = |it: &str| CheckOutcome::Failed(it.to_owned());
        let expected = [
            ("run", CheckOutcome::Passed("(2s)".to_owned())),
            ("fail", failed("expected 1 found 2")),
            ("hang", failed("timedout")),
            ("need", CheckOutcome::Skipped("needs two nodes".to_owned())),
            ("wait", failed("it did not run")),
            ("missing", failed("it did not run")),
        ];
        let expected = expected.map(|(name, outcome)| (name.to_owned(), outcome));
        assert_eq!(read_results(specs, &names), expected);
    }

    #[test]
    fn a_failure_before_the_first_spec_is_a_result_of_its_own() {
        let specs = json!([
            { "ContainerHierarchyTexts": null, "LeafNodeType": "BeforeSuite", "LeafNodeText": "", "State": "failed",
              "Failure": { "Message": "no node is ready" } },
            { "ContainerHierarchyTexts": null, "LeafNodeType": "AfterSuite", "LeafNodeText": "", "State": "passed" },
        ]);
        let results = read_results(specs, &["run"]);
        assert_eq!(
            results[0].1,
            CheckOutcome::Failed("it did not run".to_owned())
        );
        let failed = CheckOutcome::Failed("no node is ready".to_owned());
        assert_eq!(results[1..], [("BeforeSuite".to_owned(), failed)]);
    }
}
