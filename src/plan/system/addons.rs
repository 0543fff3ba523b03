//! Somebody else's objects: the network of the pods that the Shoot asks for, or an add-on.
//!
//! A ConfigMap lists what is there of a bundle, and the hash on it says that all of that was applied. Workloads carry our
//! labels, so that they are looked at; the other objects stay as their authors labelled them.

use crate::plan::planner::Planner;
use crate::render::metadata::labels;
use crate::render::system::addons::manifests::prepared;
use crate::render::system::context::Context;
use crate::render::system::objects::NAMESPACE;
use crate::state::action::{self, Action, Content, Wanted};
use crate::state::facts::{Fact, Inside};
use crate::state::failure::{Class, Failure};
use crate::state::hash::Hash;
use crate::state::key::{Key, Kind};
use crate::state::names::{self, BUNDLE, SPEC_HASH};
use crate::state::observed::Observed;
use crate::state::plan::{Need, State};
use crate::state::site::Site;
use crate::validate::{Bundle, ValidShoot};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::Arc;

/// Kinds that come up, and that are waited for.
const AWAITED: [Kind; 3] = [Kind::Deployment, Kind::DaemonSet, Kind::ApiService];

/// `own` are the objects of ours, which nobody else may bring.
pub(crate) fn add(
    planner: &mut Planner,
    context: &Context,
    bundle: &Bundle,
    own: &HashSet<Key>,
    needs: [Need; 2],
) -> Need {
    let observed = planner.observed;
    let is_seen = observed.facts.inside == Inside::Observed;
    let state = match bundle
        .objects
        .iter()
        .filter_map(key)
        .find(|it| own.contains(it))
    {
        Some(key) => {
            let message = format!("add-on {} has {key}, which kvshoot brings", bundle.name);
            State::Failed(Failure::new(Class::Foreign, message))
        }
        None if !is_seen => State::Blocked,
        None => {
            let objects = prepared(context.shoot, bundle);
            state(observed, &context.site, bundle, objects)
        }
    };
    let id = format!("bundle/{}", bundle.name);
    planner.add(id.into(), title(context.shoot, bundle), needs, state)
}

fn title(shoot: &ValidShoot, bundle: &Bundle) -> String {
    match shoot.networking.type_ == bundle.name {
        true => format!("Run {}, the network of the pods", bundle.name),
        false => format!("Apply add-on {}", bundle.name),
    }
}

fn state(observed: &Observed, site: &Site, bundle: &Bundle, mut objects: Vec<Value>) -> State {
    let facts = &observed.facts;
    let hash = Hash::of(&objects);
    let role = format!("bundle-{}", bundle.name);
    let mut awaited = Vec::new();
    for object in &mut objects {
        object["metadata"]["annotations"][BUNDLE] = json!(bundle.name);
        if let Some(key) = key(object).filter(|it| AWAITED.contains(&it.kind)) {
            for (key, value) in labels(site, &role) {
                object["metadata"]["labels"][key] = value;
            }
            awaited.push(key);
        }
    }
    let name = names::inventory(&bundle.name);
    let inventory = Key::shoot(Kind::ConfigMap, format!("{NAMESPACE}/{name}"));
    let is_applied = facts
        .objects
        .get(&inventory)
        .is_some_and(|it| it.hash == hash);
    let mut waits = None;
    let mut is_there = true;
    for key in awaited {
        match facts.objects.get(&key) {
            Some(it) if it.leaving => {
                return State::Waiting(format!("the old {key} to be gone"));
            }
            Some(it) => waits = waits.or_else(|| why(&key, &it.fact)),
            None => is_there = false,
        }
    }
    if is_applied && is_there {
        return waits.map_or(State::Done, State::Waiting);
    }
    let inventory = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "labels": labels(site, &role),
            "annotations": { SPEC_HASH: hash.to_string() },
        },
    });
    let name: Arc<str> = bundle.name.as_str().into();
    State::Due(Action::Apply(Wanted {
        key: Key::shoot(Kind::Component, role),
        hash,
        content: Content::Bundle(Arc::new(action::Bundle {
            name,
            inventory,
            objects,
        })),
    }))
}

