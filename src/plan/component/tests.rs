use super::*;
use crate::render::component::hash;
use crate::state::facts::{Facts, ObservedObject, ObservedService, Rollout};
use crate::state::names::{COMPONENT, KVSHOOT, MANAGED_BY, PART_OF, SHOOT_UID, SPEC_HASH};
use serde_json::json;

const SITE: Site = Site {
    id: "shoot--dev--demo",
    namespace: "clusters",
    uid: "r",
};

fn component() -> Component {
    let object = |kind: &str, version: &str, spec: Value| json!({ "apiVersion": version, "kind": kind, "metadata": { "name": "a", "labels": { "app": "a" } }, "spec": spec });
    Component {
        name: "a",
        title: "Deploy a".into(),
        objects: vec![
            object("Deployment", "apps/v1", json!({ "replicas": 1 })),
            object("Service", "v1", json!({ "type": "LoadBalancer" })),
        ],
    }
}

/// Facts in which all objects are up to date.
fn there(side: ClusterSide) -> Facts {
    let rollout = ObjectStatus::Rollout(Rollout::default());
    let service = ObjectStatus::Service(ObservedService {
        ingress: Some("192.0.2.1".into()),
        ..ObservedService::default()
    });
    let objects = component().finished(side, &SITE).into_iter();
    let objects = objects
        .zip([rollout, service])
        .map(|((key, hash, _), fact)| {
            let object = ObservedObject {
                uid: "u".into(),
                version: "1".into(),
                hash,
                leaving: false,
                status: fact,
            };
            (key, object)
        });
    Facts {
        objects: objects.collect(),
        shoot_api: ShootApi::Reachable,
        ..Facts::default()
    }
}

fn of(facts: &mut Facts, kind: ObjectKind) -> &mut ObservedObject {
    let mut objects = facts.objects.iter_mut();
    let found = objects.find(|it| it.0.kind == kind);
    found.expect("it exists").1
}

/// State of the component's item in a plan whose first item is in this state.
fn item(facts: Facts, side: ClusterSide, first: ItemState) -> ItemState {
    let observed = Observed {
        facts: facts.into(),
        ..Observed::default()
    };
    let mut planner = Planner::new(&observed);
    let id = "first".to_owned();
    let need = planner.add(id.into(), "First".into(), [], first);
    add(&mut planner, component(), side, &SITE, [need]);
    let mut plan = planner.plan;
    assert_eq!(plan.items.len(), 2);
    assert_eq!(plan.parts.len(), 2);
    plan.items.remove(1).state
}

fn state_of(facts: Facts) -> ItemState {
    item(facts, ClusterSide::Provider, ItemState::Done)
}

/// Kinds of the objects that are applied.
fn applied(state: &ItemState) -> Vec<&str> {
    let ItemState::Due(Action::Apply(Desired {
        payload: Payload::Objects(objects),
        ..
    })) = state
    else {
        panic!("{state:?}");
    };
    objects
        .iter()
        .filter_map(|it| it["kind"].as_str())
        .collect()
}

#[test]
fn an_assigned_address_does_not_change_the_hash_of_a_service() {
    let service = |address: Value| json!({ "kind": "Service", "spec": { "clusterIP": address } });
    let without = json!({ "kind": "Service", "spec": {} });
    let given = service(json!("10.0.0.1"));
    assert_eq!(
        hash(ClusterSide::Provider, &given),
        hash(ClusterSide::Provider, &without)
    );
    assert_ne!(
        hash(ClusterSide::Shoot, &given),
        hash(ClusterSide::Shoot, &without)
    );
    let none = service(json!("None"));
    assert_ne!(
        hash(ClusterSide::Provider, &none),
        hash(ClusterSide::Provider, &without)
    );
}

#[test]
fn only_objects_that_differ_are_applied() {
    let all = state_of(Facts::default());
    assert_eq!(applied(&all), ["Deployment", "Service"]);
    let mut facts = there(ClusterSide::Provider);
    of(&mut facts, ObjectKind::Service).hash = Hash(1);
    assert_eq!(applied(&state_of(facts)), ["Service"]);
}

#[test]
fn a_component_is_done_when_everything_runs() {
    let facts = there(ClusterSide::Provider);
    assert_eq!(state_of(facts.clone()), ItemState::Done);
    let waits = |kind: ObjectKind, fact: ObjectStatus| {
        let mut facts = facts.clone();
        of(&mut facts, kind).status = fact;
        match state_of(facts) {
            ItemState::Waiting(why) => why,
            other => panic!("{other:?}"),
        }
    };
    let rollout = ObjectStatus::Rollout(Rollout {
        why: Some("0 of 1 pods available".into()),
        available: 0,
        etcd: None,
    });
    let why = waits(ObjectKind::Deployment, rollout);
    assert_eq!(why, "Deployment a: 0 of 1 pods available");
    let why = waits(
        ObjectKind::Service,
        ObjectStatus::Service(ObservedService::default()),
    );
    assert_eq!(
        why,
        "Service a: the provider's load balancer has no address yet"
    );
}

