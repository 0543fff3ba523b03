use super::*;
use crate::render::component::hash;
use crate::state::facts::{Facts, Object, Rollout, Service};
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
        title: "Run a".into(),
        objects: vec![
            object("Deployment", "apps/v1", json!({ "replicas": 1 })),
            object("Service", "v1", json!({ "type": "LoadBalancer" })),
        ],
    }
}

/// All of it as it is wanted, and these facts.
fn there(side: Side) -> Facts {
    let rollout = Fact::Rollout(Rollout::default());
    let service = Fact::Service(Service {
        ingress: Some("192.0.2.1".into()),
        ..Service::default()
    });
    let objects = component().finished(side, &SITE).into_iter();
    let objects = objects
        .zip([rollout, service])
        .map(|((key, hash, _), fact)| {
            let object = Object {
                uid: "u".into(),
                version: "1".into(),
                hash,
                leaving: false,
                fact,
            };
            (key, object)
        });
    Facts {
        objects: objects.collect(),
        inside: Inside::Observed,
        ..Facts::default()
    }
}

fn of(facts: &mut Facts, kind: Kind) -> &mut Object {
    let mut objects = facts.objects.iter_mut();
    let found = objects.find(|it| it.0.kind == kind);
    found.expect("it is there").1
}

/// The one item of it, in a plan whose first item is in this state.
fn item(facts: Facts, side: Side, first: State) -> State {
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

fn state_of(facts: Facts) -> State {
    item(facts, Side::Provider, State::Done)
}

/// Kinds of what is applied.
fn applied(state: &State) -> Vec<&str> {
    let State::Due(Action::Apply(Wanted {
        content: Content::Objects(objects),
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
fn an_address_that_is_asked_for_again_is_the_same_service() {
    let service = |address: Value| json!({ "kind": "Service", "spec": { "clusterIP": address } });
    let without = json!({ "kind": "Service", "spec": {} });
    let given = service(json!("10.0.0.1"));
    assert_eq!(hash(Side::Provider, &given), hash(Side::Provider, &without));
    assert_ne!(hash(Side::Shoot, &given), hash(Side::Shoot, &without));
    let none = service(json!("None"));
    assert_ne!(hash(Side::Provider, &none), hash(Side::Provider, &without));
}

#[test]
fn what_is_not_as_it_is_wanted_is_applied_and_nothing_else() {
    let all = state_of(Facts::default());
    assert_eq!(applied(&all), ["Deployment", "Service"]);
    let mut facts = there(Side::Provider);
    of(&mut facts, Kind::Service).hash = Hash(1);
    assert_eq!(applied(&state_of(facts)), ["Service"]);
}

#[test]
fn it_is_done_when_all_of_it_runs() {
    let facts = there(Side::Provider);
    assert_eq!(state_of(facts.clone()), State::Done);
    let waits = |kind: Kind, fact: Fact| {
        let mut facts = facts.clone();
        of(&mut facts, kind).fact = fact;
        match state_of(facts) {
            State::Waiting(why) => why,
            other => panic!("{other:?}"),
        }
    };
    let rollout = Fact::Rollout(Rollout {
        why: Some("0 of 1 pods are available".into()),
        available: 0,
    });
    let why = waits(Kind::Deployment, rollout);
    assert_eq!(why, "Deployment a: 0 of 1 pods are available");
    let why = waits(Kind::Service, Fact::Service(Service::default()));
    assert_eq!(
        why,
        "an address for Service a, of the provider's load balancer"
    );
}

#[test]
fn what_is_going_is_waited_for() {
    let mut facts = there(Side::Provider);
    of(&mut facts, Kind::Deployment).leaving = true;
    of(&mut facts, Kind::Service).hash = Hash(1);
    let gone = State::Waiting("the old Deployment a to be gone".into());
    assert_eq!(state_of(facts), gone);
}

#[test]
fn needs_hold_back_what_is_due_and_not_what_is_done() {
    let waits = || State::Waiting("something".into());
    let due = item(Facts::default(), Side::Provider, waits());
    assert_eq!(due, State::Blocked);
    assert_eq!(
        item(there(Side::Provider), Side::Provider, waits()),
        State::Done
    );
}

/// What is there cannot be seen, so neither is it written once more nor called done.
#[test]
fn nothing_is_known_of_a_shoot_that_is_not_looked_at() {
    let mut facts = there(Side::Shoot);
    assert_eq!(item(facts.clone(), Side::Shoot, State::Done), State::Done);
    facts.inside = Inside::Unreachable("no answer".into());
    assert_eq!(item(facts, Side::Shoot, State::Done), State::Blocked);
}

#[test]
fn objects_carry_what_they_are_found_by_and_go_with_their_record() {
    for (side, is_provider) in [(Side::Provider, true), (Side::Shoot, false)] {
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

/// Another record is another owner, and no reason to roll anything.
#[test]
fn the_hash_is_of_the_content_alone() {
    let other = Site {
        uid: "s",
        namespace: "elsewhere",
        ..SITE
    };
    let hashes = |site: &Site| {
        let all = component().finished(Side::Provider, site).into_iter();
        all.map(|it| it.1).collect::<Vec<_>>()
    };
    assert_eq!(hashes(&SITE), hashes(&other));
}

#[test]
fn what_belongs_to_no_component_any_more_goes() {
    let mut facts = there(Side::Provider);
    let key = Key::provider(Kind::Deployment, "former");
    let mut former = of(&mut facts, Kind::Deployment).clone();
    facts.objects.insert(key.clone(), former.clone());
    // What a controller makes has our labels, and not the hash.
    former.hash = Hash::default();
    facts
        .objects
        .insert(Key::provider(Kind::EndpointSlice, "a-x"), former);
    let observed = Observed {
        facts: facts.into(),
        ..Observed::default()
    };
    let mut planner = Planner::new(&observed);
    add(&mut planner, component(), Side::Provider, &SITE, []);
    unwanted(&mut planner);
    let plan = planner.plan;
    let titles: Vec<&str> = plan.items.iter().map(|it| it.title.as_str()).collect();
    assert_eq!(titles, ["Run a", "Remove Deployment former"]);
    assert!(matches!(&plan.items[1].state, State::Due(Action::Delete(it)) if it.key == key));
}
