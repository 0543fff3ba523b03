//! Items of third-party manifests: the pod network that the Shoot requests, or an add-on.
//!
//! A ConfigMap is the inventory of a manifest set, and the hash on it records that all of it was applied. Workloads carry
//! kvshoot's labels, so that they are observed; the other objects keep their own labels.

use crate::plan::planner::Planner;
use crate::render::metadata::labels;
use crate::render::system::addons::manifests::prepared;
use crate::render::system::context::SystemContext;
use crate::render::system::objects::NAMESPACE;
use crate::state::action::{self, Action, Desired, Payload};
use crate::state::facts::{ObjectStatus, ShootApi};
use crate::state::failure::{ErrorClass, Failure};
use crate::state::hash::Hash;
use crate::state::key::{ObjectKey, ObjectKind};
use crate::state::names::{self, BUNDLE, SPEC_HASH};
use crate::state::observed::Observed;
use crate::state::plan::{Dependency, ItemKind, ItemState};
use crate::state::site::Site;
use crate::validate::{ManifestSet, ValidShoot};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::Arc;

/// Kinds that become ready, and are waited for.
const AWAITED: [ObjectKind; 3] = [
    ObjectKind::Deployment,
    ObjectKind::DaemonSet,
    ObjectKind::ApiService,
];

/// Adds the item of a manifest set. `own` are kvshoot's own objects, which no manifest set may contain.
pub(crate) fn add(
    planner: &mut Planner,
    context: &SystemContext,
    bundle: &ManifestSet,
    own: &HashSet<ObjectKey>,
    needs: [Dependency; 2],
) -> Dependency {
    let observed = planner.observed;
    let is_seen = observed.facts.shoot_api == ShootApi::Reachable;
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
            ItemState::Failed(Failure::new(ErrorClass::Foreign, message))
        }
        None if !is_seen => ItemState::Blocked,
        None => {
            let objects = prepared(context.shoot, bundle);
            state(observed, &context.site, bundle, objects)
        }
    };
    let kind = ItemKind::AddOn(bundle.name.as_str().into());
    planner.add(kind, title(context.shoot, bundle), needs, state)
}

fn title(shoot: &ValidShoot, bundle: &ManifestSet) -> String {
    match shoot.networking.type_ == bundle.name {
        true => format!("Deploy pod network {}", bundle.name),
        false => format!("Deploy add-on {}", bundle.name),
    }
}

fn state(
    observed: &Observed,
    site: &Site,
    bundle: &ManifestSet,
    mut objects: Vec<Value>,
) -> ItemState {
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
    let inventory = ObjectKey::shoot(ObjectKind::ConfigMap, format!("{NAMESPACE}/{name}"));
    let is_applied = facts
        .objects
        .get(&inventory)
        .is_some_and(|it| it.hash == hash);
    let mut waits = None;
    let mut is_there = true;
    for key in awaited {
        match facts.objects.get(&key) {
            Some(it) if it.leaving => {
                return ItemState::Waiting(format!("the old {key} is terminating"));
            }
            Some(it) => waits = waits.or_else(|| why(&key, &it.status)),
            None => is_there = false,
        }
    }
    if is_applied && is_there {
        return waits.map_or(ItemState::Done, ItemState::Waiting);
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
    ItemState::Due(Action::Apply(Desired {
        key: ObjectKey::shoot(ObjectKind::Component, role),
        hash,
        payload: Payload::Manifests(Arc::new(action::AddonManifests {
            name,
            inventory,
            objects,
        })),
    }))
}

fn why(key: &ObjectKey, fact: &ObjectStatus) -> Option<String> {
    let why = match fact {
        ObjectStatus::Rollout(rollout) => rollout.why.as_ref(),
        ObjectStatus::Answer(why) => why.as_ref(),
        _ => None,
    };
    why.map(|why| format!("{key}: {why}"))
}

/// None for kinds that are not observed.
fn key(object: &Value) -> Option<ObjectKey> {
    let kind = ObjectKind::generic(object["kind"].as_str()?)?;
    let metadata = &object["metadata"];
    let name = metadata["name"].as_str()?;
    Some(match metadata["namespace"].as_str() {
        Some(namespace) => ObjectKey::shoot(kind, format!("{namespace}/{name}")),
        None => ObjectKey::shoot(kind, name),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::facts::{Facts, ObservedObject, Rollout};
    use crate::validate::testing::{SHOOT, valid_for_tests};

    const SITE: Site = Site {
        id: "shoot--local--a",
        namespace: "provider",
        uid: "1",
    };

    fn bundle() -> ManifestSet {
        ManifestSet {
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

    fn judge(facts: &Facts, shoot: &ValidShoot) -> ItemState {
        let observed = Observed {
            facts: Arc::new(facts.clone()),
            ..Observed::default()
        };
        let bundle = bundle();
        state(&observed, &SITE, &bundle, prepared(shoot, &bundle))
    }

    fn put(facts: &mut Facts, object: &Value, fact: ObjectStatus) {
        let hash = object["metadata"]["annotations"][SPEC_HASH].as_str();
        let object = (
            key(object).expect("an observed kind"),
            ObservedObject {
                uid: "u".into(),
                version: "1".into(),
                hash: hash.and_then(Hash::parse).unwrap_or_default(),
                leaving: false,
                status: fact,
            },
        );
        facts.objects.extend([object]);
    }

    #[test]
    fn a_manifest_set_is_due_until_it_is_complete_and_then_waits_for_its_workloads() {
        let shoot = valid_for_tests(SHOOT);
        let mut facts = Facts::default();
        let ItemState::Due(Action::Apply(wanted)) = judge(&facts, &shoot) else {
            panic!("nothing exists yet");
        };
        let Payload::Manifests(whole) = wanted.payload else {
            panic!("it is a set of manifests");
        };
        put(&mut facts, &whole.inventory, ObjectStatus::None);
        assert!(matches!(judge(&facts, &shoot), ItemState::Due(_)));
        let why = Some("0 of 1 pods available".into());
        let rollout = Rollout {
            why,
            ..Rollout::default()
        };
        put(
            &mut facts,
            &whole.objects[1],
            ObjectStatus::Rollout(rollout),
        );
        let reason = "DaemonSet a/cilium: 0 of 1 pods available";
        assert_eq!(judge(&facts, &shoot), ItemState::Waiting(reason.into()));
        put(
            &mut facts,
            &whole.objects[1],
            ObjectStatus::Rollout(Rollout::default()),
        );
        assert_eq!(judge(&facts, &shoot), ItemState::Done);
        let mut other = shoot.clone();
        other.control_plane.registry = Some("registry.example.org".into());
        assert!(matches!(judge(&facts, &other), ItemState::Due(_)));
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
