//! The taints of a pool.

use std::collections::HashSet;

use crate::model::{FindingKind, Taint};
use crate::validate::names;
use crate::validate::report::{FieldCursor, FindingSink};

const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

pub(crate) fn check(taints: &[Taint], at: &FieldCursor, report: &mut FindingSink) {
    let mut known = HashSet::new();
    for (i, taint) in taints.iter().enumerate() {
        let at = &at.index(i);
        let (key, effect) = (taint.key.as_deref(), taint.effect.as_deref());
        for (name, given) in [("key", key), ("effect", effect)] {
            if given.is_none_or(str::is_empty) {
                report.error(
                    &at.key(name),
                    FindingKind::Required,
                    "taint/required",
                    "is required",
                );
            }
        }
        if let Some(key) = key.filter(|it| !it.is_empty()) {
            names::check_taint_key(&at.key("key"), key, report);
            of_controllers(key, &at.key("key"), report);
        }
        if let Some(effect) = effect.filter(|it| !it.is_empty() && !EFFECTS.contains(it)) {
            let message = format!("unsupported value {effect:?}");
            report
                .error(
                    &at.key("effect"),
                    FindingKind::NotSupported,
                    "taint/effect",
                    message,
                )
                .hint(format!("supported values: {}", EFFECTS.join(", ")));
        }
        if let Some(value) = taint
            .value
            .as_deref()
            .filter(|it| !names::is_label_value(it))
        {
            let message = format!("{value:?} is not a valid taint value");
            report
                .error(
                    &at.key("value"),
                    FindingKind::Invalid,
                    "taint/value",
                    message,
                )
                .hint(names::LABEL_VALUE);
        }
        if let (Some(key), Some(effect)) = (key, effect)
            && !known.insert((key, effect))
        {
            let message = format!("duplicate taint {key:?} with effect {effect}");
            report.error(at, FindingKind::Duplicate, "taint/duplicate", message);
        }
    }
}

/// Reports a taint that Kubernetes adds and removes as it observes the node.
fn of_controllers(key: &str, at: &FieldCursor, report: &mut FindingSink) {
    let domain = key.split_once('/').map_or("", |it| it.0);
    if ["node.kubernetes.io", "node.cloudprovider.kubernetes.io"].contains(&domain) {
        let message = format!("{key} is set and removed by Kubernetes");
        report
            .error(at, FindingKind::Forbidden, "taint/reserved", message)
            .hint("use a key with a domain of your own");
    }
}
