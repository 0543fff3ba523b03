//! Autoscaling of pools.

use crate::model::{DocumentKind, FindingKind, Shoot, Worker};
use crate::validate::report::{FieldCursor, FindingSink};
use crate::validate::shoot::cluster_autoscaler::share;

const OF_POOL: &str = "minimum and maximum of the pool are the same";

/// The settings of a pool.
pub(super) fn check(worker: &Worker, at: &FieldCursor, report: &mut FindingSink) {
    let is_fixed = worker.minimum == worker.maximum;
    if is_fixed && worker.priority.is_some() {
        no_effect(OF_POOL, &at.key("priority"), report);
    }
    if let Some(priority) = worker.priority.filter(|it| *it < 0) {
        let message = format!("must be at least 0 (is {priority}): such pools would never grow");
        let at = &at.key("priority");
        report.error(at, FindingKind::Invalid, "autoscaler/negative", message);
    }
    let Some(settings) = &worker.cluster_autoscaler else {
        return;
    };
    let at = &at.key("clusterAutoscaler");
    if is_fixed {
        no_effect(OF_POOL, at, report);
    }
    for (name, value) in [
        (
            "scaleDownUtilizationThreshold",
            settings.scale_down_utilization_threshold,
        ),
        (
            "scaleDownGpuUtilizationThreshold",
            settings.scale_down_gpu_utilization_threshold,
        ),
    ] {
        share(value, &at.key(name), report);
    }
}

/// Warns of settings of the autoscaler, if it does not run.
pub(super) fn unused(shoot: &Shoot, report: &mut FindingSink) {
    let spec = &shoot.spec;
    let mut workers = spec.provider.workers.iter();
    let runs = workers.any(Worker::is_scalable);
    if spec.kubernetes.cluster_autoscaler.is_none() || runs {
        return;
    }
    let root = FieldCursor::root(DocumentKind::Shoot);
    let (spec, all) = (
        root.key("spec"),
        "minimum and maximum are the same in each pool",
    );
    let kubernetes = spec.key("kubernetes");
    no_effect(all, &kubernetes.key("clusterAutoscaler"), report);
}

fn no_effect(why: &str, at: &FieldCursor, report: &mut FindingSink) {
    let message = format!("has no effect: {why}");
    report.warning(
        at,
        FindingKind::NotSupported,
        "autoscaler/no-effect",
        message,
    );
}

/// Warns once that pools have their minimum unless `kvshoot keep` runs.
pub(super) fn needs_keep(workers: &[Worker], at: &FieldCursor, report: &mut FindingSink) {
    let mut wide = workers
        .iter()
        .enumerate()
        .filter(|(_, it)| it.is_scalable());
    let Some((i, first)) = wide.next() else {
        return;
    };
    let (others, verb) = match wide.count() {
        0 => (String::new(), "is"),
        1 => (" and 1 more".to_owned(), "are"),
        more => (format!(" and {more} more"), "are"),
    };
    let message = format!(
        "pool {:?}{others} {verb} scaled automatically only while `kvshoot keep` runs",
        first.name
    );
    report
        .warning(
            &at.index(i).key("maximum"),
            FindingKind::NotSupported,
            "pool/scaled-by-keep",
            message,
        )
        .see(&at.index(i).key("minimum"), "initial size")
        .hint("run `kvshoot keep --print` for its Deployment, or scale by hand: kvshoot scale NAME POOL=N");
}
