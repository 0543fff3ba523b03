//! The KubeletConfiguration of a pool.

use crate::model::{IntOrString, Kubelet, Quantity};
use crate::render::control_plane::parts::flags::{CIPHER_SUITES, MIN_TLS_VERSION};
use crate::render::networking::address;
use crate::validate::{PoolSpec, ValidShoot};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The domain of services and pods.
pub(crate) const CLUSTER_DOMAIN: &str = "cluster.local";

/// The tenth address of the service range is the DNS address, the same as with kubeadm.
pub(crate) const DNS_ADDRESS: u32 = 10;

/// Default grace period of a soft eviction threshold: kubelets do not start without one.
const SOFT_GRACE: &str = "1m30s";

/// The KubeletConfiguration of the pool's machines, `/var/lib/kubelet/config.yaml`.
///
/// It has no `resolvConf`: only a machine knows whether systemd-resolved runs, and the join script adds the field.
/// Labels, taints and names are flags, because they differ from machine to machine.
pub(crate) fn kubelet_configuration(shoot: &ValidShoot, pool: &PoolSpec) -> Value {
    configuration(shoot, pool.kubelet.as_ref())
}

/// The configuration with the settings of all pools, for nodes that join without a pool.
pub(crate) fn common_configuration(shoot: &ValidShoot) -> Value {
    configuration(shoot, shoot.manifest.spec.kubernetes.kubelet.as_ref())
}

fn configuration(shoot: &ValidShoot, settings: Option<&Kubelet>) -> Value {
    let mut config = json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "anonymous": { "enabled": false },
            "webhook": { "enabled": true },
            "x509": { "clientCAFile": "/etc/kubernetes/pki/ca.crt" },
        },
        "authorization": { "mode": "Webhook" },
        "cgroupDriver": "systemd",
        "clusterDNS": [address(&shoot.networking.services, DNS_ADDRESS)],
        "clusterDomain": CLUSTER_DOMAIN,
        "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
        "healthzBindAddress": "127.0.0.1",
        "healthzPort": 10248,
        "evictionHard": hard_thresholds(&BTreeMap::new()),
        "kubeReserved": { "cpu": "80m", "memory": "256Mi", "pid": "1000" },
        "readOnlyPort": 0,
        "rotateCertificates": true,
        // Otherwise containers without a profile may call everything of the kernel.
        "seccompDefault": true,
        "serializeImagePulls": false,
        // kvshoot approves the requests.
        "serverTLSBootstrap": true,
        "shutdownGracePeriod": "60s",
        "shutdownGracePeriodCriticalPods": "20s",
        "staticPodPath": "/etc/kubernetes/manifests",
        "systemReserved": { "cpu": "20m", "memory": "128Mi", "pid": "1000" },
        "tlsCipherSuites": CIPHER_SUITES,
        "tlsMinVersion": MIN_TLS_VERSION,
    });
    let given = settings.map(given).unwrap_or_default();
    for (name, value) in given {
        config[name] = value;
    }
    config
}

