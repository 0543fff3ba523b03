//! Objects of a shoot's users that have counterparts in the provider, such as volumes and load balancers. Pure
//! functions.
use crate::cluster::client::error::Error;
use crate::cluster::client::resources::Resource;
use crate::cluster::objects::core::pod::PartialPod;
use crate::cluster::objects::core::service::PartialService;
use crate::cluster::objects::metadata::{PartialObject, PartialObjectMeta};
use crate::cluster::objects::reader::read;
use crate::cluster::objects::storage::{
    PartialPersistentVolume, PartialStorageClass, PersistentVolumeSpec,
};
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

/// PersistentVolumeClaims that an object holds, as `namespace/name`; None if it has no objects in the provider.
type HeldClaims = Option<Arc<[Arc<str>]>>;

/// Parses an object of the shoot's users.
///
/// # Errors
///
/// A field is missing or has another type.
pub(super) fn parse_user_resource(
    kind: ObjectKind,
    object: &Value,
) -> Result<(PartialObjectMeta, HeldClaims), Error> {
    let resource = Resource::of(kind);
    Ok(match kind {
        ObjectKind::ShootLoadBalancer => {
            let it: PartialService = read(resource, object)?;
            let is_load_balancer = it.spec.kind == "LoadBalancer";
            (it.metadata, is_load_balancer.then(|| [].into()))
        }
        ObjectKind::ShootStorageClass => {
            let it: PartialStorageClass = read(resource, object)?;
            (it.metadata, (it.provisioner == DRIVER).then(|| [].into()))
        }
        ObjectKind::PersistentVolume => {
            let it: PartialPersistentVolume = read(resource, object)?;
            (it.metadata, volume_claim(&it.spec).map(|it| [it].into()))
        }
        ObjectKind::Pod => {
            let it: PartialPod = read(resource, object)?;
            let claims = pod_claims(&it);
            (it.metadata, claims)
        }
        _ => {
            let it: PartialObject = read(resource, object)?;
            (it.metadata, Some([].into()))
        }
    })
}

/// The claim of a volume of the shoot's driver. A volume with policy Retain is not deleted with its claim.
fn volume_claim(spec: &PersistentVolumeSpec) -> Option<Arc<str>> {
    let deleted_with_claim = spec.persistent_volume_reclaim_policy == "Delete";
    let claim = spec.claim_ref.as_ref();
    let name = claim.map_or_else(String::new, |it| format!("{}/{}", it.namespace, it.name));
    (deleted_with_claim && spec.driver() == Some(DRIVER)).then(|| name.into())
}

/// None unless the pod runs on a node.
fn pod_claims(pod: &PartialPod) -> HeldClaims {
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    let claims = pod
        .all_claims()
        .map(|it| format!("{namespace}/{it}").into());
    (pod.spec.node_name.is_some() && !pod.is_over()).then(|| claims.collect())
}

#[cfg(test)]
#[path = "user_resources_tests.rs"]
mod tests;
