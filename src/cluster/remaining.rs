//! The proof that nothing is left: every kind again, by label.

use super::client::error::Error;
use super::client::request::{Place, WRITE};
use super::client::resources::{self, Resource};
use super::lock::fence::Fence;
use crate::cluster::client::api_client::Provider;
use crate::cluster::json::{items, text};
use crate::state::key::Kind;
use crate::state::names;
use futures::future::join_all;
use serde_json::Value;
use std::collections::BTreeMap;

/// What a shoot may leave, in the order in which it is told.
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

/// Of what controllers of the shoot make, by their own labels; claims of volumes carry the same.
const OF_GUEST: [(&Resource, Kind); 4] = [
    (&resources::SERVICE, Kind::Mirror),
    (&resources::VOLUME_SNAPSHOT, Kind::Snapshot),
    (&resources::DATA_VOLUME, Kind::Disk),
    (&resources::CLAIM, Kind::Disk),
];

/// What is left of a shoot.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Leftovers {
    pub(crate) objects: Vec<Leftover>,
    /// Kinds that may not be looked at, as kubectl names them.
    pub(crate) unseen: Vec<&'static str>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Leftover {
    /// As kubectl names it.
    pub(crate) kind: &'static str,
    pub(crate) name: String,
    /// A volume of the shoot's own users, the claim of one, or a snapshot.
    pub(crate) is_disk: bool,
    /// What keeps it once it is deleted.
    pub(crate) finalizers: Vec<String>,
    uid: String,
    resource: &'static Resource,
    push: Option<Push>,
}

/// What it takes for something to go.
#[derive(Debug, PartialEq, Eq)]
enum Push {
    /// Nobody deletes it: it is not on its way out, and has no owner to go with.
    Delete,
    /// A pod of the control plane that has more time to end than it needs. An API server would wait a minute for
    /// clients that are gone.
    Hurry,
}

/// Seconds for a pod whose clients and data are gone.
const LAST_GRACE: u32 = 1;

/// What Kubernetes itself puts into each namespace.
const OF_KUBERNETES: [(&Resource, &str); 2] = [
    (&resources::CONFIG_MAP, "kube-root-ca.crt"),
    (&resources::SERVICE_ACCOUNT, "default"),
];

impl Leftovers {
    /// What is left beside volumes that are to be `kept`, and the names of these.
    pub(crate) fn without_disks(mut self, kept: bool) -> (Leftovers, Vec<String>) {
        if !kept {
            return (self, Vec::new());
        }
        let is_disk = |it: &Leftover| it.is_disk;
        let disks = self.objects.iter().filter(|it| is_disk(it));
        let names = disks
            .filter(|it| it.kind == resources::DATA_VOLUME.kind)
            .map(|it| it.name.clone())
            .collect();
        self.objects.retain(|it| !is_disk(it));
        (self, names)
    }
}

