//! Objects of the cluster autoscaler in the shoot: its permissions, and the priorities of pools.

use super::context::SystemContext;
use super::objects::{
    NAMESPACE, READ, cluster_role, cluster_role_binding, config_map, role, role_binding, rule, user,
};
use crate::render::component::Component;
use crate::render::control_plane::cluster_autoscaler::{self, CLIENT, NAME, has_priorities};
use crate::validate::ValidShoot;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The ConfigMap that the expander `priority` reads.
const PRIORITIES: &str = "cluster-autoscaler-priority-expander";

/// None unless a pool can be scaled.
pub(crate) fn component(context: &SystemContext) -> Option<Component> {
    let shoot = context.shoot;
    if !cluster_autoscaler::is_wanted(shoot) {
        return None;
    }
    let mut objects = permissions();
    objects.extend(has_priorities(shoot).then(|| priorities(shoot)));
    Some(Component {
        name: NAME,
        title: "Apply permissions of the cluster autoscaler".into(),
        objects,
    })
}

/// Those of Gardener's, and of the controllers whose objects it counts.
fn permissions() -> Vec<Value> {
    let core = [
        "namespaces",
        "persistentvolumeclaims",
        "persistentvolumes",
        "pods",
        "replicationcontrollers",
        "services",
    ];
    let devices = ["deviceclasses", "resourceclaims", "resourceslices"];
    let storage = [
        "csidrivers",
        "csinodes",
        "csistoragecapacities",
        "storageclasses",
        "volumeattachments",
    ];
    let rules = [
        rule("", &["events"], &["create", "patch"]),
        rule("", &["nodes"], &["get", "list", "watch", "update"]),
        rule("", &["pods/eviction"], &["create"]),
        rule("", &["pods/status"], &["update"]),
        rule("", &core, &READ),
        rule(
            "apps",
            &["daemonsets", "replicasets", "statefulsets"],
            &READ,
        ),
        rule("batch", &["cronjobs", "jobs"], &READ),
        rule("policy", &["poddisruptionbudgets"], &READ),
        rule("resource.k8s.io", &devices, &READ),
        rule("storage.k8s.io", &storage, &READ),
    ];
    let leases = ["get", "create", "update"];
    let status = ["get", "list", "watch", "create", "update", "delete"];
    let own = [
        rule("coordination.k8s.io", &["leases"], &leases),
        rule("", &["configmaps"], &status),
    ];
    vec![
        cluster_role(CLIENT, &rules),
        cluster_role_binding(CLIENT, CLIENT, &[user(CLIENT)]),
        role(NAMESPACE, CLIENT, &own),
        role_binding(NAMESPACE, CLIENT, CLIENT, &[user(CLIENT)]),
    ]
}

/// All pools are in it: a node group without a priority would never be scaled up.
fn priorities(shoot: &ValidShoot) -> Value {
    let mut pools: BTreeMap<i32, Vec<String>> = BTreeMap::new();
    for worker in &shoot.manifest.spec.provider.workers {
        let groups = format!("^{}-{}-z[0-9]+$", shoot.id, worker.name);
        pools
            .entry(worker.priority.unwrap_or_default())
            .or_default()
            .push(groups);
    }
    let text = serde_yaml::to_string(&pools).expect("numbers and texts");
    config_map(PRIORITIES, &json!({ "priorities": text }))
}
