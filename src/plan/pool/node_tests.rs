use super::*;
use crate::render::machine::node::{NAMESPACE, ROLE, patch};
use crate::state::facts::{Facts, MachinePhase, ObjectStatus, ObservedNode, ObservedObject};
use crate::state::{names, testing};
use crate::validate::PoolSpec;
use crate::validate::testing::{SHOOT, valid_for_tests};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const MACHINE: &str = "shoot--dev--demo-cpu-z1-abcde-0";

fn pool() -> PoolSpec {
    valid_for_tests(SHOOT).pools.remove(0)
}

fn node(metadata: &Value) -> ObservedNode {
    ObservedNode {
        metadata: metadata.to_string().into(),
        ..testing::node()
    }
}

fn taint(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": value, "effect": "NoSchedule" })
}

#[test]
fn a_node_follows_the_metadata_of_its_pool() {
    let before = json!({ "labels": { "old": "1", "kept": "1", names::PART_OF: "x" }, "annotations": { "note": "1" } });
    let mut pool = pool();
    pool.labels = BTreeMap::from([("kept", "2"), ("new", "3"), ("kvshoot.io/pool", "x")])
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    let patch = patch(&node(&before), "clusters", &pool, "wanted");
    // In a merge patch fields that are not named stay, and null removes a field.
    let labels = json!({ "old": null, "kept": "2", "new": "3", ROLE: "" });
    assert_eq!(patch["metadata"]["labels"], labels);
    let annotations =
        json!({ "note": null, NAMESPACE: "clusters", names::POOL_METADATA: "wanted" });
    assert_eq!(patch["metadata"]["annotations"], annotations);
}

#[test]
fn taints_of_others_stay_and_those_of_the_pool_are_updated() {
    let before = json!({ "taints": [taint("gone", "1"), taint("changed", "1")] });
    let mut node = node(&before);
    let others = json!({ "key": "node.kubernetes.io/unreachable", "effect": "NoExecute" });
    // The same key with another effect is another taint, which does not belong to the pool.
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

/// The node has no metadata from kvshoot yet.
#[test]
fn nothing_is_removed_from_a_new_node() {
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
        shoot_api: ShootApi::Reachable,
        ..Facts::default()
    }
}

fn with_node(mut facts: Facts) -> Facts {
    facts.nodes.insert(MACHINE.into(), node(&json!({})));
    facts
}

fn with_machine(mut facts: Facts) -> Facts {
    let pool = BTreeMap::from([(MACHINE.into(), testing::machine(MachinePhase::Provisioning))]);
    facts.machines.insert("cpu".into(), pool);
    facts
}

fn with_token(mut facts: Facts) -> Facts {
    let token = ObservedObject {
        uid: "t".into(),
        version: "1".into(),
        hash: Hash(1),
        leaving: false,
        status: ObjectStatus::None,
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

/// Kinds of objects that are deleted.
fn going(observed: &Observed) -> Vec<ObjectKind> {
    let mut planner = Planner::new(observed);
    add(&mut planner);
    let items = planner.plan.items.iter().map(|item| match &item.state {
        ItemState::Due(Action::Delete(target)) => target.key.kind,
        other => panic!("{other:?}"),
    });
    items.collect()
}

#[test]
fn a_node_is_deleted_after_its_machine() {
    assert_eq!(going(&observed(with_node(inside()))), [ObjectKind::Node]);
    let both = with_machine(with_node(inside()));
    assert_eq!(going(&observed(both)), []);
    let mut others = with_node(inside());
    let node = others.nodes.values_mut().next().expect("one node");
    node.is_ours = false;
    assert_eq!(going(&observed(others)), []);
}

#[test]
fn a_token_is_deleted_after_its_node_has_joined() {
    let joins = with_token(with_machine(inside()));
    assert_eq!(going(&observed(joins.clone())), []);
    assert_eq!(
        going(&observed(with_node(joins))),
        [ObjectKind::BootstrapToken]
    );
    assert_eq!(
        going(&observed(with_token(inside()))),
        [ObjectKind::BootstrapToken]
    );
}

/// The token is written before the machine, which is not observed yet.
#[test]
fn the_token_and_node_of_a_machine_being_created_stay() {
    let observed = observed(with_token(inside()));
    let mut joined = observed.clone();
    joined.facts = with_node(inside()).into();
    let key = ObjectKey::provider(ObjectKind::Machine, MACHINE);
    let action = Action::Apply(Desired {
        key: key.clone(),
        hash: Hash(1),
        payload: Payload::Plain,
    });
    for mut observed in [observed, joined] {
        observed.sent.insert(key.clone(), action.clone());
        assert_eq!(going(&observed), []);
    }
}

#[test]
fn nothing_is_deleted_while_the_shoot_is_unreachable() {
    let mut facts = with_token(with_node(inside()));
    facts.shoot_api = ShootApi::Unreachable("no answer".into());
    assert_eq!(going(&observed(facts)), []);
}

#[test]
fn a_node_with_current_metadata_is_not_patched_again() {
    let (pool, name) = ("cpu".into(), MACHINE.into());
    let wanted = json!({ "labels": {} }).to_string();
    let mut facts = with_node(inside());
    let due = |facts: &Facts| metadata(&observed(facts.clone()), &pool, &name, &wanted).is_some();
    assert!(due(&facts));
    facts.shoot_api = ShootApi::Absent;
    assert!(!due(&facts));
    facts.shoot_api = ShootApi::Reachable;
    let node = facts.nodes.values_mut().next().expect("one node");
    node.metadata = wanted.as_str().into();
    assert!(!due(&facts));
    facts.nodes.clear();
    assert!(!due(&facts));
}
