use super::*;
use crate::plan::preview::first_apply;
use crate::state::facts::{Evacuation, MachinePhase, ObservedMachine, ObservedRecord};
use crate::state::hash::Hash;
use crate::state::names::SPEC_HASH;
use crate::state::testing::machine;
use crate::validate::testing::{SHOOT, WIDE, today, valid_for_tests};
use serde_json::json;
use std::collections::BTreeMap;

const HASH: &str = "000000000000000a";

fn record(history: &str) -> RecordSnapshot {
    RecordSnapshot {
        namespace: "ns".into(),
        name: "shoot--local--a".into(),
        uid: "u".into(),
        version: "1".into(),
        created: None,
        leaving: false,
        annotations: BTreeMap::from([(SPEC_HASH.to_owned(), HASH.to_owned())]),
        data: BTreeMap::from([(HISTORY.to_owned(), history.to_owned())]),
    }
}

fn due(machines: &[&str]) -> DueShoot {
    DueShoot {
        record: record("[]"),
        machines: machines.iter().map(|it| (*it).into()).collect(),
        has_requests: false,
    }
}

fn facts(is_evacuated: bool) -> Facts {
    let machine = ObservedMachine {
        evacuation: is_evacuated.then_some(Evacuation::Migration),
        ..machine(MachinePhase::Ready)
    };
    let record = ObservedRecord {
        name: "shoot--local--a".into(),
        uid: "u".into(),
        hash: Hash::parse(HASH).unwrap(),
        ..ObservedRecord::default()
    };
    Facts {
        record: Some(record),
        machines: BTreeMap::from([("cpu".into(), BTreeMap::from([("m-0".into(), machine)]))]),
        ..Facts::default()
    }
}

#[test]
fn a_change_before_the_lock_is_respected() {
    let due = due(&["m-0"]);
    let skipped = |facts: Facts| due.skip_if(&facts).unwrap_or_default();
    assert_eq!(skipped(facts(true)), "");
    assert!(skipped(facts(false)).ends_with("no machines on draining nodes"));
    assert!(skipped(Facts::default()).ends_with("was deleted"));
    let with = |change: fn(&mut ObservedRecord)| {
        let mut facts = facts(true);
        facts.record.iter_mut().for_each(change);
        skipped(facts)
    };
    assert!(with(|it| it.leaving = true).ends_with("is being deleted"));
    assert!(with(|it| it.uid = "another".into()).ends_with("is being deleted"));
    assert!(with(|it| it.hash = Hash::default()).ends_with("was changed by another run"));
}

#[test]
fn an_unfinished_evacuation_is_resumed() {
    let run = |verb: &str, result: &str| json!([{ "id": "1", "verb": verb, "started": "", "seconds": 1, "result": result }]);
    let has_failed = |history: serde_json::Value| has_failed(&record(&history.to_string()));
    assert!(has_failed(run("evacuate", "timeout")));
    assert!(!has_failed(run("evacuate", "converged")));
    assert!(!has_failed(run("apply", "timeout")));
    assert!(!has_failed(json!([])));
    assert!(!has_failed(json!("not a history")));
    assert_eq!(due(&[]).skip_if(&facts(false)), None);
}

#[test]
fn the_machines_on_draining_nodes_are_named() {
    assert_eq!(due(&["m-0"]).why(), "machine m-0 is on a draining node");
    assert_eq!(
        due(&["m-0", "m-1"]).why(),
        "machines m-0, m-1 are on draining nodes"
    );
    let requests = DueShoot {
        has_requests: true,
        ..due(&[])
    };
    assert_eq!(requests.why(), "kubelets have requested certificates");
}

/// A profile offers more than the pools use, and some of it is deployed: its volume types are StorageClasses.
#[test]
fn the_record_deploys_what_was_applied() {
    for manifest in [SHOOT, WIDE] {
        let applied = valid_for_tests(manifest);
        let facts = Facts::default();
        let objects = first_apply(&applied, &facts);
        let is_record = |it: &&serde_json::Value| it["metadata"]["name"] == applied.id.as_str();
        let record = objects.iter().map(|it| &it.1).find(is_record);
        let data = record.expect("a record")["data"].clone();
        let data = serde_json::from_value(data).expect("texts");
        let recorded = recorded_shoot(&applied.id, &data, today());
        let recorded = first_apply(&recorded.expect("a Shoot"), &facts);
        assert_eq!(objects, recorded);
    }
}
