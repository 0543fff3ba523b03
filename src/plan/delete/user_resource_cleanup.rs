//! Cleanup of user resources before a shoot is deleted: its own controllers delete load balancers and volumes.

use crate::plan::deletion::{removal, title};
use crate::plan::planner::Planner;
use crate::state::facts::{ObjectStatus, ObservedObject, ShootApi};
use crate::state::key::{ObjectKey, ObjectKind};
use crate::state::names::{self, part};
use crate::state::observed::Observed;
use crate::state::plan::{Dependency, ItemKind, ItemState};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

/// Time without progress after which the shoot's own controllers are given up.
pub(crate) const STALL_LIMIT: Duration = Duration::from_secs(120);

/// Adds items for the shoot's own objects, and returns those that are open. Empty when there is nothing left to wait
/// for: everything is deleted, or progress has stopped.
pub(crate) fn add(planner: &mut Planner, keep_volumes: bool) -> Arc<[Dependency]> {
    let observed = planner.observed;
    let guests = &observed.facts.user_resources;
    let wanted = wanted(observed, keep_volumes);
    if !serves(observed, part::API_SERVER) || !is_open(observed, &wanted, keep_volumes) {
        return [].into();
    }
    if observed.facts.unreadable.contains_key(&ObjectKind::Secret) {
        return without_keys(planner);
    }
    let end = guests.last_progress.saturating_add(STALL_LIMIT);
    if observed.now >= end {
        return given_up(planner);
    }
    planner.plan.wake_at(end);
    match &observed.facts.shoot_api {
        ShootApi::Reachable => inside(planner, &wanted),
        ShootApi::Absent => [reach(planner, "not up yet")].into(),
        ShootApi::Unreachable(why) => [reach(planner, why)].into(),
    }
}

/// Objects left in the provider cluster when the shoot's controllers no longer delete them.
pub(crate) fn outside(
    observed: &Observed,
    keep_volumes: bool,
) -> Vec<(&ObjectKey, &ObservedObject)> {
    let things = observed
        .facts
        .user_resources
        .objects
        .iter()
        .filter(|(key, _)| match key.kind {
            ObjectKind::ProviderLoadBalancer => true,
            ObjectKind::ProviderDataVolume | ObjectKind::VolumeSnapshot => !keep_volumes,
            _ => false,
        });
    things.collect()
}

/// Objects in the shoot that its controllers can delete.
fn wanted(observed: &Observed, keep_volumes: bool) -> Vec<(&ObjectKey, &ObservedObject)> {
    let balancers = serves(observed, part::CLOUD_CONTROLLER);
    let volumes = !keep_volumes && serves(observed, part::CSI_CONTROLLER);
    let things = observed
        .facts
        .user_resources
        .objects
        .iter()
        .filter(|(key, _)| match key.kind {
            ObjectKind::ShootLoadBalancer => balancers,
            ObjectKind::PersistentVolumeClaim
            | ObjectKind::PersistentVolume
            | ObjectKind::ShootStorageClass
            | ObjectKind::Pod => volumes,
            ObjectKind::ValidatingWebhook | ObjectKind::MutatingWebhook => true,
            _ => false,
        });
    things.collect()
}

/// Returns true if user resources remain that need the shoot's controllers.
fn is_open(
    observed: &Observed,
    wanted: &[(&ObjectKey, &ObservedObject)],
    keep_volumes: bool,
) -> bool {
    if observed.facts.shoot_api == ShootApi::Reachable {
        let holds = |kind: ObjectKind| {
            matches!(
                kind,
                ObjectKind::ShootLoadBalancer
                    | ObjectKind::PersistentVolumeClaim
                    | ObjectKind::PersistentVolume
            )
        };
        return wanted.iter().any(|it| holds(it.0.kind));
    }
    let volumes = serves(observed, part::CSI_CONTROLLER);
    let balancers = serves(observed, part::CLOUD_CONTROLLER);
    let mut outside = outside(observed, keep_volumes).into_iter();
    outside.any(|(key, _)| match key.kind {
        ObjectKind::ProviderDataVolume => volumes,
        _ => balancers,
    })
}

