//! Objects of a shoot's users that have counterparts in the provider, such as volumes and load balancers. Pure
//! functions.
use crate::cluster::json::{items, text};
use crate::render::system::storage::DRIVER;
use crate::state::facts::{Facts, ObjectStatus, ObservedObject, ShootApi};
use crate::state::key::{ObjectKey, ObjectKind};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

/// Progress of deleting user resources.
#[derive(Debug, Default)]
pub(crate) struct UserResourceProgress {
    is_seen: bool,
    /// UIDs of the last observation, with whether they were being deleted.
    existing: BTreeSet<(Arc<str>, bool)>,
    moved: Duration,
}

impl UserResourceProgress {
    /// Drops irrelevant objects and notes the time of the last progress: deletions count, new objects do not.
    pub(crate) fn update(&mut self, facts: &mut Facts, now: Duration) {
        let things = &mut facts.user_resources.objects;
        retain_relevant(things);
        // A controller that keeps recreating webhooks makes no progress.
        let counted = things.iter().filter(|it| !is_webhook(it.0.kind));
        let existing: BTreeSet<(Arc<str>, bool)> = counted
            .map(|(_, it)| (it.uid.clone(), it.leaving))
            .collect();
        let is_seen = facts.shoot_api == ShootApi::Reachable;
        if !self.existing.is_subset(&existing) || (is_seen && !self.is_seen) {
            self.moved = now;
        }
        (self.existing, self.is_seen) = (existing, is_seen);
        facts.user_resources.last_progress = self.moved;
    }
}

/// Keeps claims that are bound to a volume of the shoot's driver, and pods that mount such a claim.
fn retain_relevant(things: &mut BTreeMap<ObjectKey, ObservedObject>) {
    let volumes = things
        .iter()
        .filter(|it| it.0.kind == ObjectKind::PersistentVolume);
    let bound: HashSet<Arc<str>> = volumes.flat_map(|it| claims_of(it.1)).cloned().collect();
    things.retain(|key, object| match key.kind {
        ObjectKind::PersistentVolumeClaim => bound.contains(&key.name),
        ObjectKind::Pod => claims_of(object).any(|it| bound.contains(it)),
        _ => true,
    });
    debug_assert!(things.keys().all(|it| it.kind.is_user_resource()));
}

fn claims_of(object: &ObservedObject) -> impl Iterator<Item = &Arc<str>> {
    let claims: &[Arc<str>] = match &object.status {
        ObjectStatus::Holds(claims) => claims,
        _ => &[],
    };
    claims.iter()
}

fn is_webhook(kind: ObjectKind) -> bool {
    matches!(
        kind,
        ObjectKind::ValidatingWebhook | ObjectKind::MutatingWebhook
    )
}

/// PersistentVolumeClaims that an object holds; None if it has no objects in the provider.
pub(crate) fn held_claims(kind: ObjectKind, object: &Value) -> Option<Arc<[Arc<str>]>> {
    let spec = &object["spec"];
    match kind {
        ObjectKind::ShootLoadBalancer => (spec["type"] == "LoadBalancer").then(|| [].into()),
        ObjectKind::ShootStorageClass => (object["provisioner"] == DRIVER).then(|| [].into()),
        // A volume with policy Retain is not deleted with its claim.
        ObjectKind::PersistentVolume => {
            let deleted_with_claim = spec["persistentVolumeReclaimPolicy"] == "Delete";
            let claim = &spec["claimRef"];
            let name = format!("{}/{}", text(&claim["namespace"]), text(&claim["name"]));
            (deleted_with_claim && spec["csi"]["driver"] == DRIVER).then(|| [name.into()].into())
        }
        ObjectKind::Pod => {
            let phase = text(&object["status"]["phase"]);
            let is_over = matches!(phase, "Succeeded" | "Failed");
            (spec["nodeName"].is_string() && !is_over).then(|| pod_claims(object))
        }
        _ => Some([].into()),
    }
}

/// By `namespace/name`; the name of an ephemeral claim consists of pod and volume.
fn pod_claims(pod: &Value) -> Arc<[Arc<str>]> {
    let metadata = &pod["metadata"];
    let volumes = items(&pod["spec"]["volumes"]).iter().filter_map(|it| {
        let name = match it["persistentVolumeClaim"]["claimName"].as_str() {
            Some(name) => name.to_owned(),
            None if it["ephemeral"].is_object() => {
                format!("{}-{}", text(&metadata["name"]), text(&it["name"]))
            }
            None => return None,
        };
        Some(format!("{}/{name}", text(&metadata["namespace"])).into())
    });
    volumes.collect()
}

#[cfg(test)]
#[path = "user_resources_tests.rs"]
mod tests;
