//! Objects that are applied together and come up together: one item of a plan.

use crate::plan::deletion::{removal, title};
use crate::plan::planner::Planner;
use crate::render::component::Component;
use crate::state::action::{Action, Content, Wanted};
use crate::state::facts::{Fact, Inside};
use crate::state::hash::Hash;
use crate::state::key::{Key, Kind, Side};
use crate::state::names::{self};
use crate::state::observed::Observed;
use crate::state::plan::{Need, State};
use crate::state::site::Site;
use serde_json::Value;
use std::sync::Arc;

/// Adds the item of a component: due while an object is not as it is wanted, then waiting until all of it runs.
pub(crate) fn add(
    planner: &mut Planner,
    component: Component,
    side: Side,
    site: &Site,
    needs: impl Into<Arc<[Need]>>,
) -> Need {
    let id = format!("{}/{}", prefix(side), component.name);
    let key = Key {
        side,
        kind: Kind::Component,
        name: component.name.into(),
    };
    let title = component.title.clone();
    let objects = component.finished(side, site);
    let state = state(planner.observed, key, &objects);
    planner
        .plan
        .parts
        .extend(objects.into_iter().map(|it| it.0));
    planner.add(id.into(), title, needs, state)
}

/// Items for what is there and belongs to no component any more.
///
/// Controllers copy labels onto what they make, an EndpointSlice of a Service say, but not the hash.
pub(crate) fn unwanted(planner: &mut Planner) {
    let observed = planner.observed;
    let is_ours = |key: &Key| {
        let is_part = planner.plan.parts.contains(key) || names::is_inventory(&key.name);
        Kind::GENERIC.contains(&key.kind) && !is_part
    };
    let objects = observed.facts.objects.iter();
    let objects = objects.filter(|it| it.1.hash != Hash::default());
    let mut unwanted: Vec<_> = objects.filter(|it| is_ours(it.0)).collect();
    unwanted.sort_by_key(|it| it.0);
    for (key, object) in unwanted {
        let id = format!("remove/{}", object.uid);
        planner.add(id.into(), title(key), [], removal(key, object));
    }
}

fn prefix(side: Side) -> &'static str {
    match side {
        Side::Provider => "control-plane",
        Side::Shoot => "system",
    }
}

fn state(observed: &Observed, key: Key, objects: &[(Key, Hash, Value)]) -> State {
    let facts = &observed.facts;
    if key.side == Side::Shoot && facts.inside != Inside::Observed {
        return State::Blocked;
    }
    let mut due = Vec::new();
    let mut hashes = Vec::new();
    let mut waits = None;
    for (key, hash, object) in objects {
        match facts.objects.get(key) {
            Some(it) if it.leaving => {
                return State::Waiting(format!("the old {key} to be gone"));
            }
            Some(it) if it.hash == *hash => waits = waits.or_else(|| why(key, object, &it.fact)),
            _ => {
                due.push(object.clone());
                hashes.push(hash.to_string());
            }
        }
    }
    if !due.is_empty() {
        return State::Due(Action::Apply(Wanted {
            key,
            hash: Hash::of(&hashes),
            content: Content::Objects(due.into()),
        }));
    }
    let Some(waits) = waits else {
        return State::Done;
    };
    // Without a node nothing inside can run: that is waited for elsewhere, or has failed there.
    let is_idle = !facts.nodes.values().any(|it| it.serves);
    match key.side == Side::Shoot && is_idle {
        true => State::Blocked,
        false => State::Waiting(waits),
    }
}

/// What an object that is there as it is wanted still waits for.
fn why(key: &Key, object: &Value, fact: &Fact) -> Option<String> {
    match fact {
        Fact::Rollout(rollout) => rollout.why.as_ref().map(|why| format!("{key}: {why}")),
        Fact::Answer(why) => why.as_ref().map(|why| format!("{key}: {why}")),
        Fact::Service(it) if it.ingress.is_none() && object["spec"]["type"] == "LoadBalancer" => {
            Some(format!(
                "an address for {key}, of the provider's load balancer"
            ))
        }
        _ => None,
    }
}

#[cfg(test)]
#[path = "component_tests.rs"]
mod tests;
