use super::*;
use crate::render::machine::node::{NAMESPACE, ROLE, patch};
use crate::state::facts::{Fact, Facts, Look, Node, Object};
use crate::state::{names, testing};
use crate::validate::Pool;
use crate::validate::testing::{SHOOT, valid_for_tests};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const MACHINE: &str = "shoot--dev--demo-cpu-z1-abcde-0";

fn pool() -> Pool {
    valid_for_tests(SHOOT).pools.remove(0)
}

fn node(metadata: &Value) -> Node {
    Node {
        metadata: metadata.to_string().into(),
        ..testing::node()
    }
}

fn taint(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": value, "effect": "NoSchedule" })
}

#[test]
fn a_node_gets_what_its_pool_wants_and_loses_what_it_no_longer_wants() {
    let before = json!({ "labels": { "old": "1", "kept": "1", names::PART_OF: "x" }, "annotations": { "note": "1" } });
    let mut pool = pool();
    pool.labels = BTreeMap::from([("kept", "2"), ("new", "3"), ("kvshoot.io/pool", "x")])
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    let patch = patch(&node(&before), "clusters", &pool, "wanted");
    // What is not named in a merge patch stays, and null takes away.
    let labels = json!({ "old": null, "kept": "2", "new": "3", ROLE: "" });
    assert_eq!(patch["metadata"]["labels"], labels);
    let annotations =
        json!({ "note": null, NAMESPACE: "clusters", names::POOL_METADATA: "wanted" });
    assert_eq!(patch["metadata"]["annotations"], annotations);
}

#[test]
fn taints_of_others_stay_and_those_of_the_pool_follow_it() {
    let before = json!({ "taints": [taint("gone", "1"), taint("changed", "1")] });
    let mut node = node(&before);
    let others = json!({ "key": "node.kubernetes.io/unreachable", "effect": "NoExecute" });
    // The same key with another effect is another taint, and not the pool's.
    let effect = json!({ "key": "gone", "effect": "NoExecute" });
    node.taints = [
        others.clone(),
        taint("gone", "1"),
        effect.clone(),
        taint("changed", "1"),
    ]
    .into();
    let mut pool = pool();
    let wanted = taint("changed", "2");
    pool.taints = vec![serde_json::from_value(wanted.clone()).expect("a taint")];
    let patch = patch(&node, "clusters", &pool, "wanted");
    assert_eq!(patch["spec"]["taints"], json!([others, effect, wanted]));
}

/// Of one that nobody has put anything on.
#[test]
fn a_new_node_loses_nothing() {
    let mut node = node(&Value::Null);
    node.metadata = "".into();
    node.taints = [taint("a.kubelet/put-it", "1")].into();
    let patch = patch(&node, "clusters", &pool(), "wanted");
    assert_eq!(patch["metadata"]["labels"], json!({ ROLE: "" }));
    assert_eq!(
        patch["spec"]["taints"],
        json!([taint("a.kubelet/put-it", "1")])
    );
}

fn inside() -> Facts {
    Facts {
        inside: Inside::Observed,
        ..Facts::default()
    }
}

fn with_node(mut facts: Facts) -> Facts {
    facts.nodes.insert(MACHINE.into(), node(&json!({})));
    facts
}

fn with_machine(mut facts: Facts) -> Facts {
    let pool = BTreeMap::from([(MACHINE.into(), testing::machine(Look::Coming))]);
    facts.machines.insert("cpu".into(), pool);
    facts
}

fn with_token(mut facts: Facts) -> Facts {
    let token = Object {
        uid: "t".into(),
        version: "1".into(),
        hash: Hash(1),
        leaving: false,
        fact: Fact::None,
    };
    facts.objects.insert(token::key(MACHINE), token);
    facts
}

fn observed(facts: Facts) -> Observed {
    Observed {
        facts: facts.into(),
        ..Observed::default()
    }
}

/// Names of what goes.
fn going(observed: &Observed) -> Vec<Kind> {
    let mut planner = Planner::new(observed);
    add(&mut planner);
    let items = planner.plan.items.iter().map(|it| match &it.state {
        State::Due(Action::Delete(it)) => it.key.kind,
        other => panic!("{other:?}"),
    });
    items.collect()
}

#[test]
fn a_node_goes_when_its_machine_is_gone() {
    assert_eq!(going(&observed(with_node(inside()))), [Kind::Node]);
    let both = with_machine(with_node(inside()));
    assert_eq!(going(&observed(both)), []);
    let mut others = with_node(inside());
    let node = others.nodes.values_mut().next().expect("there is one");
    node.is_ours = false;
    assert_eq!(going(&observed(others)), []);
}

#[test]
fn a_token_goes_when_its_node_is_there_and_not_before() {
    let joins = with_token(with_machine(inside()));
    assert_eq!(going(&observed(joins.clone())), []);
    assert_eq!(going(&observed(with_node(joins))), [Kind::Token]);
    assert_eq!(going(&observed(with_token(inside()))), [Kind::Token]);
}

/// It is written before the machine, which nobody has seen yet.
#[test]
fn the_token_or_node_of_a_machine_that_is_being_made_stays() {
    let observed = observed(with_token(inside()));
    let mut joined = observed.clone();
    joined.facts = with_node(inside()).into();
    let key = Key::provider(Kind::Machine, MACHINE);
    let action = Action::Apply(Wanted {
        key: key.clone(),
        hash: Hash(1),
        content: Content::Plain,
    });
    for mut observed in [observed, joined] {
        observed.sent.insert(key.clone(), action.clone());
        assert_eq!(going(&observed), []);
    }
}

#[test]
fn nothing_goes_while_the_shoot_is_not_looked_at() {
    let mut facts = with_token(with_node(inside()));
    facts.inside = Inside::Unreachable("no answer".into());
    assert_eq!(going(&observed(facts)), []);
}

#[test]
fn a_node_is_labelled_once() {
    let (pool, name) = ("cpu".into(), MACHINE.into());
    let wanted = json!({ "labels": {} }).to_string();
    let mut facts = with_node(inside());
    let due = |facts: &Facts| metadata(&observed(facts.clone()), &pool, &name, &wanted).is_some();
    assert!(due(&facts));
    facts.inside = Inside::Absent;
    assert!(!due(&facts));
    facts.inside = Inside::Observed;
    let node = facts.nodes.values_mut().next().expect("there is one");
    node.metadata = wanted.as_str().into();
    assert!(!due(&facts));
    facts.nodes.clear();
    assert!(!due(&facts));
}
