//! Objects that are applied together and come up together: one item of a plan.

use super::item::{Content, Key, Kind, Need, Plan, Side, State, Wanted};
use super::names::{self, COMPONENT, KVSHOOT, MANAGED_BY, PART_OF, SHOOT_UID, SPEC_HASH};
use super::object::owner;
use super::observed::{Fact, Inside, Observed};
use super::shared::{removal, title};
use super::{Action, Hash, Site};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// What a part of a cluster consists of. Objects hold what tells them apart, their labels and their content; what all
/// objects have in common is put on here.
#[derive(Debug)]
pub(super) struct Component {
    /// Value of the label `app.kubernetes.io/component`.
    pub(super) name: &'static str,
    /// A sentence.
    pub(super) title: String,
    pub(super) objects: Vec<Value>,
}

impl Component {
    /// Adds the item: due while an object is not as it is wanted, then waiting until all of it runs.
    pub(super) fn add(
        self,
        plan: &mut Plan,
        observed: &Observed,
        side: Side,
        site: &Site,
        needs: impl Into<Arc<[Need]>>,
    ) -> Need {
        let id = format!("{}/{}", prefix(side), self.name);
        let key = Key {
            side,
            kind: Kind::Component,
            name: self.name.into(),
        };
        let title = self.title.clone();
        let objects = self.finished(side, site);
        let state = state(observed, key, &objects);
        plan.parts.extend(objects.into_iter().map(|it| it.0));
        plan.add(observed, id.into(), title, needs, state)
    }

    /// What its objects are called.
    pub(super) fn keys(&self, side: Side, site: &Site) -> Vec<Key> {
        let objects = self.objects.iter();
        objects
            .map(|it| finish(side, site, self.name, it.clone()).0)
            .collect()
    }

    /// The objects as they are sent, with their keys and hashes.
    pub(super) fn finished(self, side: Side, site: &Site) -> Vec<(Key, Hash, Value)> {
        let name = self.name;
        let objects = self.objects.into_iter();
        objects
            .map(|object| finish(side, site, name, object))
            .collect()
    }
}

/// Items for what is there and belongs to no component any more.
///
/// Controllers copy labels onto what they make, an EndpointSlice of a Service say, but not the hash.
pub(super) fn unwanted(plan: &mut Plan, observed: &Observed) {
    let is_ours = |key: &Key| {
        let is_part = plan.parts.contains(key) || names::is_inventory(&key.name);
        Kind::GENERIC.contains(&key.kind) && !is_part
    };
    let objects = observed.facts.objects.iter();
    let objects = objects.filter(|it| it.1.hash != Hash::default());
    let mut unwanted: Vec<_> = objects.filter(|it| is_ours(it.0)).collect();
    unwanted.sort_by_key(|it| it.0);
    for (key, object) in unwanted {
        let id = format!("remove/{}", object.uid);
        plan.add(observed, id.into(), title(key), [], removal(key, object));
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
                return State::Waiting(format!("old {key} is being deleted"));
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
            Some(format!("{key}: no load balancer address assigned yet"))
        }
        _ => None,
    }
}

/// An address that the provider assigned once is asked for again, and is no wish of ours.
fn hash(side: Side, object: &Value) -> Hash {
    let address = &object["spec"]["clusterIP"];
    let is_given = side == Side::Provider && object["kind"] == "Service";
    if !is_given || address.is_null() || address == "None" {
        return Hash::of(object);
    }
    let mut object = object.clone();
    object["spec"]
        .as_object_mut()
        .map(|it| it.remove("clusterIP"));
    Hash::of(&object)
}

fn finish(side: Side, site: &Site, component: &str, mut object: Value) -> (Key, Hash, Value) {
    let hash = hash(side, &object);
    let kind = object["kind"].as_str().and_then(Kind::generic);
    let kind = kind.expect("components are made of kinds that are looked at");
    let metadata = &mut object["metadata"];
    if side == Side::Provider {
        metadata["namespace"] = json!(site.namespace);
        metadata["ownerReferences"] = json!([owner(site)]);
    }
    let common = [
        (MANAGED_BY, KVSHOOT),
        (PART_OF, site.id),
        (COMPONENT, component),
        (SHOOT_UID, site.uid),
    ];
    let labels = &mut metadata["labels"];
    if labels.is_null() {
        *labels = Value::Object(Map::new());
    }
    for (key, value) in common {
        labels[key] = json!(value);
    }
    metadata["annotations"][SPEC_HASH] = json!(hash.to_string());
    let name = metadata["name"].as_str().unwrap_or_default();
    let name = match (side, metadata["namespace"].as_str()) {
        (Side::Shoot, Some(namespace)) => format!("{namespace}/{name}"),
        _ => name.to_owned(),
    };
    let key = Key {
        side,
        kind,
        name: name.into(),
    };
    (key, hash, object)
}

#[cfg(test)]
#[path = "component_tests.rs"]
mod tests;