/// Returns true if a part of the control plane exists and is not being deleted.
fn serves(observed: &Observed, part: &str) -> bool {
    let objects = &observed.facts.objects;
    let Some(record) = &observed.facts.record else {
        return false;
    };
    let key = ObjectKey::provider(
        ObjectKind::Deployment,
        names::control_plane(&record.name, part),
    );
    objects.get(&key).is_some_and(|it| !it.leaving)
}

fn reach(planner: &mut Planner, why: &str) -> Dependency {
    planner.add(
        "inside".to_owned().into(),
        "Connect to the shoot to delete its load balancers and volumes".into(),
        [],
        ItemState::Waiting(format!(
            "the shoot's API server does not answer, giving up after {} s: {why}",
            STALL_LIMIT.as_secs()
        )),
    )
}

fn given_up(planner: &mut Planner) -> Arc<[Dependency]> {
    planner.add(
        "inside".to_owned().into(),
        "Continue without the shoot's controllers, which do not respond or make no progress".into(),
        [],
        ItemState::Done,
    );
    [].into()
}

/// Without the keys of the shoot, its API server refuses every request. An account that may not read Secrets, such as
/// that of the CronJob of gc, deletes load balancers and volumes in the provider cluster.
fn without_keys(planner: &mut Planner) -> Arc<[Dependency]> {
    planner.add(
        "inside".to_owned().into(),
        "Continue without the shoot's controllers, since there is no permission to read Secrets"
            .into(),
        [],
        ItemState::Done,
    );
    [].into()
}

/// Webhooks first, for they could block deletions; and StorageClasses, so that no volume is recreated for its claim.
fn inside(planner: &mut Planner, wanted: &[(&ObjectKey, &ObservedObject)]) -> Arc<[Dependency]> {
    let leaving: HashSet<&Arc<str>> = wanted
        .iter()
        .filter(|(key, it)| key.kind == ObjectKind::PersistentVolumeClaim && it.leaving)
        .map(|it| &it.0.name)
        .collect();
    let mut hooks = Vec::new();
    let mut all = Vec::new();
    let (first, rest): (Vec<_>, Vec<_>) = wanted.iter().partition(|it| is_in_the_way(it.0.kind));
    for (key, object) in first {
        let state = removal(key, object);
        hooks.extend(remove(planner, (key, object), [].into(), state));
    }
    let hooks: Arc<[Dependency]> = hooks.into();
    for (key, object) in rest {
        let state = match key.kind {
            ObjectKind::PersistentVolume => {
                ItemState::Waiting("the CSI driver has not deleted the volume yet".into())
            }
            // A recreated pod finds no claim.
            ObjectKind::Pod if !held(object).any(|it| leaving.contains(it)) => continue,
            _ => removal(key, object),
        };
        all.extend(remove(planner, (key, object), hooks.clone(), state));
    }
    all.extend(hooks.iter());
    all.into()
}

fn is_in_the_way(kind: ObjectKind) -> bool {
    matches!(
        kind,
        ObjectKind::ValidatingWebhook | ObjectKind::MutatingWebhook | ObjectKind::ShootStorageClass
    )
}

fn held(object: &ObservedObject) -> impl Iterator<Item = &Arc<str>> {
    let claims: &[Arc<str>] = match &object.status {
        ObjectStatus::Holds(claims) => claims,
        _ => &[],
    };
    claims.iter()
}

/// An object that the shoot rejects to delete is skipped and cleaned up in the provider cluster.
fn remove(
    planner: &mut Planner,
    (key, object): (&ObjectKey, &ObservedObject),
    needs: Arc<[Dependency]>,
    state: ItemState,
) -> Option<Dependency> {
    if let ItemState::Due(action) = &state
        && let ItemState::Failed(_) = planner.in_run(action.clone())
    {
        return None;
    }
    let kind = ItemKind::deletion(key, &object.uid);
    Some(planner.add(kind, title(key), needs, state))
}
