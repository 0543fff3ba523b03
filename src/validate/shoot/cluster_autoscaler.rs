//! `spec.kubernetes.clusterAutoscaler`.

use crate::model::{ClusterAutoscaler, FindingKind};
use crate::validate::report::{FieldCursor, FindingSink};
use std::collections::HashSet;

const EXPANDERS: [&str; 5] = [
    "least-waste",
    "least-nodes",
    "most-pods",
    "priority",
    "random",
];

pub(super) fn check(settings: &ClusterAutoscaler, at: &FieldCursor, report: &mut FindingSink) {
    let threshold = settings.scale_down_utilization_threshold;
    share(threshold, &at.key("scaleDownUtilizationThreshold"), report);
    expander(settings, &at.key("expander"), report);
    for (name, taints) in [
        ("ignoreTaints", &settings.ignore_taints),
        ("startupTaints", &settings.startup_taints),
        ("statusTaints", &settings.status_taints),
    ] {
        duplicates(taints.as_deref().unwrap_or_default(), &at.key(name), report);
    }
    for (name, number) in [
        (
            "maxGracefulTerminationSeconds",
            settings.max_graceful_termination_seconds,
        ),
        ("maxEmptyBulkDelete", settings.max_empty_bulk_delete),
        (
            "maxScaleDownParallelism",
            settings.max_scale_down_parallelism,
        ),
        ("maxDrainParallelism", settings.max_drain_parallelism),
        ("verbosity", settings.verbosity),
    ] {
        if let Some(number) = number.filter(|it| *it < 0) {
            let message = format!("must be at least 0 (is {number})");
            let at = &at.key(name);
            report.error(at, FindingKind::Invalid, "autoscaler/negative", message);
        }
    }
    let (old, new) = (
        settings.max_empty_bulk_delete,
        settings.max_scale_down_parallelism,
    );
    if old.is_some() && new.is_some() && old != new {
        report
            .error(
                &at.key("maxEmptyBulkDelete"),
                FindingKind::Invalid,
                "autoscaler/old-name",
                "must be the same as maxScaleDownParallelism, which replaces it",
            )
            .see(&at.key("maxScaleDownParallelism"), "new name")
            .hint("remove it");
    }
}

/// A share from 0 to 1.
pub(in crate::validate) fn share(value: Option<f64>, at: &FieldCursor, report: &mut FindingSink) {
    if let Some(value) = value.filter(|it| !(0.0..=1.0).contains(it)) {
        let message = format!("must be between 0 and 1 (is {value})");
        report.error(at, FindingKind::Invalid, "autoscaler/share", message);
    }
}

fn expander(settings: &ClusterAutoscaler, at: &FieldCursor, report: &mut FindingSink) {
    let names = settings.expander.iter().flat_map(|it| it.split(','));
    for name in names.filter(|it| !EXPANDERS.contains(it)) {
        let message = format!("unsupported expander {name:?}");
        report
            .error(
                at,
                FindingKind::NotSupported,
                "autoscaler/expander",
                message,
            )
            .hint(format!("supported values: {}", EXPANDERS.join(", ")));
    }
}

fn duplicates(taints: &[String], at: &FieldCursor, report: &mut FindingSink) {
    let mut known = HashSet::new();
    for (index, taint) in taints.iter().enumerate() {
        let at = &at.index(index);
        if taint.is_empty() {
            report.error(
                at,
                FindingKind::Required,
                "autoscaler/taint",
                "must have a key",
            );
        } else if !known.insert(taint) {
            let message = format!("duplicate taint {taint:?}");
            report.error(at, FindingKind::Duplicate, "autoscaler/taint", message);
        }
    }
}