/// The manifest's settings, by field name of the KubeletConfiguration.
fn given(settings: &Kubelet) -> Map<String, Value> {
    // Destructured, so that a new field of the model does not compile until it is handled here.
    let Kubelet {
        container_log_max_files,
        container_log_max_size,
        cpu_cfs_quota,
        cpu_manager_policy,
        eviction_hard,
        eviction_max_pod_grace_period,
        eviction_minimum_reclaim,
        eviction_pressure_transition_period,
        eviction_soft,
        eviction_soft_grace_period,
        fail_swap_on,
        feature_gates,
        image_gc_high_threshold_percent,
        image_gc_low_threshold_percent,
        image_maximum_gc_age,
        image_minimum_gc_age,
        image_pull_progress_deadline: _,
        kube_reserved,
        max_parallel_image_pulls,
        max_pods,
        memory_swap,
        pod_pids_limit,
        protect_kernel_defaults,
        registry_burst,
        registry_pull_qps,
        seccomp_default,
        serialize_image_pulls,
        streaming_connection_idle_timeout,
        system_reserved,
    } = settings;
    let hard = eviction_hard.as_ref().map(hard_thresholds);
    let soft = eviction_soft.as_ref().map(|it| signals(it, text));
    let reclaim = eviction_minimum_reclaim.as_ref();
    let reclaim = reclaim.map(|it| signals(it, ToString::to_string));
    let grace = eviction_soft_grace_period.as_ref();
    let grace = soft_grace(
        soft.as_ref(),
        grace.map(|it| signals(it, ToString::to_string)),
    );
    let fields = [
        ("containerLogMaxFiles", json!(container_log_max_files)),
        ("containerLogMaxSize", json!(container_log_max_size)),
        ("cpuCFSQuota", json!(cpu_cfs_quota)),
        ("cpuManagerPolicy", json!(cpu_manager_policy)),
        ("evictionHard", json!(hard)),
        (
            "evictionMaxPodGracePeriod",
            json!(eviction_max_pod_grace_period),
        ),
        ("evictionMinimumReclaim", json!(reclaim)),
        (
            "evictionPressureTransitionPeriod",
            json!(eviction_pressure_transition_period),
        ),
        ("evictionSoft", json!(soft)),
        ("evictionSoftGracePeriod", json!(grace)),
        ("failSwapOn", json!(fail_swap_on)),
        ("featureGates", json!(feature_gates)),
        (
            "imageGCHighThresholdPercent",
            json!(image_gc_high_threshold_percent),
        ),
        (
            "imageGCLowThresholdPercent",
            json!(image_gc_low_threshold_percent),
        ),
        ("imageMaximumGCAge", json!(image_maximum_gc_age)),
        ("imageMinimumGCAge", json!(image_minimum_gc_age)),
        ("kubeReserved", json!(kube_reserved.as_ref().map(reserved))),
        ("maxParallelImagePulls", json!(max_parallel_image_pulls)),
        ("maxPods", json!(max_pods)),
        ("memorySwap", json!(memory_swap)),
        ("podPidsLimit", json!(pod_pids_limit)),
        ("protectKernelDefaults", json!(protect_kernel_defaults)),
        ("registryBurst", json!(registry_burst)),
        ("registryPullQPS", json!(registry_pull_qps)),
        ("seccompDefault", json!(seccomp_default)),
        ("serializeImagePulls", json!(serialize_image_pulls)),
        (
            "streamingConnectionIdleTimeout",
            json!(streaming_connection_idle_timeout),
        ),
        (
            "systemReserved",
            json!(system_reserved.as_ref().map(reserved)),
        ),
    ];
    let fields = fields.into_iter().filter(|(_, value)| !value.is_null());
    fields
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// The kubelet's name of a Gardener signal such as `memoryAvailable`.
fn signal(name: &str) -> &str {
    match name {
        "imageFSAvailable" => "imagefs.available",
        "imageFSInodesFree" => "imagefs.inodesFree",
        "memoryAvailable" => "memory.available",
        "nodeFSAvailable" => "nodefs.available",
        "nodeFSInodesFree" => "nodefs.inodesFree",
        other => other,
    }
}

fn signals<T>(given: &BTreeMap<String, T>, text: impl Fn(&T) -> String) -> BTreeMap<&str, String> {
    let given = given.iter();
    given.map(|(name, it)| (signal(name), text(it))).collect()
}

fn text(threshold: &IntOrString) -> String {
    match threshold {
        IntOrString::Int(it) => it.to_string(),
        IntOrString::String(it) => it.clone(),
    }
}

/// A kubelet that is given one threshold drops its other defaults, so they are repeated.
fn hard_thresholds(given: &BTreeMap<String, IntOrString>) -> BTreeMap<&str, String> {
    const DEFAULTS: [(&str, &str); 5] = [
        ("imagefs.available", "15%"),
        ("imagefs.inodesFree", "5%"),
        ("memory.available", "100Mi"),
        ("nodefs.available", "10%"),
        ("nodefs.inodesFree", "5%"),
    ];
    let mut thresholds = BTreeMap::from(DEFAULTS.map(|(name, it)| (name, it.to_owned())));
    thresholds.extend(signals(given, text));
    thresholds
}

fn soft_grace<'a>(
    soft: Option<&BTreeMap<&'a str, String>>,
    given: Option<BTreeMap<&'a str, String>>,
) -> Option<BTreeMap<&'a str, String>> {
    let mut grace = given.unwrap_or_default();
    for name in soft.into_iter().flat_map(BTreeMap::keys) {
        grace.entry(name).or_insert_with(|| SOFT_GRACE.to_owned());
    }
    (!grace.is_empty()).then_some(grace)
}

