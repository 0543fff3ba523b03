//! Verification that nothing remains of a shoot: lists every kind by label.

use super::client::error::Error;
use super::client::request::{ResourceRef, WRITE_TIMEOUT};
use super::client::resources::{self, Resource};
use super::lock::fence::Fence;
use crate::cluster::client::api_client::ApiClient;
use crate::cluster::objects::lease::PartialLease;
use crate::cluster::objects::metadata::{PartialObject, PartialObjectMeta, PartialOwnerReference};
use crate::cluster::objects::reader::read_all;
use crate::state::key::ObjectKind;
use crate::state::names::{self, role};
use futures::FutureExt as _;
use futures::stream::{self, StreamExt as _};
use std::collections::BTreeMap;
use std::pin::pin;

/// Kinds that a shoot may leave, in the order of reports.
const KINDS: [&Resource; 21] = [
    &resources::VIRTUAL_MACHINE,
    &resources::VIRTUAL_MACHINE_INSTANCE,
    &resources::STATEFUL_SET,
    &resources::DEPLOYMENT,
    &resources::POD,
    &resources::SERVICE,
    &resources::ENDPOINT_SLICE,
    &resources::NETWORK_POLICY,
    &resources::DISRUPTION_BUDGET,
    &resources::ROLE_BINDING,
    &resources::ROLE,
    &resources::SERVICE_ACCOUNT,
    &resources::VOLUME_SNAPSHOT,
    &resources::DATA_VOLUME,
    &resources::CLAIM,
    &resources::INSTANCETYPE,
    &resources::PREFERENCE,
    &resources::NETWORK,
    &resources::SECRET,
    &resources::LEASE,
    &resources::CONFIG_MAP,
];

/// Objects of the shoot's controllers, by their own labels; claims of volumes have the same labels.
const USER_RESOURCES: [(&Resource, ObjectKind); 4] = [
    (&resources::SERVICE, ObjectKind::ProviderLoadBalancer),
    (&resources::VOLUME_SNAPSHOT, ObjectKind::VolumeSnapshot),
    (&resources::DATA_VOLUME, ObjectKind::ProviderDataVolume),
    (&resources::CLAIM, ObjectKind::ProviderDataVolume),
];

/// Objects that remain of a shoot.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct RemainingObjects {
    pub(crate) objects: Vec<RemainingObject>,
    /// Kinds that may not be listed, as in kubectl.
    pub(crate) unlisted: Vec<&'static str>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RemainingObject {
    /// As in kubectl.
    pub(crate) kind: &'static str,
    pub(crate) name: String,
    /// A volume of the shoot's users, its PersistentVolumeClaim, or a snapshot.
    pub(crate) is_disk: bool,
    /// Finalizers that hold it during deletion.
    pub(crate) finalizers: Vec<String>,
    uid: String,
    resource: &'static Resource,
    cleanup: Option<Cleanup>,
}

/// Action that lets the object vanish.
#[derive(Debug, PartialEq, Eq)]
enum Cleanup {
    /// It is not being deleted and has no owner.
    Delete,
    /// A pod of the control plane with a longer grace period than it needs: an API server would wait a minute for
    /// clients that are gone.
    ShortenGracePeriod,
}

/// Grace period in seconds for a pod whose clients and data are gone.
const LAST_GRACE: u32 = 1;
/// LISTs in flight at the same time. Each takes memory.
const LISTS_AT_ONCE: usize = 8;

/// Objects that Kubernetes creates in each namespace.
const DEFAULT_OBJECTS: [(&Resource, &str); 2] = [
    (&resources::CONFIG_MAP, "kube-root-ca.crt"),
    (&resources::SERVICE_ACCOUNT, "default"),
];

impl RemainingObjects {
    /// Splits off volumes if they are `kept`, and returns their names.
    pub(crate) fn without_disks(mut self, kept: bool) -> (RemainingObjects, Vec<String>) {
        if !kept {
            return (self, Vec::new());
        }
        let is_disk = |it: &RemainingObject| it.is_disk;
        let disks = self.objects.iter().filter(|it| is_disk(it));
        let names = disks
            .filter(|it| it.kind == resources::DATA_VOLUME.kind)
            .map(|it| it.name.clone())
            .collect();
        self.objects.retain(|it| !is_disk(it));
        (self, names)
    }
}

