//! Settings of kubelets, with which they would not start if they were wrong.

use crate::model::{FindingKind, IntOrString, Kubelet, Quantity, suggest};
use crate::validate::releases;
use crate::validate::report::{FieldCursor, FindingSink};
use crate::validate::rules::{not_negative, one_of};

/// Checks the settings of kubelets of these minor versions.
pub(crate) fn check(
    settings: &Kubelet,
    minors: impl IntoIterator<Item = u64>,
    at: &FieldCursor,
    report: &mut FindingSink,
) {
    let gates = settings.feature_gates.as_ref();
    for minor in minors {
        releases::check_feature_gates("kubelet", Some(minor), gates, at, report);
    }
    let mut least = |name: &str, value: Option<i64>, least: i64| {
        if let Some(value) = value.filter(|value| *value < least) {
            let message = format!("must be at least {least} (is {value})");
            report.error(
                &at.key(name),
                FindingKind::Invalid,
                "kubelet/too-low",
                message,
            );
        }
    };
    least("maxPods", settings.max_pods.map(i64::from), 0);
    least("podPidsLimit", settings.pod_pids_limit, 100);
    least(
        "registryPullQPS",
        settings.registry_pull_qps.map(i64::from),
        0,
    );
    least("registryBurst", settings.registry_burst.map(i64::from), 0);
    least(
        "containerLogMaxFiles",
        settings.container_log_max_files.map(i64::from),
        2,
    );
    least(
        "maxParallelImagePulls",
        settings.max_parallel_image_pulls.map(i64::from),
        1,
    );
    if let Some(size) = settings.container_log_max_size.as_ref()
        && size.value <= 0.0
    {
        let message = format!("must be greater than 0 (is {size})");
        let at = &at.key("containerLogMaxSize");
        report.error(at, FindingKind::Invalid, "kubelet/too-low", message);
    }
    images(settings, at, report);
    words(settings, at, report);
    evictions(settings, at, report);
    let reserved = [
        ("kubeReserved", &settings.kube_reserved),
        ("systemReserved", &settings.system_reserved),
    ];
    for (name, amounts) in reserved {
        for (resource, amount) in amounts.iter().flatten() {
            known(
                resource,
                &["cpu", "ephemeralStorage", "memory", "pid"],
                &at.key(name),
                report,
            );
            not_negative(amount, &at.key(name).key(resource), report);
        }
    }
}

/// Checks the garbage collection of images, in percent of the disk.
fn images(settings: &Kubelet, at: &FieldCursor, report: &mut FindingSink) {
    // Those of the kubelet.
    const DEFAULTS: (i32, i32) = (85, 80);
    let (high, low) = (
        settings.image_gc_high_threshold_percent,
        settings.image_gc_low_threshold_percent,
    );
    let at_high = &at.key("imageGCHighThresholdPercent");
    let at_low = &at.key("imageGCLowThresholdPercent");
    let mut is_broken = false;
    for (at, percent) in [(at_high, high), (at_low, low)] {
        if let Some(percent) = percent.filter(|it| !(0..=100).contains(it)) {
            let message = format!("must be between 0 and 100 (is {percent})");
            report.error(at, FindingKind::Invalid, "kubelet/percent", message);
            is_broken = true;
        }
    }
    let (most, least) = (high.unwrap_or(DEFAULTS.0), low.unwrap_or(DEFAULTS.1));
    if !is_broken && (high, low) != (None, None) && least >= most {
        let (at, message) = match low {
            Some(_) => (
                at_low,
                format!("must be less than imageGCHighThresholdPercent, which is {most}"),
            ),
            None => (
                at_high,
                format!("must be greater than imageGCLowThresholdPercent, which is {least}"),
            ),
        };
        report.error(at, FindingKind::Invalid, "kubelet/percent", message);
    }
    let (oldest, youngest) = (
        settings.image_maximum_gc_age.as_ref(),
        settings.image_minimum_gc_age.as_ref(),
    );
    if let (Some(oldest), Some(youngest)) = (oldest, youngest)
        && !oldest.value.is_zero()
        && oldest.value <= youngest.value
    {
        let message = format!("must be greater than imageMinimumGCAge, which is {youngest}");
        let at = &at.key("imageMaximumGCAge");
        report.error(at, FindingKind::Invalid, "kubelet/image-age", message);
    }
}

fn words(settings: &Kubelet, at: &FieldCursor, report: &mut FindingSink) {
    let policy = settings.cpu_manager_policy.as_deref();
    let at_policy = &at.key("cpuManagerPolicy");
    one_of(
        policy,
        &["none", "static"],
        at_policy,
        "kubelet/cpu-manager",
        report,
    );
    let swap = settings.memory_swap.as_ref();
    let swap = swap.and_then(|it| it.swap_behavior.as_deref());
    let at_swap = &at.key("memorySwap");
    one_of(
        swap.filter(|it| !it.is_empty()),
        &["NoSwap", "LimitedSwap"],
        &at_swap.key("swapBehavior"),
        "kubelet/swap",
        report,
    );
}

const SIGNALS: [&str; 5] = [
    "imageFSAvailable",
    "imageFSInodesFree",
    "memoryAvailable",
    "nodeFSAvailable",
    "nodeFSInodesFree",
];

/// Checks eviction thresholds: quantities or percentages.
fn evictions(settings: &Kubelet, at: &FieldCursor, report: &mut FindingSink) {
    let thresholds = [
        ("evictionHard", &settings.eviction_hard),
        ("evictionSoft", &settings.eviction_soft),
    ];
    for (name, signals) in thresholds {
        let at = &at.key(name);
        for (signal, threshold) in signals.iter().flatten() {
            known(signal, &SIGNALS, at, report);
            let IntOrString::String(text) = threshold else {
                continue;
            };
            if text.starts_with('-') {
                let message = format!("must be at least 0 (is {text})");
                let at = &at.key(signal);
                report.error(at, FindingKind::Invalid, "kubelet/eviction", message);
                continue;
            }
            let percent = text.strip_suffix('%').map(|number| {
                number
                    .parse::<f64>()
                    .is_ok_and(|it| (0.0..=100.0).contains(&it))
            });
            if !percent.unwrap_or_else(|| Quantity::parse(text).is_ok()) {
                let message = format!("{text:?} is neither a quantity nor a percentage");
                report
                    .error(
                        &at.key(signal),
                        FindingKind::Invalid,
                        "kubelet/eviction",
                        message,
                    )
                    .hint("write a quantity such as 100Mi, or a percentage such as 5%");
            }
        }
    }
    let at_reclaim = &at.key("evictionMinimumReclaim");
    for (signal, amount) in settings.eviction_minimum_reclaim.iter().flatten() {
        known(signal, &SIGNALS, at_reclaim, report);
        not_negative(amount, &at_reclaim.key(signal), report);
    }
    for signal in settings
        .eviction_soft_grace_period
        .iter()
        .flat_map(|it| it.keys())
    {
        known(signal, &SIGNALS, &at.key("evictionSoftGracePeriod"), report);
    }
}

/// Reports an unknown key of a map with a fixed set of keys.
fn known(key: &str, names: &[&'static str], at: &FieldCursor, report: &mut FindingSink) {
    if names.contains(&key) {
        return;
    }
    let hint = suggest(key, names.iter().copied()).map_or_else(
        || format!("supported values: {}", names.join(", ")),
        |meant| format!("did you mean {meant:?}?"),
    );
    report
        .error(
            &at.key(key),
            FindingKind::Unknown,
            "kubelet/unknown-key",
            format!("unknown field {key:?}"),
        )
        .hint(hint)
        .of_key();
}
