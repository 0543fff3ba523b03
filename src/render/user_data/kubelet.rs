//! The kubelet's files: configuration, flags, and bootstrap kubeconfig.

use super::join::JoinConfig;
use crate::model::Taint;
use crate::render::machine::kubelet::kubelet_configuration;
use crate::state::names;
use base64::Engine;
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub(crate) fn config(join: &JoinConfig) -> String {
    yaml(&kubelet_configuration(join.shoot, join.pool))
}

/// Grants only the certificate request, and is deleted once the certificate exists.
pub(crate) fn bootstrap_kubeconfig(join: &JoinConfig) -> String {
    let ca = base64::engine::general_purpose::STANDARD.encode(join.ca);
    let cluster = json!({ "server": join.node_address.url(), "certificate-authority-data": ca });
    yaml(&json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": "shoot", "cluster": cluster }],
        "users": [{ "name": "bootstrap", "user": { "token": names::TOKEN } }],
        "contexts": [{ "name": "bootstrap", "context": { "cluster": "shoot", "user": "bootstrap" } }],
        "current-context": "bootstrap",
    }))
}

fn yaml(value: &Value) -> String {
    serde_yaml::to_string(value).expect("an object with text keys can be written")
}

/// The environment file of kubeadm's drop-in. These are flags, because they differ from machine to machine.
pub(crate) fn flags(join: &JoinConfig) -> String {
    let mut flags = vec![
        format!("--hostname-override={}", join.machine),
        "--cloud-provider=external".to_owned(),
        format!("--provider-id=kubevirt://{}", join.machine),
        format!("--node-labels={}", labels(join)),
    ];
    let taints = taints(&join.pool.taints);
    if !taints.is_empty() {
        flags.push(format!("--register-with-taints={taints}"));
    }
    format!("KUBELET_KUBEADM_ARGS=\"{}\"\n", flags.join(" "))
}

fn labels(join: &JoinConfig) -> String {
    let pool = join.pool;
    let mut labels: BTreeMap<&str, &str> = pool
        .labels
        .iter()
        .filter(|it| is_set_by_kubelet(it.0))
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .collect();
    labels.insert(names::WORKER_POOL, &pool.name);
    if pool.system_components {
        labels.insert(names::SYSTEM_COMPONENTS, "true");
    }
    // A machine stays in its zone, and the cloud controller manager may not be allowed to read the provider's nodes.
    let region = join.shoot.region.as_str();
    let name = names::MachineName::parse(&join.shoot.id, join.machine);
    let zone = name.and_then(|it| pool.zones.get(it.zone));
    for (label, value) in [
        (names::REGION_LABEL, Some(region)),
        (names::ZONE_LABEL, zone.map(String::as_str)),
    ] {
        if let Some(value) = value.filter(|it| *it != "default") {
            labels.insert(label, value);
        }
    }
    let labels: Vec<String> = labels
        .into_iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    labels.join(",")
}

/// Returns whether a kubelet may set this label on its own node. It does not start with other labels of the Kubernetes
/// domains; kvshoot sets those.
pub(crate) fn is_set_by_kubelet(label: &str) -> bool {
    const KNOWN: [&str; 10] = [
        "beta.kubernetes.io/arch",
        "beta.kubernetes.io/instance-type",
        "beta.kubernetes.io/os",
        "failure-domain.beta.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
        "kubernetes.io/arch",
        "kubernetes.io/os",
        "node.kubernetes.io/instance-type",
        names::REGION_LABEL,
        names::ZONE_LABEL,
    ];
    let domain = label.split_once('/').map_or("", |(domain, _)| domain);
    let is_of = |parent: &str| {
        domain == parent
            || domain
                .strip_suffix(parent)
                .is_some_and(|it| it.ends_with('.'))
    };
    if !is_of("kubernetes.io") && !is_of("k8s.io") {
        return true;
    }
    // kvshoot sets the hostname, which identifies the node.
    label != names::HOSTNAME_LABEL
        && (KNOWN.contains(&label) || is_of("kubelet.kubernetes.io") || is_of("node.kubernetes.io"))
}

fn taints(taints: &[Taint]) -> String {
    let taint = |taint: &Taint| {
        let text = |it: &Option<String>| it.clone().unwrap_or_default();
        format!(
            "{}={}:{}",
            text(&taint.key),
            text(&taint.value),
            text(&taint.effect)
        )
    };
    let taints: Vec<String> = taints.iter().map(taint).collect();
    taints.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_that_kubelets_may_not_set_are_recognized() {
        for label in [
            "env",
            "example.org/a",
            "node.kubernetes.io/a",
            "a.kubelet.kubernetes.io/b",
            "topology.kubernetes.io/zone",
            "notkubernetes.io/a",
        ] {
            assert!(is_set_by_kubelet(label), "{label}");
        }
        for label in [
            "node-role.kubernetes.io/worker",
            "kubernetes.io/hostname",
            "node-restriction.kubernetes.io/a",
            "a.k8s.io/b",
            "kubernetes.io/role",
        ] {
            assert!(!is_set_by_kubelet(label), "{label}");
        }
    }

    #[test]
    fn a_taint_without_a_value_is_valid() {
        let taint = |value: Option<&str>| Taint {
            key: Some("k".into()),
            value: value.map(Into::into),
            effect: Some("NoSchedule".into()),
            time_added: None,
        };
        assert_eq!(
            taints(&[taint(None), taint(Some("v"))]),
            "k=:NoSchedule,k=v:NoSchedule"
        );
    }
}