#[test]
fn a_terminating_object_is_waited_for() {
    let mut facts = there(ClusterSide::Provider);
    of(&mut facts, ObjectKind::Deployment).leaving = true;
    of(&mut facts, ObjectKind::Service).hash = Hash(1);
    let gone = ItemState::Waiting("the old Deployment a is terminating".into());
    assert_eq!(state_of(facts), gone);
}

#[test]
fn dependencies_hold_back_due_items_and_not_done_ones() {
    let waits = || ItemState::Waiting("something".into());
    let due = item(Facts::default(), ClusterSide::Provider, waits());
    assert_eq!(due, ItemState::Blocked);
    assert_eq!(
        item(there(ClusterSide::Provider), ClusterSide::Provider, waits()),
        ItemState::Done
    );
}

/// Existing objects are unknown, so they are neither applied again nor treated as done.
#[test]
fn items_of_an_unreachable_shoot_are_blocked() {
    let mut facts = there(ClusterSide::Shoot);
    assert_eq!(
        item(facts.clone(), ClusterSide::Shoot, ItemState::Done),
        ItemState::Done
    );
    facts.shoot_api = ShootApi::Unreachable("no answer".into());
    assert_eq!(
        item(facts, ClusterSide::Shoot, ItemState::Done),
        ItemState::Blocked
    );
}

#[test]
fn objects_carry_labels_and_an_owner_reference_to_their_record() {
    for (side, is_provider) in [(ClusterSide::Provider, true), (ClusterSide::Shoot, false)] {
        for (_, hash, object) in component().finished(side, &SITE) {
            let metadata = &object["metadata"];
            let labels = json!({ "app": "a", MANAGED_BY: KVSHOOT, PART_OF: SITE.id, COMPONENT: "a", SHOOT_UID: "r" });
            assert_eq!(metadata["labels"], labels);
            assert_eq!(metadata["annotations"][SPEC_HASH], hash.to_string());
            assert_eq!(metadata["namespace"] == "clusters", is_provider);
            assert_eq!(metadata["ownerReferences"][0]["uid"] == "r", is_provider);
        }
    }
}

/// Another record means another owner, but does not cause a rollout.
#[test]
fn the_hash_depends_on_the_content_alone() {
    let other = Site {
        uid: "s",
        namespace: "elsewhere",
        ..SITE
    };
    let hashes = |site: &Site| {
        let all = component()
            .finished(ClusterSide::Provider, site)
            .into_iter();
        all.map(|it| it.1).collect::<Vec<_>>()
    };
    assert_eq!(hashes(&SITE), hashes(&other));
}

#[test]
fn objects_that_left_their_component_are_deleted() {
    let mut facts = there(ClusterSide::Provider);
    let key = ObjectKey::provider(ObjectKind::Deployment, "former");
    let mut former = of(&mut facts, ObjectKind::Deployment).clone();
    facts.objects.insert(key.clone(), former.clone());
    // An object created by a controller has our labels, but no hash.
    former.hash = Hash::default();
    facts.objects.insert(
        ObjectKey::provider(ObjectKind::EndpointSlice, "a-x"),
        former,
    );
    let observed = Observed {
        facts: facts.into(),
        ..Observed::default()
    };
    let mut planner = Planner::new(&observed);
    let need = add(&mut planner, component(), ClusterSide::Provider, &SITE, []);
    unwanted(&mut planner, need);
    let plan = planner.plan;
    let titles: Vec<&str> = plan.items.iter().map(|it| it.title.as_str()).collect();
    assert_eq!(titles, ["Deploy a", "Delete Deployment former"]);
    assert!(matches!(&plan.items[1].state, ItemState::Due(Action::Delete(it)) if it.key == key));
}

#[test]
fn a_class_is_deleted_only_unless_volumes_use_it() {
    let mut facts = Facts::default();
    let key = ObjectKey::shoot(ObjectKind::StorageClass, "former");
    let class = of(&mut there(ClusterSide::Shoot), ObjectKind::Deployment).clone();
    facts.objects.insert(key, class.clone());
    // The executor takes the hash from a class that volumes use, so that nothing is planned for it again.
    let left = ObservedObject {
        hash: Hash::default(),
        ..class
    };
    facts
        .objects
        .insert(ObjectKey::shoot(ObjectKind::StorageClass, "left"), left);
    let observed = Observed {
        facts: facts.into(),
        ..Observed::default()
    };
    let mut planner = Planner::new(&observed);
    let need = planner.add(
        ItemKind::deletion(&ObjectKey::provider(ObjectKind::Record, "r"), &"u".into()),
        String::new(),
        [],
        ItemState::Done,
    );
    unwanted(&mut planner, need);
    let titles = planner.plan.items.iter().map(|it| it.title.as_str());
    assert_eq!(
        titles.collect::<Vec<_>>(),
        ["", "Delete StorageClass former unless volumes use it"]
    );
}