fn reserved(amounts: &BTreeMap<String, Quantity>) -> BTreeMap<&str, String> {
    let name = |resource| match resource {
        "ephemeralStorage" => "ephemeral-storage",
        other => other,
    };
    let amounts = amounts.iter();
    amounts
        .map(|(it, amount)| (name(it.as_str()), amount.to_string()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validate::testing::{SHOOT, WIDE, valid_for_tests};

    #[test]
    fn a_kubelet_uses_the_address_of_the_dns_service() {
        let shoot = valid_for_tests(SHOOT);
        let config = kubelet_configuration(&shoot, &shoot.pools[0]);
        assert_eq!(config["clusterDNS"], json!(["100.64.0.10"]));
        assert_eq!(
            config["maxPods"],
            Value::Null,
            "fields that are not set are left out"
        );
    }

    #[test]
    fn a_kubelet_reserves_resources_and_evicts_pods_before_the_machine_is_out_of_them() {
        let shoot = valid_for_tests(SHOOT);
        let config = kubelet_configuration(&shoot, &shoot.pools[0]);
        assert_eq!(config["evictionHard"]["memory.available"], "100Mi");
        assert_eq!(config["kubeReserved"]["memory"], "256Mi");
        assert_eq!(config["systemReserved"]["memory"], "128Mi");
        assert_eq!(config["seccompDefault"], true);
        assert_eq!(config["tlsMinVersion"], "VersionTLS12");
        let suites = config["tlsCipherSuites"].as_array().expect("a list");
        assert!(suites.iter().all(|it| it.to_string().contains("_ECDHE_")));
    }

    #[test]
    fn one_threshold_does_not_disable_the_others() {
        let shoot = valid_for_tests(WIDE);
        let config = kubelet_configuration(&shoot, &shoot.pools[0]);
        let hard = json!({
            "imagefs.available": "15%",
            "imagefs.inodesFree": "5%",
            "memory.available": "5%",
            "nodefs.available": "1Gi",
            "nodefs.inodesFree": "5%",
        });
        assert_eq!(config["evictionHard"], hard);
        assert_eq!(
            config["kubeReserved"],
            json!({"cpu": "100m", "memory": "1Gi"})
        );
        assert_eq!(config["maxPods"], 200);
    }

    /// Covers every field of the model except those without an effect.
    #[test]
    fn every_setting_reaches_the_kubelet() {
        let all = json!({
            "containerLogMaxFiles": 3, "containerLogMaxSize": "5Mi", "cpuCFSQuota": false,
            "cpuManagerPolicy": "static", "evictionMaxPodGracePeriod": 90,
            "evictionPressureTransitionPeriod": "5m", "failSwapOn": false, "featureGates": {"A": true},
            "imageGCHighThresholdPercent": 60, "imageGCLowThresholdPercent": 50, "imageMaximumGCAge": "24h",
            "imageMinimumGCAge": "2m", "maxParallelImagePulls": 4, "maxPods": 50,
            "memorySwap": {"swapBehavior": "LimitedSwap"}, "podPidsLimit": 100, "protectKernelDefaults": true,
            "registryBurst": 20, "registryPullQPS": 10, "seccompDefault": true, "serializeImagePulls": true,
            "streamingConnectionIdleTimeout": "4h",
        });
        let renamed = json!({
            "evictionSoft": {"imageFSInodesFree": "10%", "memoryAvailable": "1000"},
            "evictionSoftGracePeriod": {"memoryAvailable": "30s"},
            "evictionMinimumReclaim": {"nodeFSInodesFree": "0"},
            "evictionHard": {"imageFSAvailable": "1%"},
            "kubeReserved": {"ephemeralStorage": "1Gi"}, "systemReserved": {"pid": "10"},
        });
        let mut settings = all.clone();
        for (name, value) in renamed.as_object().expect("a mapping") {
            settings[name] = value.clone();
        }
        let settings: Kubelet = serde_json::from_value(settings).expect("settings");
        let unset: Vec<_> = serde_json::to_value(&settings)
            .expect("JSON")
            .as_object()
            .expect("a mapping")
            .iter()
            .filter(|(_, value)| value.is_null())
            .map(|(name, _)| name.clone())
            .collect();
        assert_eq!(
            unset,
            ["imagePullProgressDeadline"],
            "the test sets all other fields"
        );

        let config = configuration(&valid_for_tests(SHOOT), Some(&settings));
        for (name, value) in all.as_object().expect("a mapping") {
            assert_eq!(&config[name], value, "{name}");
        }
        assert_eq!(
            config["evictionSoft"],
            json!({"imagefs.inodesFree": "10%", "memory.available": "1000"})
        );
        assert_eq!(
            config["evictionSoftGracePeriod"],
            json!({"imagefs.inodesFree": "1m30s", "memory.available": "30s"})
        );
        assert_eq!(
            config["evictionMinimumReclaim"],
            json!({"nodefs.inodesFree": "0"})
        );
        assert_eq!(config["evictionHard"]["imagefs.available"], "1%");
        assert_eq!(config["kubeReserved"], json!({"ephemeral-storage": "1Gi"}));
        assert_eq!(config["systemReserved"], json!({"pid": "10"}));
    }
}
