//! Feature gates of the components of Kubernetes, which share one list.

use std::collections::BTreeMap;

use super::minor::range;
use crate::model::{FindingKind, suggest};
use crate::validate::report::{FieldCursor, FindingSink};

/// Lines of name, first and last minor version, and for a gate that cannot be changed anymore its value and the first
/// minor version of which that is so. From `pkg/features` of Kubernetes and of the modules that it registers.
const TABLE: &str = include_str!("feature_gates.txt");

/// Switches for all gates of a stage, which every version has.
const STAGES: [&str; 2] = ["AllAlpha", "AllBeta"];

const CODE: &str = "kubernetes/feature-gate";

struct Gate {
    name: &'static str,
    first: u64,
    last: u64,
    /// Value, and the first minor version of which it cannot be changed.
    locked: Option<(bool, u64)>,
}

/// Reports gates that a component of this minor version does not know, and those that it does not let change.
///
/// A gate of a later version is a warning: fixes bring gates to patch releases of older versions, too.
pub(crate) fn check(
    component: &str,
    minor: Option<u64>,
    gates: Option<&BTreeMap<String, bool>>,
    at: &FieldCursor,
    report: &mut FindingSink,
) {
    let (Some(minor), Some(gates)) = (minor, gates) else {
        return;
    };
    let at = &at.key("featureGates");
    for (name, value) in gates.iter().filter(|it| !STAGES.contains(&it.0.as_str())) {
        let at = &at.key(name);
        let Some(gate) = all().find(|it| it.name == name) else {
            let known = all().filter(|it| (it.first..=it.last).contains(&minor));
            let meant = suggest(name, known.map(|it| it.name));
            let hint = meant.map_or("remove it".to_owned(), |it| format!("did you mean {it:?}?"));
            unknown(component, minor, name, hint, at, report);
            continue;
        };
        if minor < gate.first {
            let message = format!(
                "feature gate {name:?} was added in Kubernetes 1.{}; {component} 1.{minor} may not have it",
                gate.first
            );
            report
                .warning(at, FindingKind::NotSupported, CODE, message)
                .hint("remove it, unless this patch release has it");
        } else if minor > gate.last {
            let hint = format!(
                "Kubernetes {} has it; remove it",
                range(gate.first, gate.last)
            );
            unknown(component, minor, name, hint, at, report);
        } else if let Some((fixed, _)) = gate.locked.filter(|it| it.1 <= minor && it.0 != *value) {
            let message =
                format!("feature gate {name:?} is locked to {fixed} in {component} 1.{minor}");
            report
                .error(at, FindingKind::Forbidden, CODE, message)
                .hint("remove it");
        }
    }
}

fn unknown(
    component: &str,
    minor: u64,
    name: &str,
    hint: String,
    at: &FieldCursor,
    report: &mut FindingSink,
) {
    let message = format!("{component} 1.{minor} has no feature gate {name:?}");
    report
        .error(at, FindingKind::NotSupported, CODE, message)
        .hint(hint);
}

fn all() -> impl Iterator<Item = Gate> + Clone {
    TABLE.lines().filter_map(|line| {
        let mut words = line.split(' ');
        let number = |words: &mut std::str::Split<'static, char>| words.next()?.parse().ok();
        Some(Gate {
            name: words.next()?,
            first: number(&mut words)?,
            last: number(&mut words)?,
            locked: words.next().map(|it| it == "true").zip(number(&mut words)),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::DocumentKind;
    use crate::validate::releases::KNOWN_MINORS;

    #[test]
    fn every_line_of_the_table_is_read() {
        assert_eq!(all().count(), TABLE.lines().count());
        assert!(all().all(|it| it.first <= it.last && KNOWN_MINORS.contains(&it.last)));
    }

    #[test]
    fn gates_are_judged_by_the_minor_version() {
        let verdict = |name: &str, value: bool, minor: u64| {
            let mut report = FindingSink::default();
            let gates = BTreeMap::from([(name.to_owned(), value)]);
            let at = FieldCursor::root(DocumentKind::Shoot);
            check("kubelet", Some(minor), Some(&gates), &at, &mut report);
            let warning = report.warnings.pop();
            let found = report.errors.pop().or(warning);
            found.map(|it| format!("{}; {}", it.message, it.hint.unwrap_or_default()))
        };
        for (name, value, minor) in [
            ("AllAlpha", true, 31),
            ("WatchList", true, 36),
            ("InPlacePodVerticalScaling", false, 34),
            ("InPlacePodVerticalScaling", true, 35),
            ("OrderedNamespaceDeletion", true, 31),
            ("StatefulSetSemanticRevisionComparison", false, 34),
        ] {
            assert_eq!(verdict(name, value, minor), None, "{name} {minor}");
        }
        for (name, value, minor, expected) in [
            (
                "WatchLst",
                true,
                34,
                "kubelet 1.34 has no feature gate \"WatchLst\"; did you mean \"WatchList\"?",
            ),
            (
                "APIListChunking",
                true,
                33,
                "kubelet 1.33 has no feature gate \"APIListChunking\"; Kubernetes 1.31 to 1.32 has it; remove it",
            ),
            (
                "SystemdWatchdog",
                true,
                31,
                "feature gate \"SystemdWatchdog\" was added in Kubernetes 1.32; kubelet 1.31 may not have it; remove it, unless this patch release has it",
            ),
            (
                "InPlacePodVerticalScaling",
                false,
                35,
                "feature gate \"InPlacePodVerticalScaling\" is locked to true in kubelet 1.35; remove it",
            ),
        ] {
            assert_eq!(verdict(name, value, minor).as_deref(), Some(expected));
        }
    }
}
