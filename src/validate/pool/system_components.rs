//! Whether what runs inside every shoot, DNS first of all, finds a machine.

use std::collections::HashMap;

use crate::model::{FindingKind, Worker};
use crate::validate::report::{FieldCursor, FindingSink};

pub(crate) fn are_allowed(worker: &Worker) -> bool {
    worker.system_components.as_ref().is_none_or(|it| it.allow)
}

fn is_active(worker: &Worker) -> bool {
    worker.minimum > 0 && worker.maximum > 0
}

/// Pods without tolerations come onto its machines.
fn takes_any_pod(worker: &Worker) -> bool {
    let mut effects = worker.taints.iter().map(|it| it.effect.as_deref());
    effects.all(|effect| effect == Some("PreferNoSchedule"))
}

pub(crate) fn check(workers: &[Worker], at: &FieldCursor, report: &mut FindingSink) {
    let mut forbid = |code, message: &str, hint: &str| {
        report
            .error(at, FindingKind::Forbidden, code, message)
            .hint(hint);
    };
    let active = || workers.iter().filter(|it| is_active(it));
    if active().next().is_none() {
        forbid(
            "pool/none-active",
            "no pool has machines",
            "give one pool a minimum of at least 1",
        );
    } else if !workers.iter().any(takes_any_pod) {
        forbid(
            "pool/all-tainted",
            "every pool has taints that keep system components away",
            "leave one pool without taints, or with the effect PreferNoSchedule only",
        );
    } else if !active().any(|it| takes_any_pod(it) && are_allowed(it)) {
        forbid(
            "pool/none-for-system-components",
            "no pool has machines, is free of taints and allows system components",
            "let one pool do all three",
        );
    }
    zones(workers, at, report);
}

/// They spread over zones; pools with the same zones share the task.
fn zones(workers: &[Worker], at: &FieldCursor, report: &mut FindingSink) {
    let mut groups: HashMap<Vec<&str>, (usize, i64)> = HashMap::new();
    for (i, worker) in workers.iter().enumerate().filter(|(_, it)| are_allowed(it)) {
        let mut zones: Vec<&str> = worker.zones.iter().map(String::as_str).collect();
        zones.sort_unstable();
        zones.dedup();
        let group = groups.entry(zones).or_insert((i, 0));
        group.1 += i64::from(worker.maximum);
    }
    let mut short: Vec<_> = groups
        .into_iter()
        .filter(|(zones, (_, most))| {
            *most > 0 && i64::try_from(zones.len()).is_ok_and(|it| it > *most)
        })
        .map(|(zones, (i, most))| (i, zones.len(), most))
        .collect();
    short.sort_unstable();
    for (i, zones, most) in short {
        let message = format!(
            "is {most}, fewer than the {zones} zones; system components need a machine in each"
        );
        report
            .error(&at.index(i).key("maximum"), FindingKind::Forbidden, "pool/fewer-than-zones", message)
            .hint("raise it, take fewer zones, or write systemComponents: {allow: false} when another pool serves them");
    }
}
