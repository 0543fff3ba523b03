//! The specs that a run of Ginkgo is at, from its verbose output.

use crate::cluster::conformance::outcome::CheckOutcome;

/// A line of dashes is before each spec.
const SEPARATOR: &str = "------------------------------";

/// Reads the output line by line.
#[derive(Debug)]
pub(super) struct SpecProgress<'a> {
    /// Names of the specs that run.
    specs: &'a [String],
    is_after_separator: bool,
    current: Option<&'a str>,
}

/// The beginning or the end of a spec.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SpecEvent<'a> {
    Began(&'a str),
    Ended(SpecEnd<'a>),
}

/// The end of a spec.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SpecEnd<'a> {
    pub(super) name: &'a str,
    /// Its text is the time, such as `(3.211 seconds)`.
    pub(super) outcome: CheckOutcome,
}

impl<'a> SpecProgress<'a> {
    pub(super) fn of(specs: &'a [String]) -> SpecProgress<'a> {
        SpecProgress {
            specs,
            is_after_separator: false,
            current: None,
        }
    }

    /// Returns what a line says of a spec, if anything.
    pub(super) fn line(&mut self, line: &str) -> Option<SpecEvent<'a>> {
        let is_after_separator = std::mem::take(&mut self.is_after_separator);
        if line == SEPARATOR {
            self.is_after_separator = true;
            return None;
        }
        if is_after_separator && let Some(name) = self.named(line) {
            self.current = Some(name);
            return Some(SpecEvent::Began(name));
        }
        let result = result(line)?;
        let name = self.current.take()?;
        let time = line.rsplit_once('[').map_or("", |(_, time)| time);
        let outcome = result(format!("({})", time.trim_end_matches(']')));
        Some(SpecEvent::Ended(SpecEnd { name, outcome }))
    }

    /// The spec of a line with its name and its labels.
    fn named(&self, line: &str) -> Option<&'a str> {
        let is_named = |name: &&String| {
            let labels = line.strip_prefix(name.as_str());
            labels.is_some_and(|it| it.is_empty() || it.starts_with(" ["))
        };
        // One name may be the beginning of another one, with only labels after it.
        let named = self.specs.iter().filter(is_named);
        named.max_by_key(|it| it.len()).map(String::as_str)
    }
}

/// Lines such as `• [3.211 seconds]`, `• [FAILED] [3.211 seconds]` and `S [SKIPPED] [0.002 seconds]`.
fn result(line: &str) -> Option<fn(String) -> CheckOutcome> {
    if line.starts_with("S [SKIPPED]") {
        return Some(CheckOutcome::Skipped);
    }
    let rest = line.strip_prefix("• [")?;
    match rest.starts_with(|letter: char| letter.is_ascii_digit()) {
        true => Some(CheckOutcome::Passed),
        false => Some(CheckOutcome::Failed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As e2e.test 1.36.3 prints it, shortened.
    const OUTPUT: &str = "\
------------------------------
[SynchronizedBeforeSuite] PASSED [0.058 seconds]
------------------------------
SSSSS
------------------------------
[sig-node] Pods should run [Conformance] [sig-node, Conformance]
k8s.io/kubernetes/test/e2e/common/node/pods.go:39
  STEP: Creating a kubernetes client @ 11/27/26 06:57:18.514
• [0.048 seconds]
------------------------------
S
------------------------------
[sig-node] Pods should fail [Conformance] [sig-node, Conformance]
k8s.io/kubernetes/test/e2e/common/node/pods.go:58
  [FAILED] expected 1, found 2
• [FAILED] [1.101 seconds]
[sig-node] Pods [It] should fail [Conformance] [sig-node, Conformance]
------------------------------
[sig-node] Pods should run on two nodes [sig-node]
k8s.io/kubernetes/test/e2e/common/node/pods.go:70
S [SKIPPED] [0.002 seconds]
------------------------------
[ReportAfterSuite] PASSED [0.001 seconds]
";

    #[test]
    fn the_output_of_a_run_has_the_beginning_and_the_end_of_each_spec() {
        let specs = [
            "[sig-node] Pods should run",
            "[sig-node] Pods should run [Conformance]",
            "[sig-node] Pods should fail [Conformance]",
            "[sig-node] Pods should run on two nodes",
        ];
        let specs = specs.map(str::to_owned);
        let mut progress = SpecProgress::of(&specs);
        let events: Vec<SpecEvent<'_>> =
            OUTPUT.lines().filter_map(|it| progress.line(it)).collect();
        let expected = [
            (
                &*specs[1],
                CheckOutcome::Passed("(0.048 seconds)".to_owned()),
            ),
            (
                &*specs[2],
                CheckOutcome::Failed("(1.101 seconds)".to_owned()),
            ),
            (
                &*specs[3],
                CheckOutcome::Skipped("(0.002 seconds)".to_owned()),
            ),
        ];
        let expected = expected.map(|(name, outcome)| {
            let end = SpecEnd { name, outcome };
            [SpecEvent::Began(name), SpecEvent::Ended(end)]
        });
        assert_eq!(events, expected.into_iter().flatten().collect::<Vec<_>>());
    }
}
