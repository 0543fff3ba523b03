use super::check;

const VERSION: &str = "version: \"1.34\"";
const FIELD: &str = "spec.kubernetes.clusterAutoscaler";

/// Findings of a shoot with these settings, without the one that `kvshoot keep` has to run.
fn findings(settings: &str, pool: &str) -> String {
    let settings = format!("{VERSION}\n    clusterAutoscaler: {settings}");
    let bounds = format!("minimum: 1\n      maximum: 3\n{pool}");
    let all = check(&[
        (VERSION, &settings),
        ("minimum: 1\n      maximum: 1\n", &bounds),
    ]);
    let others = all.lines().filter(|it| !it.contains("`kvshoot keep`"));
    others.map(|it| format!("{it}\n")).collect()
}

#[test]
fn settings_of_the_autoscaler_are_validated() {
    for (settings, expected) in [
        (
            "{expander: 'least-waste,random', startupTaints: [a, b]}",
            "",
        ),
        (
            "{expander: price}",
            ".expander NotSupported: unsupported expander \"price\"\n",
        ),
        (
            "{scaleDownUtilizationThreshold: 1.5}",
            ".scaleDownUtilizationThreshold Invalid: must be between 0 and 1 (is 1.5)\n",
        ),
        (
            "{maxDrainParallelism: -1}",
            ".maxDrainParallelism Invalid: must be at least 0 (is -1)\n",
        ),
        (
            "{maxEmptyBulkDelete: 2, maxScaleDownParallelism: 3}",
            ".maxEmptyBulkDelete Invalid: must be the same as maxScaleDownParallelism, which replaces it\n",
        ),
        (
            "{statusTaints: [a, a]}",
            ".statusTaints[1] Duplicate: duplicate taint \"a\"\n",
        ),
        (
            "{ignoreTaints: ['']}",
            ".ignoreTaints[0] Required: must have a key\n",
        ),
    ] {
        let expected = match expected {
            "" => String::new(),
            it => format!("{FIELD}{it}"),
        };
        assert_eq!(findings(settings, ""), expected, "{settings}");
    }
}

#[test]
fn settings_of_a_scaled_pool_are_validated() {
    for (pool, expected) in [
        ("priority: 10", ""),
        (
            "priority: -1",
            "priority Invalid: must be at least 0 (is -1): such pools would never grow",
        ),
        (
            "clusterAutoscaler: {scaleDownGpuUtilizationThreshold: -0.5}",
            "clusterAutoscaler.scaleDownGpuUtilizationThreshold Invalid: must be between 0 and 1 (is -0.5)",
        ),
    ] {
        let expected = match expected {
            "" => String::new(),
            it => format!("spec.provider.workers[0].{it}\n"),
        };
        assert_eq!(findings("{}", &format!("      {pool}\n")), expected);
    }
}

#[test]
fn settings_without_effect_are_named() {
    let settings = format!("{VERSION}\n    clusterAutoscaler: {{}}");
    let pool = "minimum: 1\n      priority: 2\n      clusterAutoscaler: {}";
    let of_pool = "has no effect: minimum and maximum of the pool are the same\n";
    assert_eq!(
        check(&[(VERSION, &settings), ("minimum: 1", pool)]),
        format!(
            "warning: spec.provider.workers[0].priority: {of_pool}\
             warning: spec.provider.workers[0].clusterAutoscaler: {of_pool}\
             warning: spec.kubernetes.clusterAutoscaler: has no effect: minimum and maximum are the same in each pool\n"
        )
    );
}
