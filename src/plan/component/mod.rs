//! Items of components: objects that are applied together and start together.

use crate::plan::deletion::{removal, title};
use crate::plan::planner::Planner;
use crate::render::component::Component;
use crate::state::action::{Action, Desired, Payload};
use crate::state::facts::{Facts, ObjectStatus, ShootApi};
use crate::state::failure::{ErrorClass, Failure};
use crate::state::hash::Hash;
use crate::state::key::{ClusterSide, ObjectKey, ObjectKind};
use crate::state::names::{self};
use crate::state::observed::Observed;
use crate::state::plan::{Dependency, ItemKind, ItemState};
use crate::state::site::Site;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// Time that a load balancer may take to get an address, from the beginning of a run.
pub(super) const BALANCER_LIMIT: Duration = Duration::from_secs(5 * 60);

/// Adds the item of a component: due while an object differs from its desired content, then waiting until everything
/// runs.
pub(crate) fn add(
    planner: &mut Planner,
    component: Component,
    side: ClusterSide,
    site: &Site,
    needs: impl Into<Arc<[Dependency]>>,
) -> Dependency {
    let key = ObjectKey {
        side,
        kind: ObjectKind::Component,
        name: component.name.into(),
    };
    let kind = ItemKind::Component {
        side,
        name: key.name.clone(),
    };
    let title = component.title.clone();
    let objects = component.finished(side, site);
    let state = state(planner.observed, key, &objects);
    if matches!(state, ItemState::Waiting(_)) && planner.observed.now < BALANCER_LIMIT {
        let is_pending = pending_balancer(&planner.observed.facts, &objects).is_some();
        if is_pending {
            planner.plan.wake_at(BALANCER_LIMIT);
        }
    }
    planner
        .plan
        .parts
        .extend(objects.into_iter().map(|it| it.0));
    planner.add(kind, title, needs, state)
}

/// Adds items for existing objects that no longer belong to a component. The manifest of the record is deleted when the
/// record has another one.
///
/// Controllers copy labels to objects they create (an EndpointSlice of a Service, for example), but not the hash.
pub(crate) fn unwanted(planner: &mut Planner, record: Dependency) {
    let observed = planner.observed;
    let is_ours = |key: &ObjectKey| {
        let is_part = planner.plan.parts.contains(key) || names::is_inventory(&key.name);
        ObjectKind::GENERIC.contains(&key.kind) && !is_part
    };
    let objects = observed
        .facts
        .objects
        .iter()
        .filter(|it| it.1.hash != Hash::default());
    let mut unwanted: Vec<_> = objects.filter(|it| is_ours(it.0)).collect();
    unwanted.sort_by_key(|it| it.0);
    for (key, object) in unwanted {
        let kind = ItemKind::deletion(key, &object.uid);
        let needs: &[Dependency] = match names::is_manifest_secret(&key.name) {
            true => &[record],
            false => &[],
        };
        // Volumes are not observed; they are looked for right before it is deleted.
        let condition = match (key.side, key.kind) {
            (ClusterSide::Shoot, ObjectKind::StorageClass) => " unless volumes use it",
            _ => "",
        };
        let title = format!("{}{condition}", title(key));
        planner.add(kind, title, needs, removal(key, object));
    }
}

fn state(observed: &Observed, key: ObjectKey, objects: &[(ObjectKey, Hash, Value)]) -> ItemState {
    let facts = &observed.facts;
    if key.side == ClusterSide::Shoot && facts.shoot_api != ShootApi::Reachable {
        return ItemState::Blocked;
    }
    let mut due = Vec::new();
    let mut hashes = Vec::new();
    let mut waits = None;
    for (key, hash, object) in objects {
        match facts.objects.get(key) {
            Some(it) if it.leaving => {
                return ItemState::Waiting(format!("the old {key} is terminating"));
            }
            Some(it) if it.hash == *hash => waits = waits.or_else(|| why(key, object, &it.status)),
            _ => {
                due.push(object.clone());
                hashes.push(hash.to_string());
            }
        }
    }
    if !due.is_empty() {
        return ItemState::Due(Action::Apply(Desired {
            key,
            hash: Hash::of(&hashes),
            payload: Payload::Objects(due.into()),
        }));
    }
    let Some(waits) = waits else {
        return ItemState::Done;
    };
    if observed.now >= BALANCER_LIMIT
        && let Some(key) = pending_balancer(facts, objects)
    {
        return ItemState::Failed(Failure::new(
            ErrorClass::Infrastructure,
            without_address(key),
        ));
    }
    // Without a node nothing in the shoot can run: other items wait for nodes or have failed.
    let is_idle = !facts.nodes.values().any(|it| it.serves);
    match key.side == ClusterSide::Shoot && is_idle {
        true => ItemState::Blocked,
        false => ItemState::Waiting(waits),
    }
}

/// A Service of type LoadBalancer without an address.
fn pending_balancer<'a>(
    facts: &Facts,
    objects: &'a [(ObjectKey, Hash, Value)],
) -> Option<&'a ObjectKey> {
    let is_pending = |(key, _, object): &&(ObjectKey, Hash, Value)| {
        let status = facts.objects.get(key).map(|it| &it.status);
        let has_none = matches!(status, Some(ObjectStatus::Service(it)) if it.ingress.is_none());
        has_none && object["spec"]["type"] == "LoadBalancer"
    };
    objects.iter().find(is_pending).map(|it| &it.0)
}

fn without_address(key: &ObjectKey) -> String {
    let other = match key.side {
        ClusterSide::Provider => {
            ", or set controlPlaneConfig.exposure.type of the Shoot to NodePort or None"
        }
        ClusterSide::Shoot => "",
    };
    format!(
        "{} {:?} got no address within {} minutes: install a load balancer in the provider cluster{other}",
        key.kind,
        &*key.name,
        BALANCER_LIMIT.as_secs() / 60
    )
}

/// Reason why an up-to-date object is not ready yet.
fn why(key: &ObjectKey, object: &Value, fact: &ObjectStatus) -> Option<String> {
    match fact {
        ObjectStatus::Rollout(rollout) => rollout.why.as_ref().map(|why| format!("{key}: {why}")),
        ObjectStatus::Answer(why) => why.as_ref().map(|why| format!("{key}: {why}")),
        ObjectStatus::Service(it)
            if it.ingress.is_none() && object["spec"]["type"] == "LoadBalancer" =>
        {
            Some(format!(
                "{key}: the provider's load balancer has no address yet"
            ))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
