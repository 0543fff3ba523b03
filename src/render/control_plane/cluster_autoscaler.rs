//! The cluster autoscaler: decides the sizes of pools between minimum and maximum, which `kvshoot keep` carries out.

use super::api_server::text;
use super::context::ControlPlaneContext;
use super::parts::flags::Flags;
use super::parts::network_policy::closed;
use super::parts::pod::{Pods, container, probe};
use super::parts::volume::{PodVolume, config_map};
use crate::model::{ClusterAutoscaler, Duration};
use crate::render::component::Component;
use crate::state::names::{self, NODE_GROUPS, SERVES};
use crate::validate::{PoolSpec, ValidShoot};
use serde_json::{Map, Value, json};

pub(crate) const NAME: &str = "cluster-autoscaler";
/// Its name in the certificate with which it connects to the shoot's API server and to `kvshoot keep`.
pub(crate) const CLIENT: &str = "system:cluster-autoscaler";
/// Port at which `kvshoot keep` serves it.
pub(crate) const PROVIDER_PORT: u16 = 8086;

/// Serves metrics and the health check.
const PORT: u16 = 8085;
const FILE: &str = "cloud-config";
const PRIORITY: &str = "priority";
/// A new node has it until the cloud controller manager has set its addresses.
const STARTUP_TAINT: &str = "node.cloudprovider.kubernetes.io/uninitialized";

/// DNS names of the server of node groups; the first one is what the autoscaler verifies.
pub(crate) fn server_names(id: &str, namespace: &str) -> Vec<String> {
    let name = names::control_plane(id, NODE_GROUPS);
    vec![format!("{name}.{namespace}.svc"), name]
}

/// True if a pool's minimum and maximum differ.
pub(crate) fn is_wanted(shoot: &ValidShoot) -> bool {
    shoot.pools.iter().any(PoolSpec::is_scalable)
}

/// None unless a pool can be scaled.
pub(crate) fn component(context: &ControlPlaneContext) -> Option<Component> {
    if !is_wanted(context.shoot) {
        return None;
    }
    let kubernetes = &context.shoot.manifest.spec.kubernetes;
    let settings = kubernetes.cluster_autoscaler.clone().unwrap_or_default();
    let own = PodVolume::secret(context, NAME);
    let configuration = configuration(context, &own);
    let data = Map::from_iter([(FILE.to_owned(), json!(text(&configuration)))]);
    let config = PodVolume::config(context, NAME, &data);
    let container = autoscaler(context, &settings, &own, &config);
    let config_map = config_map(context, NAME, &data);
    let pods = Pods {
        part: NAME,
        replicas: context.replicas(),
        containers: vec![container],
        sidecars: Vec::new(),
        volumes: &[own, config],
        account: None,
        grace: 30,
    };
    Some(Component {
        name: NAME,
        title: "Deploy cluster autoscaler".into(),
        objects: [config_map, provider(context), closed(context, NAME)]
            .into_iter()
            .chain(pods.deployment(context))
            .collect(),
    })
}

/// The Service of `kvshoot keep` in this namespace. Each shoot has one, by whose name `kvshoot keep` knows which shoot is meant.
fn provider(context: &ControlPlaneContext) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": { "name": context.name(NODE_GROUPS) },
        "spec": {
            "type": "ClusterIP",
            "selector": { SERVES: NODE_GROUPS },
            "ports": [{ "name": "grpc", "port": PROVIDER_PORT, "protocol": "TCP", "targetPort": NODE_GROUPS }],
        },
    })
}

/// The file of `--cloud-config`. Its keys are those of the autoscaler.
fn configuration(context: &ControlPlaneContext, own: &PodVolume) -> Value {
    let host = &server_names(&context.shoot.id, context.site.namespace)[0];
    json!({
        "address": format!("{host}:{PROVIDER_PORT}"),
        "cert": own.file("tls.crt"),
        "key": own.file("tls.key"),
        "cacert": own.file("ca.crt"),
    })
}

fn autoscaler(
    context: &ControlPlaneContext,
    settings: &ClusterAutoscaler,
    own: &PodVolume,
    config: &PodVolume,
) -> Value {
    let mut it = container(
        context,
        NAME,
        command(context, settings, own, config),
        ("20m", "128Mi"),
        &[own, config],
    );
    it["ports"] = json!([{ "name": "http", "containerPort": PORT }]);
    it["livenessProbe"] = probe("HTTP", PORT, "/health-check", 10, 8);
    it
}

