use super::*;

const ALL: &str = "    clusterAutoscaler:
      scaleDownDelayAfterAdd: 2m
      scaleDownDelayAfterDelete: 3m
      scaleDownDelayAfterFailure: 4m
      scaleDownUnneededTime: 5m
      scaleDownUtilizationThreshold: 0.25
      scanInterval: 6s
      expander: least-waste,random
      maxNodeProvisionTime: 7m
      maxGracefulTerminationSeconds: 8
      ignoreTaints: [a]
      startupTaints: [b]
      statusTaints: [c]
      newPodScaleUpDelay: 9s
      maxEmptyBulkDelete: 11
      maxScaleDownParallelism: 11
      maxDrainParallelism: 12
      initialNodeGroupBackoffDuration: 13m
      maxNodeGroupBackoffDuration: 14m
      nodeGroupBackoffResetTimeout: 15m
      ignoreDaemonsetsUtilization: true
      emitPerNodeGroupMetrics: true
      verbosity: 4
      maxBinpackingTime: 16s
";

/// A shoot whose pool can be scaled.
fn scaled(kubernetes: &str, pool: &str) -> ValidShoot {
    let yaml = SHOOT.replace(
        "version: \"1.34\"",
        &format!("version: \"1.34\"\n{kubernetes}"),
    );
    let bounds = format!("minimum: 1\n      maximum: 3\n{pool}");
    valid_for_tests(&yaml.replacen("minimum: 1\n      maximum: 1\n", &bounds, 1))
}

fn command(shoot: &ValidShoot) -> Vec<String> {
    let objects = objects(shoot);
    let deployment = named(&objects, "Deployment", "cluster-autoscaler");
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    let command = container["command"].as_array().expect("a command");
    command
        .iter()
        .map(|it| it.as_str().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn the_autoscaler_runs_only_if_a_pool_can_be_scaled() {
    let has_autoscaler = |shoot| {
        let objects = objects(&shoot);
        let names = objects.iter().map(|it| it["metadata"]["name"].as_str());
        names.flatten().any(|it| it.contains("cluster-autoscaler"))
    };
    assert!(!has_autoscaler(shoot(34, "")));
    assert!(has_autoscaler(scaled("", "")));
}

#[test]
fn the_settings_of_the_shoot_reach_the_autoscaler() {
    let command = command(&scaled(ALL, ""));
    for flag in [
        "--scale-down-delay-after-add=2m",
        "--scale-down-delay-after-delete=3m",
        "--scale-down-delay-after-failure=4m",
        "--scale-down-unneeded-time=5m",
        "--scale-down-utilization-threshold=0.25",
        "--scan-interval=6s",
        "--expander=least-waste,random",
        "--max-node-provision-time=7m",
        "--max-graceful-termination-sec=8",
        "--startup-taint=a",
        "--startup-taint=b",
        "--status-taint=c",
        "--new-pod-scale-up-delay=9s",
        "--max-scale-down-parallelism=11",
        "--max-drain-parallelism=12",
        "--initial-node-group-backoff-duration=13m",
        "--max-node-group-backoff-duration=14m",
        "--node-group-backoff-reset-timeout=15m",
        "--ignore-daemonsets-utilization=true",
        "--emit-per-nodegroup-metrics=true",
        "--v=4",
        "--max-binpacking-time=16s",
    ] {
        assert!(
            command.iter().any(|it| it == flag),
            "{flag} in {command:#?}"
        );
    }
}

#[test]
fn the_autoscaler_has_the_defaults_of_gardener_and_the_priorities_of_pools() {
    for (pool, expander) in [
        ("", "least-waste"),
        ("      priority: 7\n", "priority,least-waste"),
    ] {
        let command = command(&scaled("", pool));
        for flag in [
            "--cloud-provider=externalgrpc",
            "--scale-down-delay-after-add=1h",
            "--scale-down-unneeded-time=30m",
            "--startup-taint=node.cloudprovider.kubernetes.io/uninitialized",
            &format!("--expander={expander}"),
        ] {
            assert!(
                command.iter().any(|it| it == flag),
                "{flag} in {command:#?}"
            );
        }
    }
}

#[test]
fn the_autoscaler_asks_the_service_of_the_shoot() {
    let objects = objects(&scaled("", ""));
    let service = named(&objects, "Service", "node-groups");
    let config = named(&objects, "ConfigMap", "cluster-autoscaler");
    let metadata = &service["metadata"];
    let text = |field: &str| metadata[field].as_str().expect("a name");
    let address = format!("{}.{}.svc:8086", text("name"), text("namespace"));
    let file = config["data"]["cloud-config"].as_str().expect("a file");
    let file: Value = serde_json::from_str(file).expect("JSON is YAML");
    assert_eq!(file["address"], address);
    let selector = serde_json::json!({ "kvshoot.io/serves": "node-groups" });
    assert_eq!(service["spec"]["selector"], selector);
}
