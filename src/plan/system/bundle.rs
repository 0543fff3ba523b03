//! Third-party manifests: the pod network that the Shoot asks for, and add-ons.
//!
//! A ConfigMap lists the objects of each set, and its hash shows that all of them were applied. Workloads carry
//! kvshoot's labels, so that they are observed; the other objects keep their authors' labels.

use super::objects::NAMESPACE;
use super::{Context, calico};
use crate::plan::images::from_registry;
use crate::plan::item::{
    self, Action, Class, Content, Failure, Key, Kind, Need, Plan, State, Wanted,
};
use crate::plan::names::{self, BUNDLE, SPEC_HASH};
use crate::plan::object::labels;
use crate::plan::observed::{Fact, Inside, Observed};
use crate::plan::{Hash, Site};
use crate::validate::{Bundle, ValidShoot};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::Arc;

/// Kinds with a readiness that is waited for.
const AWAITED: [Kind; 3] = [Kind::Deployment, Kind::DaemonSet, Kind::ApiService];

/// `own` are the objects that kvshoot manages, which a set must not contain.
pub(super) fn add(
    plan: &mut Plan,
    observed: &Observed,
    context: &Context,
    bundle: &Bundle,
    own: &HashSet<Key>,
    needs: [Need; 2],
) -> Need {
    let is_seen = observed.facts.inside == Inside::Observed;
    let state = match bundle
        .objects
        .iter()
        .filter_map(key)
        .find(|it| own.contains(it))
    {
        Some(key) => {
            let message = format!(
                "add-on {} contains {key}, which kvshoot manages",
                bundle.name
            );
            State::Failed(Failure::new(Class::Foreign, message))
        }
        None if !is_seen => State::Blocked,
        None => {
            let objects = prepared(context.shoot, bundle);
            state(observed, &context.site, bundle, objects)
        }
    };
    let id = format!("bundle/{}", bundle.name);
    plan.add(
        observed,
        id.into(),
        title(context.shoot, bundle),
        needs,
        state,
    )
}

fn title(shoot: &ValidShoot, bundle: &Bundle) -> String {
    match shoot.networking.type_ == bundle.name {
        true => format!("Deploy pod network {}", bundle.name),
        false => format!("Deploy add-on {}", bundle.name),
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
                return State::Waiting(format!("old {key} is being deleted"));
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
        content: Content::Bundle(Arc::new(item::Bundle {
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

/// Returns None for kinds that are not observed.
fn key(object: &Value) -> Option<Key> {
    let kind = Kind::generic(object["kind"].as_str()?)?;
    let metadata = &object["metadata"];
    let name = metadata["name"].as_str()?;
    Some(match metadata["namespace"].as_str() {
        Some(namespace) => Key::shoot(kind, format!("{namespace}/{name}")),
        None => Key::shoot(kind, name),
    })
}

/// Adapts the objects to the shoot: its registry, and the address ranges of a pod network.
fn prepared(shoot: &ValidShoot, bundle: &Bundle) -> Vec<Value> {
    let mut objects = bundle.objects.clone();
    for object in &mut objects {
        if let Some(registry) = &shoot.control_plane.registry {
            images(object, registry);
        }
        if bundle.name == calico::NAME {
            calico::fit(object, &shoot.networking);
        }
        let is_namespaced = matches!(object["kind"].as_str(), Some("Deployment" | "DaemonSet"));
        if is_namespaced && object["metadata"]["namespace"].is_null() {
            object["metadata"]["namespace"] = json!("default");
        }
    }
    objects
}

/// Rewrites images in pod specs, which are at one of three paths.
fn images(object: &mut Value, registry: &str) {
    for place in [
        "/spec/template/spec",
        "/spec/jobTemplate/spec/template/spec",
        "/spec",
    ] {
        for containers in ["initContainers", "containers"] {
            let containers = object.pointer_mut(&format!("{place}/{containers}"));
            for container in containers
                .and_then(Value::as_array_mut)
                .into_iter()
                .flatten()
            {
                if let Some(image) = container["image"].as_str() {
                    container["image"] = json!(from_registry(image, registry));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::observed::{Facts, Object, Rollout};
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
            key(object).expect("an observed kind"),
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
    fn a_set_is_due_until_all_of_it_exists_and_then_waits_for_its_workloads() {
        let shoot = valid_for_tests(SHOOT);
        let mut facts = Facts::default();
        let State::Due(Action::Apply(wanted)) = judge(&facts, &shoot) else {
            panic!("nothing exists yet");
        };
        let Content::Bundle(manifests) = wanted.content else {
            panic!("it is a set of manifests");
        };
        put(&mut facts, &manifests.inventory, Fact::None);
        assert!(matches!(judge(&facts, &shoot), State::Due(_)));
        let why = Some("0 of 1 pods available".into());
        let rollout = Rollout { why, available: 0 };
        put(&mut facts, &manifests.objects[1], Fact::Rollout(rollout));
        let expected = "DaemonSet a/cilium: 0 of 1 pods available";
        assert_eq!(judge(&facts, &shoot), State::Waiting(expected.into()));
        put(
            &mut facts,
            &manifests.objects[1],
            Fact::Rollout(Rollout::default()),
        );
        assert_eq!(judge(&facts, &shoot), State::Done);
        let mut other = shoot.clone();
        other.control_plane.registry = Some("registry.example.org".into());
        assert!(matches!(judge(&facts, &other), State::Due(_)));
    }

    #[test]
    fn images_are_pulled_from_the_registry_of_the_shoot() {
        let mut shoot = valid_for_tests(SHOOT);
        shoot.control_plane.registry = Some("registry.example.org/m".into());
        let objects = prepared(&shoot, &bundle());
        let image = &objects[1]["spec"]["template"]["spec"]["containers"][0]["image"];
        assert_eq!(image, "registry.example.org/m/cilium/cilium:v1");
    }
}
