//! Offers of the provider cluster: its StorageClasses, and its nodes by zone.

use crate::cluster::objects::core::node::PartialNode;
use crate::cluster::objects::storage::PartialStorageClass;
use crate::state::facts::{OfferedStorageClass, StorageClass, ZoneHosts};
use crate::state::names;
use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) fn storage_class(class: &PartialStorageClass) -> (Arc<str>, StorageClass) {
    let offered = StorageClass {
        zonal: class.is_zonal(),
        expandable: class.allow_volume_expansion,
        offered: class_offer(class),
    };
    (class.metadata.name.as_str().into(), offered)
}

/// As in Kubermatic: by an annotation, with the settings of the class itself.
fn class_offer(class: &PartialStorageClass) -> Option<OfferedStorageClass> {
    let is_set = |annotation: &str| class.metadata.annotation(annotation) == Some("true");
    is_set(names::INITIALIZE_CLASS).then(|| OfferedStorageClass {
        is_default: is_set(names::DEFAULT_CLASS),
        binding_mode: class.volume_binding_mode.as_str().into(),
        reclaim_policy: class.reclaim_policy.as_str().into(),
        expandable: class.allow_volume_expansion,
    })
}

/// virt-handler sets it on nodes that run VMs.
const SCHEDULABLE: &str = "kubevirt.io/schedulable";

pub(crate) fn hosts_by_zone(nodes: &[PartialNode]) -> BTreeMap<Arc<str>, ZoneHosts> {
    let has_labels = nodes
        .iter()
        .any(|it| it.metadata.label(SCHEDULABLE).is_some());
    let runs_vms = |node: &PartialNode| {
        let is_labelled = node.metadata.label(SCHEDULABLE) == Some("true");
        node.accepts_pods() && (is_labelled || !has_labels)
    };
    let mut zones: BTreeMap<&str, [Vec<&PartialNode>; 2]> = BTreeMap::new();
    for node in nodes {
        let control_plane = node.metadata.label("node-role.kubernetes.io/control-plane");
        let zone = node.metadata.label(names::ZONE_LABEL).unwrap_or_default();
        zones.entry(zone).or_default()[usize::from(control_plane.is_some())].push(node);
    }
    let hosts = |[workers, masters]: [Vec<&PartialNode>; 2]| {
        let hosts = if workers.is_empty() { masters } else { workers };
        let name = |it: &&PartialNode| it.metadata.name.clone();
        let usable = hosts.iter().filter(|it| runs_vms(it)).map(name).min();
        let first = usable.or_else(|| hosts.iter().map(name).min());
        ZoneHosts {
            first: first.unwrap_or_default().into(),
            count: hosts.len(),
        }
    };
    zones
        .into_iter()
        .map(|(zone, nodes)| (zone.into(), hosts(nodes)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::objects::testing::object;
    use serde_json::{Value, json};

    fn node(name: &str, schedulable: &str, spec: Value) -> PartialNode {
        let labels = json!({ names::ZONE_LABEL: "a", SCHEDULABLE: schedulable });
        object(json!({ "metadata": { "name": name, "labels": labels }, "spec": spec }))
    }

    /// A volume that waits for its first consumer is provisioned on this host.
    #[test]
    fn the_first_host_is_one_that_runs_machines() {
        let taint = json!({ "taints": [{ "key": "gpu", "effect": "NoSchedule" }] });
        let soft = json!({ "taints": [{ "key": "old", "effect": "PreferNoSchedule" }] });
        let nodes = [
            node("a", "true", json!({ "unschedulable": true })),
            node("b", "false", json!({})),
            node("c", "true", taint),
            node("d", "true", soft),
            node("e", "true", json!({})),
        ];
        let expected = |first: &str, count| ZoneHosts {
            first: first.into(),
            count,
        };
        assert_eq!(hosts_by_zone(&nodes)["a"], expected("d", 5));
        // Better one that may be uncordoned than none.
        assert_eq!(hosts_by_zone(&nodes[..2])["a"], expected("a", 2));
    }
}
