//! The text format of OpenMetrics 1.0, as far as gauges and counters need it.

use std::fmt::Write as _;

/// Content type of the text.
pub(super) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Consequence of the kind for names and queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FamilyKind {
    /// A value that rises and falls.
    Gauge,
    /// A value that only rises. Its samples have the suffix `_total`.
    Counter,
}

/// Metrics with the same name and different labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Family {
    /// Without the suffix of counters.
    pub(crate) name: &'static str,
    pub(crate) kind: FamilyKind,
    /// A sentence without a full stop.
    pub(crate) help: &'static str,
}

impl Family {
    pub(crate) const fn gauge(name: &'static str, help: &'static str) -> Family {
        Family {
            name,
            kind: FamilyKind::Gauge,
            help,
        }
    }

    pub(crate) const fn counter(name: &'static str, help: &'static str) -> Family {
        Family {
            name,
            kind: FamilyKind::Counter,
            help,
        }
    }

    /// The name of its samples, for queries.
    pub(crate) fn sample_name(&self) -> String {
        match self.kind {
            FamilyKind::Gauge => self.name.to_owned(),
            FamilyKind::Counter => format!("{}_total", self.name),
        }
    }
}

/// A text that is being written. All samples of a family have to be written together.
#[derive(Debug, Default)]
pub(crate) struct Exposition {
    text: String,
}

impl Exposition {
    /// Begins a family, even if no samples follow.
    pub(crate) fn family(&mut self, family: &Family) {
        let Family { name, kind, help } = family;
        let kind = match kind {
            FamilyKind::Gauge => "gauge",
            FamilyKind::Counter => "counter",
        };
        let help = escaped(help);
        // Writing to a String does not fail.
        let _ = writeln!(self.text, "# TYPE {name} {kind}\n# HELP {name} {help}");
    }

    /// Writes a sample of the family that was begun last.
    pub(crate) fn sample(&mut self, family: &Family, labels: &[(&str, &str)], value: f64) {
        self.text.push_str(&family.sample_name());
        for (index, (name, value)) in labels.iter().enumerate() {
            let separator = if index == 0 { '{' } else { ',' };
            let value = escaped(value);
            let _ = write!(self.text, "{separator}{name}=\"{value}\"");
        }
        let end = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.text, "{end} {value}");
    }

    /// The complete text.
    pub(crate) fn finish(mut self) -> String {
        self.text.push_str("# EOF\n");
        self.text
    }
}

fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\\\");
    text.replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_follow_their_family_and_labels_are_escaped() {
        let nodes = Family::gauge("nodes", "Number of \"nodes\"");
        let runs = Family::counter("runs", "Runs");
        let mut text = Exposition::default();
        text.family(&nodes);
        text.sample(&nodes, &[("shoot", "a\\b\"\nc"), ("pool", "x")], 2.0);
        text.sample(&nodes, &[], 0.5);
        text.family(&runs);
        text.sample(&runs, &[], 1_700_000_000.0);
        let expected = "\
# TYPE nodes gauge
# HELP nodes Number of \\\"nodes\\\"
nodes{shoot=\"a\\\\b\\\"\\nc\",pool=\"x\"} 2
nodes 0.5
# TYPE runs counter
# HELP runs Runs
runs_total 1700000000
# EOF
";
        assert_eq!(text.finish(), expected);
    }
}
