//! Checks that system components such as DNS can be scheduled.

use std::collections::HashMap;

use crate::model::{FindingKind, Worker};
use crate::validate::report::{FieldCursor, FindingSink};

pub(crate) fn are_allowed(worker: &Worker) -> bool {
    worker.system_components.as_ref().is_none_or(|it| it.allow)
}

fn is_active(worker: &Worker) -> bool {
    worker.minimum > 0 && worker.maximum > 0
}

/// Returns true if pods without tolerations can run on the pool.
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
            "set the minimum of one pool to at least 1",
        );
    } else if !workers.iter().any(takes_any_pod) {
        forbid(
            "pool/all-tainted",
            "every pool has taints that repel system components",
            "remove the taints of one pool, or use only the effect PreferNoSchedule",
        );
    } else if !active().any(|it| takes_any_pod(it) && are_allowed(it)) {
        forbid(
            "pool/none-for-system-components",
            "no pool with machines and without taints allows system components",
            "allow system components in such a pool",
        );
    }
    zones(workers, at, report);
}

/// Requires a machine in each zone, counted over all pools with the same zones.
fn zones(workers: &[Worker], at: &FieldCursor, report: &mut FindingSink) {
    let mut groups: HashMap<Vec<&str>, (usize, i64)> = HashMap::new();
    for (i, worker) in workers.iter().enumerate().filter(|(_, it)| are_allowed(it)) {
        let mut zones: Vec<&str> = worker.zones.iter().map(String::as_str).collect();
        zones.retain(|it| !it.is_empty());
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
            "must be at least {zones} (is {most}): system components need a machine in each zone"
        );
        report
            .error(&at.index(i).key("maximum"), FindingKind::Forbidden, "pool/fewer-than-zones", message)
            .hint("increase it, use fewer zones, or set systemComponents: {allow: false} if another pool runs them");
    }
}
