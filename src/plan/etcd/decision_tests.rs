//! Decisions that the search does not reach: what members report of themselves.

use super::*;
use crate::plan::etcd::check::world::World;
use crate::state::facts::EtcdStart;
use std::time::Duration;

fn known() -> EtcdRecord {
    EtcdRecord {
        incarnation: 1,
        cluster_id: "1".to_owned(),
        revision: 7,
        restore: None,
    }
}

fn settled(members: u32) -> ObservedEtcd {
    World::settled(members, EtcdStart::Sealed).observe(Duration::ZERO)
}

fn step(etcd: &ObservedEtcd, members: u32) -> EtcdStep {
    decide(members, Some(&known()), etcd).step
}

/// Ends the container of a member.
fn end(etcd: &mut ObservedEtcd, ordinal: u32, exit: EtcdExit) {
    let pod = etcd.pods.get_mut(&ordinal).unwrap();
    (pod.runs, pod.is_ready, pod.status) = (false, false, None);
    pod.exit = Some(exit);
}

#[test]
fn a_full_database_is_freed_and_the_leader_comes_last() {
    let mut etcd = settled(3);
    assert_eq!(step(&etcd, 3), EtcdStep::Settled);
    let status = etcd.pods.get_mut(&1).unwrap().status.as_mut();
    status.unwrap().errors = vec!["memberID:2 alarm:NOSPACE ".into()];
    assert_eq!(step(&etcd, 3), EtcdStep::FreeSpace(vec![1, 2, 0]));
}

#[test]
fn nothing_changes_while_a_member_has_the_data_of_another_cluster() {
    let mut etcd = settled(3);
    let status = etcd.pods.get_mut(&2).unwrap().status.as_mut();
    status.unwrap().cluster_id = "2".into();
    for members in [1, 3] {
        let EtcdStep::Stop(why) = step(&etcd, members) else {
            panic!("{:?}", step(&etcd, members));
        };
        assert!(why.starts_with("member 2 of etcd has the data of another cluster"));
    }
}

#[test]
fn nothing_changes_while_the_data_are_older_than_recorded() {
    let record = EtcdRecord {
        revision: 8,
        ..known()
    };
    let decision = decide(1, Some(&record), &settled(1));
    assert!(matches!(decision.step, EtcdStep::Stop(_)));
}

/// Three members that were started as new next to a single one, as by earlier releases.
#[test]
fn a_split_cluster_is_not_recorded_and_says_how_to_mend_it() {
    let mut etcd = World::settled(3, EtcdStart::New).observe(Duration::ZERO);
    for ordinal in [1, 2] {
        let status = etcd.pods.get_mut(&ordinal).unwrap().status.as_mut();
        status.unwrap().cluster_id = "other".into();
    }
    let unknown = EtcdRecord {
        cluster_id: String::new(),
        ..known()
    };
    for record in [None, Some(&unknown)] {
        let EtcdStep::Stop(why) = decide(3, record, &etcd).step else {
            panic!("{record:?}");
        };
        assert!(
            why.starts_with("etcd is split between member 0 and members 1 and 2:"),
            "{why}"
        );
        assert!(why.contains("kvshoot backup"), "{why}");
    }
}

#[test]
fn lost_data_stop_a_single_member_and_two_of_three() {
    let lost = |members: u32, ordinals: &[u32]| {
        let mut etcd = settled(members);
        etcd.membership = Err("no member of etcd answers".into());
        for ordinal in ordinals {
            end(&mut etcd, *ordinal, EtcdExit::Empty);
        }
        step(&etcd, members)
    };
    let why = |step: EtcdStep| match step {
        EtcdStep::Stop(why) => why,
        other => panic!("{other:?}"),
    };
    assert!(!why(lost(1, &[0])).contains("--without-quorum"));
    assert!(!why(lost(3, &[0, 1, 2])).contains("--without-quorum"));
    let two = why(lost(3, &[0, 2]));
    assert!(two.starts_with("the volumes of etcd members 0 and 2 have no data"));
    assert!(two.contains("member 1 has its data"), "{two}");
    assert!(two.contains("kvshoot backup NAME --to DEST --without-quorum"));
    assert!(matches!(lost(3, &[2]), EtcdStep::Wait(_)));
}

/// As PID 1 of its container, etcd ends with code 0 when the kubelet stops it.
#[test]
fn a_member_that_the_kubelet_stopped_is_not_removed() {
    let mut etcd = settled(3);
    end(&mut etcd, 1, EtcdExit::Removed);
    assert!(matches!(step(&etcd, 3), EtcdStep::Wait(_)));
    end(&mut etcd, 1, EtcdExit::Empty);
    assert_eq!(step(&etcd, 3), EtcdStep::Remove(1));
}

#[test]
fn a_ready_member_that_cannot_be_asked_is_recorded_without_its_cluster() {
    let mut etcd = World::settled(1, EtcdStart::New).observe(Duration::ZERO);
    let recorded =
        |etcd: &ObservedEtcd, record: Option<&EtcdRecord>| match decide(1, record, etcd).step {
            EtcdStep::Record(it) => Some(it),
            _ => None,
        };
    let found = recorded(&etcd, None).unwrap();
    assert_eq!(found, known());
    etcd.membership = Err("no member of etcd answers".into());
    etcd.pods.get_mut(&0).unwrap().is_ready = true;
    let unknown = recorded(&etcd, None).unwrap();
    assert_eq!(unknown.cluster_id, "");
    // Its cluster is added once it can be asked.
    assert_eq!(recorded(&settled(1), Some(&unknown)).unwrap(), known());
}