impl ApiClient {
    /// True if the namespace has no objects of the kinds that a shoot may have.
    ///
    /// # Errors
    ///
    /// The server does not answer, or listing is forbidden.
    pub(crate) async fn is_namespace_empty(&self) -> Result<bool, Error> {
        let lists = KINDS.map(async |resource| {
            let resource_ref = ResourceRef::all(resource, Some(self.namespace()));
            (resource, self.list_metadata(resource_ref, None).await)
        });
        let mut lists = pin!(stream::iter(lists).buffered(LISTS_AT_ONCE));
        while let Some((resource, listed)) = lists.next().await {
            let items = match listed {
                Ok(listed) => listed.items,
                Err(Error::NotFound { .. }) => continue,
                Err(error) => return Err(error),
            };
            let objects: Vec<PartialObject> = read_all(resource, &items)?;
            let mut names = objects.iter().map(|it| it.metadata.name.as_str());
            if names.any(|it| !DEFAULT_OBJECTS.contains(&(resource, it))) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Counts objects per shoot (technical ID), Leases excluded unless expired.
    ///
    /// # Errors
    ///
    /// The server does not answer. Kinds that may not be listed are skipped.
    pub(crate) async fn objects_per_shoot(&self) -> Result<BTreeMap<String, usize>, Error> {
        let selector = format!(
            "{}={},{}",
            names::MANAGED_BY,
            names::KVSHOOT,
            names::PART_OF
        );
        let kinds = KINDS.into_iter().filter(|it| **it != resources::LEASE);
        let lists = kinds.map(|resource| {
            let resource_ref = ResourceRef::all(resource, Some(self.namespace()));
            self.list_metadata(resource_ref, Some(&selector))
                .map(move |it| (resource, it))
        });
        let mut owners = BTreeMap::new();
        let mut lists = pin!(stream::iter(lists).buffered(LISTS_AT_ONCE));
        while let Some((resource, listed)) = lists.next().await {
            let items = match listed {
                Ok(listed) => listed.items,
                Err(Error::NotFound { .. } | Error::Forbidden { .. }) => continue,
                Err(error) => return Err(error),
            };
            for object in read_all::<PartialObject>(resource, &items)? {
                *owners.entry(shoot_of(&object.metadata)).or_default() += 1;
            }
        }
        // A run that was killed at its start leaves only a Lease; one that is about to begin holds it.
        let resource_ref = ResourceRef::all(&resources::LEASE, Some(self.namespace()));
        let locks = format!("{selector},{}={}", names::COMPONENT, role::LOCK);
        match self.list(resource_ref, Some(&locks)).await {
            Ok(leases) => {
                let leases: Vec<PartialLease> = read_all(&resources::LEASE, &leases.items)?;
                let now = self.current_time();
                for lease in leases.iter().filter(|it| it.is_expired(now)) {
                    *owners.entry(shoot_of(&lease.metadata)).or_default() += 1;
                }
            }
            Err(Error::NotFound { .. } | Error::Forbidden { .. }) => {}
            Err(error) => return Err(error),
        }
        Ok(owners)
    }

    /// Lists every kind that a shoot may have, by its labels. Kinds that are not served have no objects.
    ///
    /// # Errors
    ///
    /// The server does not answer. Kinds that may not be listed are part of the result.
    pub(crate) async fn remaining_objects(&self, id: &str) -> Result<RemainingObjects, Error> {
        let ours = names::selector(id);
        let all = KINDS.into_iter().map(|it| (it, ours.clone(), false));
        let of_guest = USER_RESOURCES.into_iter().map(|(resource, kind)| {
            let selector = resources::ownership_selector(kind, id);
            (resource, selector, kind != ObjectKind::ProviderLoadBalancer)
        });
        let lists = all.chain(of_guest);
        let lists = lists.map(async |(resource, selector, is_disk)| {
            let resource_ref = ResourceRef::all(resource, Some(self.namespace()));
            let listed = self.list_metadata(resource_ref, Some(&selector)).await;
            (resource, is_disk, listed)
        });
        let mut remaining = RemainingObjects::default();
        let mut lists = pin!(stream::iter(lists).buffered(LISTS_AT_ONCE));
        while let Some((resource, is_disk, listed)) = lists.next().await {
            let items = match listed {
                Ok(listed) => listed.items,
                Err(Error::NotFound { .. }) => continue,
                Err(Error::Forbidden { .. }) => {
                    if !remaining.unlisted.contains(&resource.kind) {
                        remaining.unlisted.push(resource.kind);
                    }
                    continue;
                }
                Err(error) => return Err(error),
            };
            let objects: Vec<PartialObject> = read_all(resource, &items)?;
            let objects = objects.into_iter();
            let objects = objects.map(|it| remaining_object(resource, is_disk, it.metadata));
            remaining.objects.extend(objects);
        }
        Ok(remaining)
    }

    /// Deletes objects with a shoot's labels that no run would delete because their other labels were removed, and
    /// shortens the grace period of control plane pods.
    pub(crate) async fn force_cleanup(&self, left: &RemainingObjects, fence: &Fence) {
        for object in left.objects.iter().filter(|it| it.kind != "Lease") {
            let Some(push) = &object.cleanup else {
                continue;
            };
            let (resource_ref, uid) = (
                ResourceRef::one(object.resource, self.namespace(), &object.name),
                &object.uid,
            );
            let done = match (fence.remaining(), push) {
                (Ok(limit), Cleanup::Delete) => {
                    self.delete(resource_ref, uid, None, limit.min(WRITE_TIMEOUT))
                        .await
                }
                (Ok(limit), Cleanup::ShortenGracePeriod) => {
                    self.shorten_grace_period(
                        resource_ref,
                        uid,
                        LAST_GRACE,
                        limit.min(WRITE_TIMEOUT),
                    )
                    .await
                }
                (Err(error), _) => Err(error),
            };
            // The next LIST shows it if it stays.
            if let Err(error) = done {
                tracing::warn!(%error, "cannot delete a remaining object");
            }
        }
    }
}

fn remaining_object(
    resource: &'static Resource,
    is_disk: bool,
    metadata: PartialObjectMeta,
) -> RemainingObject {
    RemainingObject {
        kind: resource.kind,
        is_disk,
        resource,
        cleanup: cleanup(resource, &metadata),
        name: metadata.name,
        finalizers: metadata.finalizers,
        uid: metadata.uid,
    }
}

fn cleanup(resource: &Resource, metadata: &PartialObjectMeta) -> Option<Cleanup> {
    let owners = &metadata.owner_references;
    if !metadata.is_deleting() {
        return owners.is_empty().then_some(Cleanup::Delete);
    }
    // Pods of machines are terminated by KubeVirt.
    let is_workload =
        |it: &PartialOwnerReference| it.kind == "ReplicaSet" || it.kind == "StatefulSet";
    let is_slow = metadata.deletion_grace_period_seconds > Some(LAST_GRACE.into());
    let is_slow_pod = *resource == resources::POD && owners.iter().any(is_workload) && is_slow;
    is_slow_pod.then_some(Cleanup::ShortenGracePeriod)
}

/// Technical ID of the shoot that an object belongs to.
fn shoot_of(metadata: &PartialObjectMeta) -> String {
    metadata
        .label(names::PART_OF)
        .unwrap_or_default()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::objects::testing::object;
    use serde_json::{Value, json};

    fn owned(kind: &str, grace: u32) -> Value {
        json!({
            "ownerReferences": [{ "kind": kind, "name": "a", "uid": "u" }],
            "deletionTimestamp": "2026-01-01T00:00:00Z",
            "deletionGracePeriodSeconds": grace,
        })
    }

    #[test]
    fn only_terminating_pods_of_a_control_plane_get_a_shorter_grace_period() {
        for (resource, metadata, wanted) in [
            (
                &resources::POD,
                owned("ReplicaSet", 75),
                Some(Cleanup::ShortenGracePeriod),
            ),
            (
                &resources::POD,
                owned("StatefulSet", 30),
                Some(Cleanup::ShortenGracePeriod),
            ),
            (&resources::POD, owned("ReplicaSet", LAST_GRACE), None),
            (&resources::POD, owned("VirtualMachineInstance", 30), None),
            (&resources::DEPLOYMENT, owned("ReplicaSet", 75), None),
            (
                &resources::POD,
                json!({ "ownerReferences": [{ "kind": "ReplicaSet", "name": "a", "uid": "u" }] }),
                None,
            ),
            (&resources::SECRET, json!({}), Some(Cleanup::Delete)),
        ] {
            let object: PartialObject = object(json!({ "metadata": metadata }));
            assert_eq!(cleanup(resource, &object.metadata), wanted, "{metadata}");
        }
    }
}
