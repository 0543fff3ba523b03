//! The next node of a group: with it, the autoscaler decides whether a pod would fit.

use crate::model::Quantity;
use crate::render::machine::kubelet::kubelet_configuration;
use crate::render::machine::node::ROLE;
use crate::state::names;
use crate::validate::{PoolSpec, ValidShoot};
use serde_json::Value;
use std::collections::BTreeMap;

/// The kubelet's default for `maxPods`.
const MAX_PODS: u64 = 110;
/// Name of the region and zone of a provider that has none.
const NO_PLACE: &str = "default";

/// Labels, taints and resources of a node that does not exist yet.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NodeShape {
    pub(crate) name: String,
    pub(crate) labels: BTreeMap<String, String>,
    /// Key, value and effect.
    pub(crate) taints: Vec<(String, String, String)>,
    /// Quantities by name of the resource.
    pub(crate) capacity: BTreeMap<String, String>,
    /// The same, without what the kubelet reserves.
    pub(crate) allocatable: BTreeMap<String, String>,
}

impl NodeShape {
    /// `group` is the ID of the node group.
    pub(super) fn of(group: &str, shoot: &ValidShoot, pool: &PoolSpec, zone: usize) -> NodeShape {
        let taints = pool.taints.iter().map(|it| {
            let text = |it: &Option<String>| it.clone().unwrap_or_default();
            (text(&it.key), text(&it.value), text(&it.effect))
        });
        let kubelet = kubelet_configuration(shoot, pool);
        let architecture = architecture(pool);
        let pods = kubelet["maxPods"].as_u64().unwrap_or(MAX_PODS).to_string();
        let resources = |cpu: f64, memory: f64, storage: f64| {
            let bytes = |it: f64| it.max(0.0).floor().to_string();
            let amounts = [
                ("cpu", format!("{}m", (cpu * 1000.0).max(0.0).round())),
                ("memory", bytes(memory)),
                ("ephemeral-storage", bytes(storage)),
                ("pods", pods.clone()),
            ];
            let none = huge_pages(architecture).iter();
            let none = none.map(|it| (*it, "0".to_owned()));
            let all = amounts.into_iter().chain(none);
            all.map(|it| (it.0.to_owned(), it.1)).collect()
        };
        let machine = &pool.machine_type;
        let (cpu, memory) = (machine.cpu.value, machine.memory.value);
        let storage = pool.root.size.value;
        let reserved = |resource: &str| {
            let fields = ["kubeReserved", "systemReserved"].iter();
            fields
                .map(|it| quantity(&kubelet[it][resource]))
                .sum::<f64>()
        };
        let threshold = |signal: &str, of: f64| share(&kubelet["evictionHard"][signal], of);
        let name = format!("{group}-template");
        let mut labels = labels(shoot, pool, zone);
        labels.insert("kubernetes.io/hostname".to_owned(), name.clone());
        NodeShape {
            name,
            labels,
            taints: taints.collect(),
            capacity: resources(cpu, memory, storage),
            allocatable: resources(
                cpu - reserved("cpu"),
                memory - reserved("memory") - threshold("memory.available", memory),
                storage - reserved("ephemeral-storage") - threshold("nodefs.available", storage),
            ),
        }
    }
}

fn architecture(pool: &PoolSpec) -> &str {
    pool.architecture.as_deref().unwrap_or("amd64")
}

/// Resources that a kubelet reports although a machine has none. The autoscaler compares the names of all resources.
fn huge_pages(architecture: &str) -> &'static [&'static str] {
    match architecture {
        "arm64" => &[
            "hugepages-1Gi",
            "hugepages-2Mi",
            "hugepages-32Mi",
            "hugepages-64Ki",
        ],
        _ => &["hugepages-1Gi", "hugepages-2Mi"],
    }
}

fn labels(shoot: &ValidShoot, pool: &PoolSpec, zone: usize) -> BTreeMap<String, String> {
    let mut labels = pool.labels.clone();
    let architecture = architecture(pool);
    let zone = pool.zones.get(zone).map_or(NO_PLACE, String::as_str);
    for (label, value) in [
        (names::WORKER_POOL, pool.name.as_str()),
        (names::REGION_LABEL, shoot.region.as_str()),
        (names::ZONE_LABEL, zone),
        ("beta.kubernetes.io/arch", architecture),
        ("beta.kubernetes.io/os", "linux"),
        ("kubernetes.io/arch", architecture),
        ("kubernetes.io/os", "linux"),
        (ROLE, ""),
    ] {
        if value != NO_PLACE {
            labels.insert(label.to_owned(), value.to_owned());
        }
    }
    if pool.system_components {
        labels.insert(names::SYSTEM_COMPONENTS.to_owned(), "true".to_owned());
    }
    labels
}

/// A threshold of the kubelet: a quantity, or a percentage of the capacity.
fn share(value: &Value, capacity: f64) -> f64 {
    let percentage = value.as_str().and_then(|it| it.strip_suffix('%'));
    match percentage.and_then(|it| it.parse::<f64>().ok()) {
        Some(percentage) => capacity * percentage / 100.0,
        None => quantity(value),
    }
}

/// 0 if there is none.
fn quantity(value: &Value) -> f64 {
    let text = value.as_str().map(Quantity::parse);
    text.and_then(Result::ok).map_or(0.0, |it| it.value)
}