fn command(
    context: &ControlPlaneContext,
    settings: &ClusterAutoscaler,
    own: &PodVolume,
    config: &PodVolume,
) -> Vec<String> {
    // Destructured, so that a new field of the model does not compile until it is handled here.
    let ClusterAutoscaler {
        scale_down_delay_after_add,
        scale_down_delay_after_failure,
        scale_down_delay_after_delete,
        scale_down_unneeded_time,
        scale_down_utilization_threshold,
        scan_interval,
        expander,
        max_node_provision_time,
        max_graceful_termination_seconds,
        ignore_taints,
        new_pod_scale_up_delay,
        max_empty_bulk_delete,
        ignore_daemonsets_utilization,
        verbosity,
        startup_taints,
        status_taints,
        max_scale_down_parallelism,
        max_drain_parallelism,
        initial_node_group_backoff_duration,
        max_node_group_backoff_duration,
        node_group_backoff_reset_timeout,
        emit_per_node_group_metrics,
        max_binpacking_time,
    } = settings;
    let deletions = max_scale_down_parallelism.or(*max_empty_bulk_delete);
    let mut flags = Flags::of("/cluster-autoscaler")
        .set("cloud-provider", "externalgrpc")
        .set("cloud-config", config.file(FILE))
        .set("kubeconfig", own.file("kubeconfig"))
        .set("address", format!("0.0.0.0:{PORT}"))
        .set("cluster-name", &context.shoot.id)
        .set("namespace", "kube-system")
        .set("leader-elect", true)
        .set(
            "expander",
            expander_with_priorities(context, expander.as_deref()),
        )
        .set("balance-similar-node-groups", true)
        .set("skip-nodes-with-system-pods", false)
        .set("skip-nodes-with-local-storage", false)
        .set("expendable-pods-priority-cutoff", -10)
        .set("scan-interval", or(scan_interval.as_ref(), "10s"))
        .set(
            "scale-down-delay-after-add",
            or(scale_down_delay_after_add.as_ref(), "1h"),
        )
        .set(
            "scale-down-delay-after-delete",
            or(scale_down_delay_after_delete.as_ref(), "0s"),
        )
        .set(
            "scale-down-delay-after-failure",
            or(scale_down_delay_after_failure.as_ref(), "3m"),
        )
        .set(
            "scale-down-unneeded-time",
            or(scale_down_unneeded_time.as_ref(), "30m"),
        )
        .set(
            "scale-down-utilization-threshold",
            scale_down_utilization_threshold.unwrap_or(0.5),
        )
        .set(
            "max-node-provision-time",
            or(max_node_provision_time.as_ref(), "20m"),
        )
        .set(
            "max-graceful-termination-sec",
            max_graceful_termination_seconds.unwrap_or(600),
        )
        .given("new-pod-scale-up-delay", new_pod_scale_up_delay.as_ref())
        .given("max-scale-down-parallelism", deletions)
        .given("max-drain-parallelism", *max_drain_parallelism)
        .given(
            "initial-node-group-backoff-duration",
            initial_node_group_backoff_duration.as_ref(),
        )
        .given(
            "max-node-group-backoff-duration",
            max_node_group_backoff_duration.as_ref(),
        )
        .given(
            "node-group-backoff-reset-timeout",
            node_group_backoff_reset_timeout.as_ref(),
        )
        .given(
            "ignore-daemonsets-utilization",
            *ignore_daemonsets_utilization,
        )
        .given("emit-per-nodegroup-metrics", *emit_per_node_group_metrics)
        .given("max-binpacking-time", max_binpacking_time.as_ref())
        .set("v", verbosity.unwrap_or(2))
        .set("startup-taint", STARTUP_TAINT);
    for (flag, taints) in [
        ("startup-taint", startup_taints),
        // The old name.
        ("startup-taint", ignore_taints),
        ("status-taint", status_taints),
    ] {
        for taint in taints.iter().flatten() {
            flags = flags.set(flag, taint);
        }
    }
    flags.done()
}

/// Durations of the manifest, or Gardener's defaults.
fn or(value: Option<&Duration>, default: &str) -> String {
    value.map_or_else(|| default.to_owned(), ToString::to_string)
}

/// Priorities of pools come first, if a pool has one.
fn expander_with_priorities(context: &ControlPlaneContext, expander: Option<&str>) -> String {
    let expander = expander.unwrap_or("least-waste");
    let has_priority = expander.split(',').any(|it| it == PRIORITY);
    match has_priorities(context.shoot) && !has_priority {
        true => format!("{PRIORITY},{expander}"),
        false => expander.to_owned(),
    }
}

/// True if a pool has a priority.
pub(crate) fn has_priorities(shoot: &ValidShoot) -> bool {
    let mut workers = shoot.manifest.spec.provider.workers.iter();
    workers.any(|it| it.priority.is_some())
}