fn why(key: &Key, fact: &Fact) -> Option<String> {
    let why = match fact {
        Fact::Rollout(rollout) => rollout.why.as_ref(),
        Fact::Answer(why) => why.as_ref(),
        _ => None,
    };
    why.map(|why| format!("{key}: {why}"))
}

/// None for kinds that are not looked at.
fn key(object: &Value) -> Option<Key> {
    let kind = Kind::generic(object["kind"].as_str()?)?;
    let metadata = &object["metadata"];
    let name = metadata["name"].as_str()?;
    Some(match metadata["namespace"].as_str() {
        Some(namespace) => Key::shoot(kind, format!("{namespace}/{name}")),
        None => Key::shoot(kind, name),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::facts::{Facts, Object, Rollout};
    use crate::validate::testing::{SHOOT, valid_for_tests};

    const SITE: Site = Site {
        id: "shoot--local--a",
        namespace: "provider",
        uid: "1",
    };

    fn bundle() -> Bundle {
        Bundle {
            name: "cilium".into(),
            objects: vec![
                json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "a" } }),
                json!({
                    "apiVersion": "apps/v1", "kind": "DaemonSet",
                    "metadata": { "name": "cilium", "namespace": "a" },
                    "spec": { "template": { "spec": { "containers": [
                        { "name": "cilium-agent", "image": "quay.io/cilium/cilium:v1" },
                    ] } } },
                }),
            ],
        }
    }

    fn judge(facts: &Facts, shoot: &ValidShoot) -> State {
        let observed = Observed {
            facts: Arc::new(facts.clone()),
            ..Observed::default()
        };
        let bundle = bundle();
        state(&observed, &SITE, &bundle, prepared(shoot, &bundle))
    }

    fn put(facts: &mut Facts, object: &Value, fact: Fact) {
        let hash = object["metadata"]["annotations"][SPEC_HASH].as_str();
        let object = (
            key(object).expect("a kind that is looked at"),
            Object {
                uid: "u".into(),
                version: "1".into(),
                hash: hash.and_then(Hash::parse).unwrap_or_default(),
                leaving: false,
                fact,
            },
        );
        facts.objects.extend([object]);
    }

    #[test]
    fn a_bundle_is_due_until_all_of_it_is_there_and_then_its_workloads_are_waited_for() {
        let shoot = valid_for_tests(SHOOT);
        let mut facts = Facts::default();
        let State::Due(Action::Apply(wanted)) = judge(&facts, &shoot) else {
            panic!("nothing is there");
        };
        let Content::Bundle(whole) = wanted.content else {
            panic!("it is a bundle");
        };
        put(&mut facts, &whole.inventory, Fact::None);
        assert!(matches!(judge(&facts, &shoot), State::Due(_)));
        let why = Some("0 of 1 pods are available".into());
        let rollout = Rollout { why, available: 0 };
        put(&mut facts, &whole.objects[1], Fact::Rollout(rollout));
        let told = "DaemonSet a/cilium: 0 of 1 pods are available";
        assert_eq!(judge(&facts, &shoot), State::Waiting(told.into()));
        put(
            &mut facts,
            &whole.objects[1],
            Fact::Rollout(Rollout::default()),
        );
        assert_eq!(judge(&facts, &shoot), State::Done);
        let mut other = shoot.clone();
        other.control_plane.registry = Some("registry.example.org".into());
        assert!(matches!(judge(&facts, &other), State::Due(_)));
    }

    #[test]
    fn images_come_from_the_registry_of_the_shoot() {
        let mut shoot = valid_for_tests(SHOOT);
        shoot.control_plane.registry = Some("registry.example.org/m".into());
        let objects = prepared(&shoot, &bundle());
        let image = &objects[1]["spec"]["template"]["spec"]["containers"][0]["image"];
        assert_eq!(image, "registry.example.org/m/cilium/cilium:v1");
    }
}