impl Provider {
    /// Whether nobody keeps anything in the namespace, of all kinds that a shoot may have.
    ///
    /// # Errors
    ///
    /// The server does not answer, or does not let it be seen.
    pub(crate) async fn is_empty(&self) -> Result<bool, Error> {
        let lists = KINDS.map(async |resource| {
            let place = Place::all(resource, Some(self.namespace()));
            (resource, self.list_metadata(place, None).await)
        });
        for (resource, listed) in join_all(lists).await {
            let items = match listed {
                Ok(listed) => listed.items,
                Err(Error::NotFound { .. }) => continue,
                Err(error) => return Err(error),
            };
            let mut names = items.iter().map(|it| text(&it["metadata"]["name"]));
            if names.any(|it| !OF_KUBERNETES.contains(&(resource, it))) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Technical IDs of all shoots that objects of the namespace are of, and how many each has; Leases are none.
    ///
    /// # Errors
    ///
    /// The server does not answer. Kinds that may not be listed are passed over.
    pub(crate) async fn owners(&self) -> Result<BTreeMap<String, usize>, Error> {
        let selector = format!(
            "{}={},{}",
            names::MANAGED_BY,
            names::KVSHOOT,
            names::PART_OF
        );
        let kinds = KINDS.into_iter().filter(|it| **it != resources::LEASE);
        let lists = kinds.map(|resource| {
            let place = Place::all(resource, Some(self.namespace()));
            self.list_metadata(place, Some(&selector))
        });
        let mut owners = BTreeMap::new();
        for listed in join_all(lists).await {
            let items = match listed {
                Ok(listed) => listed.items,
                Err(Error::NotFound { .. } | Error::NotAllowed { .. }) => continue,
                Err(error) => return Err(error),
            };
            for item in items {
                let id = text(&item["metadata"]["labels"][names::PART_OF]).to_owned();
                *owners.entry(id).or_default() += 1;
            }
        }
        // A run that was cut off at once leaves nothing else; one that is about to begin holds it.
        let place = Place::all(&resources::LEASE, Some(self.namespace()));
        match self.list(place, Some(&selector)).await {
            Ok(leases) => {
                let left = leases.items.iter().filter(|it| is_over(it, self.time()));
                for lease in left {
                    let id = text(&lease["metadata"]["labels"][names::PART_OF]).to_owned();
                    *owners.entry(id).or_default() += 1;
                }
            }
            Err(Error::NotFound { .. } | Error::NotAllowed { .. }) => {}
            Err(error) => return Err(error),
        }
        Ok(owners)
    }

    /// Lists every kind of object that a shoot may have, by its labels. Kinds that are not served have none.
    ///
    /// # Errors
    ///
    /// The server does not answer. A kind that may not be listed is no error; it is told.
    pub(crate) async fn leftovers(&self, id: &str) -> Result<Leftovers, Error> {
        let ours = names::selector(id);
        let all = KINDS.into_iter().map(|it| (it, ours.clone(), false));
        let of_guest = OF_GUEST.into_iter().map(|(resource, kind)| {
            let selector = resources::belonging(kind, id);
            (resource, selector, kind != Kind::Mirror)
        });
        let lists = all.chain(of_guest);
        let lists = lists.map(async |(resource, selector, is_disk)| {
            let place = Place::all(resource, Some(self.namespace()));
            let listed = self.list_metadata(place, Some(&selector)).await;
            (resource, is_disk, listed)
        });
        let mut left = Leftovers::default();
        for (resource, is_disk, listed) in join_all(lists).await {
            let items = match listed {
                Ok(listed) => listed.items,
                Err(Error::NotFound { .. }) => continue,
                Err(Error::NotAllowed { .. }) => {
                    if !left.unseen.contains(&resource.kind) {
                        left.unseen.push(resource.kind);
                    }
                    continue;
                }
                Err(error) => return Err(error),
            };
            left.objects.extend(
                items
                    .iter()
                    .map(|it| leftover(resource, is_disk, &it["metadata"])),
            );
        }
        Ok(left)
    }

    /// Deletes what carries a shoot's labels and would stay for ever, because somebody took the other labels, by which
    /// a run knows what it is; and waits no longer than it must for pods of the control plane.
    pub(crate) async fn push(&self, left: &Leftovers, fence: &Fence) {
        for leftover in left.objects.iter().filter(|it| it.kind != "Lease") {
            let Some(push) = &leftover.push else { continue };
            let (place, uid) = (
                Place::one(leftover.resource, self.namespace(), &leftover.name),
                &leftover.uid,
            );
            let done = match (fence.left(), push) {
                (Ok(limit), Push::Delete) => self.delete(place, uid, None, limit.min(WRITE)).await,
                (Ok(limit), Push::Hurry) => {
                    self.hurry(place, uid, LAST_GRACE, limit.min(WRITE)).await
                }
                (Err(error), _) => Err(error),
            };
            // It is listed again, and told if it stays.
            if let Err(error) = done {
                tracing::warn!(%error, "cannot delete what is left");
            }
        }
    }
}

fn leftover(resource: &'static Resource, is_disk: bool, metadata: &Value) -> Leftover {
    let finalizers = items(&metadata["finalizers"]).iter();
    Leftover {
        kind: resource.kind,
        name: text(&metadata["name"]).to_owned(),
        is_disk,
        finalizers: finalizers
            .filter_map(|it| it.as_str().map(str::to_owned))
            .collect(),
        uid: text(&metadata["uid"]).to_owned(),
        resource,
        push: push(resource, metadata),
    }
}

fn push(resource: &Resource, metadata: &Value) -> Option<Push> {
    let owners = items(&metadata["ownerReferences"]);
    if !metadata["deletionTimestamp"].is_string() {
        return owners.is_empty().then_some(Push::Delete);
    }
    // Pods of machines are KubeVirt's to end.
    let is_workload = |it: &Value| it["kind"] == "ReplicaSet" || it["kind"] == "StatefulSet";
    let is_slow = metadata["deletionGracePeriodSeconds"].as_u64() > Some(LAST_GRACE.into());
    let is_slow_pod = *resource == resources::POD && owners.iter().any(is_workload) && is_slow;
    is_slow_pod.then_some(Push::Hurry)
}

/// Nobody holds a lease any more, at a time in seconds since 1970; nor for a while, since clocks differ.
fn is_over(lease: &Value, now: i64) -> bool {
    const SKEW: i64 = 60;
    let spec = &lease["spec"];
    let renewed = text(&spec["renewTime"]).parse::<jiff::Timestamp>();
    let renewed = renewed.map_or(0, jiff::Timestamp::as_second);
    let life = spec["leaseDurationSeconds"].as_i64().unwrap_or_default();
    renewed + life + SKEW < now
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn owned(kind: &str, grace: u32) -> Value {
        json!({
            "ownerReferences": [{ "kind": kind }],
            "deletionTimestamp": "2026-01-01T00:00:00Z",
            "deletionGracePeriodSeconds": grace,
        })
    }

    #[test]
    fn only_pods_of_a_control_plane_that_are_on_their_way_out_are_hurried() {
        for (resource, metadata, wanted) in [
            (&resources::POD, owned("ReplicaSet", 75), Some(Push::Hurry)),
            (&resources::POD, owned("StatefulSet", 30), Some(Push::Hurry)),
            (&resources::POD, owned("ReplicaSet", LAST_GRACE), None),
            (&resources::POD, owned("VirtualMachineInstance", 30), None),
            (&resources::DEPLOYMENT, owned("ReplicaSet", 75), None),
            (
                &resources::POD,
                json!({ "ownerReferences": [{ "kind": "ReplicaSet" }] }),
                None,
            ),
            (&resources::SECRET, json!({}), Some(Push::Delete)),
        ] {
            assert_eq!(push(resource, &metadata), wanted, "{metadata}");
        }
    }

    #[test]
    fn a_lease_is_over_a_while_after_its_time() {
        let lease = json!({ "spec": { "renewTime": "1970-01-01T00:01:40.000000Z", "leaseDurationSeconds": 15 } });
        assert!(!is_over(&lease, 100 + 15 + 60));
        assert!(is_over(&lease, 100 + 15 + 61));
        assert!(is_over(&json!({}), 100), "nobody has ever held it");
    }
}
