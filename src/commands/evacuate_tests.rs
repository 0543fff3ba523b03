use super::*;
use crate::state::facts::{MachinePhase, ObservedMachine, ObservedRecord};
use crate::state::testing::machine;
use serde_json::json;
use std::collections::BTreeMap;

const HASH: &str = "000000000000000a";

fn record(history: &str) -> RecordSeen {
    RecordSeen {
        namespace: "ns".into(),
        name: "shoot--local--a".into(),
        uid: "u".into(),
        created: None,
        leaving: false,
        annotations: BTreeMap::from([(SPEC_HASH.to_owned(), HASH.to_owned())]),
        data: BTreeMap::from([(HISTORY.to_owned(), history.to_owned())]),
    }
}

fn due(machines: &[&str]) -> Due {
    Due {
        record: record("[]"),
        machines: machines.iter().map(|it| (*it).into()).collect(),
    }
}

fn facts(evacuating: bool) -> Facts {
    let machine = ObservedMachine {
        evacuating,
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
fn what_was_done_before_the_lock_was_taken_wins() {
    let due = due(&["m-0"]);
    let told = |facts: Facts| due.stays(&facts).unwrap_or_default();
    assert_eq!(told(facts(true)), "");
    assert!(told(facts(false)).ends_with("no machine any more that has to go"));
    assert!(told(Facts::default()).ends_with("is gone"));
    let with = |change: fn(&mut ObservedRecord)| {
        let mut facts = facts(true);
        facts.record.iter_mut().for_each(change);
        told(facts)
    };
    assert!(with(|it| it.leaving = true).ends_with("is being deleted"));
    assert!(with(|it| it.uid = "another".into()).ends_with("is being deleted"));
    assert!(with(|it| it.hash = Hash::default()).ends_with("was changed meanwhile"));
}

#[test]
fn what_did_not_get_through_goes_on_whoever_is_on_the_host() {
    let run = |verb: &str, result: &str| json!([{ "id": "1", "verb": verb, "started": "", "seconds": 1, "result": result }]);
    let has_failed = |history: serde_json::Value| has_failed(&record(&history.to_string()));
    assert!(has_failed(run("evacuate", "timeout")));
    assert!(!has_failed(run("evacuate", "converged")));
    assert!(!has_failed(run("apply", "timeout")));
    assert!(!has_failed(json!([])));
    assert!(!has_failed(json!("what is no history")));
    assert_eq!(due(&[]).stays(&facts(false)), None);
}

#[test]
fn it_says_whose_hosts_are_emptied() {
    assert_eq!(
        due(&["m-0"]).why(),
        "machine m-0 stands on a host that is being emptied"
    );
    assert_eq!(
        due(&["m-0", "m-1"]).why(),
        "machines m-0, m-1 stand on hosts that are being emptied"
    );
}
