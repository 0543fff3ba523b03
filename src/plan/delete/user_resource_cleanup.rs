//! What users of a shoot that goes have in the provider: its own controllers remove that while they live.

use crate::plan::deletion::{removal, title};
use crate::plan::planner::Planner;
use crate::state::facts::{Fact, Inside, Object};
use crate::state::key::{Key, Kind};
use crate::state::names::{self, part};
use crate::state::observed::Observed;
use crate::state::plan::{Id, Need, State};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

/// How long a shoot may stand still that is to remove what is in it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Items for the inside of the shoot. All of them are open: those that follow have nothing to need when there is
/// nothing more to wait for, be it that all is gone or that nothing moves.
pub(crate) fn add(planner: &mut Planner, keep_volumes: bool) -> Arc<[Need]> {
    let observed = planner.observed;
    let guests = &observed.facts.guests;
    let wanted = wanted(observed, keep_volumes);
    if !serves(observed, part::API_SERVER) || !is_open(observed, &wanted, keep_volumes) {
        return [].into();
    }
    let end = guests.moved.saturating_add(PATIENCE);
    if observed.now >= end {
        return given_up(planner);
    }
    planner.plan.wake_at(end);
    match &observed.facts.inside {
        Inside::Observed => inside(planner, &wanted),
        Inside::Absent => [reach(planner, "it is not up")].into(),
        Inside::Unreachable(why) => [reach(planner, why)].into(),
    }
}

/// What is left outside, once nobody inside removes it any more.
pub(crate) fn outside(observed: &Observed, keep_volumes: bool) -> Vec<(&Key, &Object)> {
    let things = observed.facts.guests.things.iter();
    let things = things.filter(|(key, _)| match key.kind {
        Kind::Mirror => true,
        Kind::Disk | Kind::Snapshot => !keep_volumes,
        _ => false,
    });
    things.collect()
}

/// Things inside that somebody there can remove.
fn wanted(observed: &Observed, keep_volumes: bool) -> Vec<(&Key, &Object)> {
    let balancers = serves(observed, part::CLOUD_CONTROLLER);
    let volumes = !keep_volumes && serves(observed, part::CSI_CONTROLLER);
    let things = observed.facts.guests.things.iter();
    let things = things.filter(|(key, _)| match key.kind {
        Kind::Balancer => balancers,
        Kind::Claim | Kind::Volume | Kind::VolumeClass | Kind::Pod => volumes,
        Kind::ValidatingWebhook | Kind::MutatingWebhook => true,
        _ => false,
    });
    things.collect()
}

/// Where nothing of a guest is in the provider, nobody has to be reached for it.
fn is_open(observed: &Observed, wanted: &[(&Key, &Object)], keep_volumes: bool) -> bool {
    if observed.facts.inside == Inside::Observed {
        let holds = |kind: Kind| matches!(kind, Kind::Balancer | Kind::Claim | Kind::Volume);
        return wanted.iter().any(|it| holds(it.0.kind));
    }
    let volumes = serves(observed, part::CSI_CONTROLLER);
    let balancers = serves(observed, part::CLOUD_CONTROLLER);
    let mut outside = outside(observed, keep_volumes).into_iter();
    outside.any(|(key, _)| match key.kind {
        Kind::Disk => volumes,
        _ => balancers,
    })
}

/// A part of the control plane is there, and nobody has begun to delete it.
fn serves(observed: &Observed, part: &str) -> bool {
    let objects = &observed.facts.objects;
    let Some(record) = &observed.facts.record else {
        return false;
    };
    let key = Key::provider(Kind::Deployment, names::control_plane(&record.name, part));
    objects.get(&key).is_some_and(|it| !it.leaving)
}

fn reach(planner: &mut Planner, why: &str) -> Need {
    planner.add(
        "inside".to_owned().into(),
        "Reach the shoot, which has load balancers or volumes".into(),
        [],
        State::Waiting(format!(
            "an answer, for {} s at most: {why}",
            PATIENCE.as_secs()
        )),
    )
}

fn given_up(planner: &mut Planner) -> Arc<[Need]> {
    planner.add(
        "inside".to_owned().into(),
        "Go on without the shoot's own controllers, which do not answer or get on".into(),
        [],
        State::Done,
    );
    [].into()
}

/// Webhooks first, for they could be in the way; and classes, so that no volume comes back with its claim.
fn inside(planner: &mut Planner, wanted: &[(&Key, &Object)]) -> Arc<[Need]> {
    let leaving: HashSet<&Arc<str>> = wanted
        .iter()
        .filter(|(key, it)| key.kind == Kind::Claim && it.leaving)
        .map(|it| &it.0.name)
        .collect();
    let mut hooks = Vec::new();
    let mut all = Vec::new();
    let (first, rest): (Vec<_>, Vec<_>) = wanted.iter().partition(|it| is_in_the_way(it.0.kind));
    for (key, object) in first {
        let state = removal(key, object);
        hooks.extend(remove(planner, (key, object), [].into(), state));
    }
    let hooks: Arc<[Need]> = hooks.into();
    for (key, object) in rest {
        let state = match key.kind {
            Kind::Volume => State::Waiting("its claim and the CSI driver".into()),
            // A pod that comes back finds no claim.
            Kind::Pod if !held(object).any(|it| leaving.contains(it)) => continue,
            _ => removal(key, object),
        };
        all.extend(remove(planner, (key, object), hooks.clone(), state));
    }
    all.extend(hooks.iter());
    all.into()
}

fn is_in_the_way(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::ValidatingWebhook | Kind::MutatingWebhook | Kind::VolumeClass
    )
}

fn held(object: &Object) -> impl Iterator<Item = &Arc<str>> {
    let claims: &[Arc<str>] = match &object.fact {
        Fact::Holds(claims) => claims,
        _ => &[],
    };
    claims.iter()
}

/// What the shoot refuses to remove is removed without it.
fn remove(
    planner: &mut Planner,
    (key, object): (&Key, &Object),
    needs: Arc<[Need]>,
    state: State,
) -> Option<Need> {
    if let State::Due(action) = &state
        && let State::Failed(_) = planner.in_run(action.clone())
    {
        return None;
    }
    let id: Id = format!("remove/{}", object.uid).into();
    Some(planner.add(id, title(key), needs, state))
}
