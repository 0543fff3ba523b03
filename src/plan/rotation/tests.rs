use super::*;
use crate::state::facts::{Facts, ObservedEtcd};
use crate::state::observed::Observed;
use crate::state::record::rotation::RotationRecord;
use crate::state::testing::rotation;
use crate::validate::testing::{SHOOT, valid_for_tests};

const KEY: Credential = Credential::ServiceAccountKey;

fn start(credential: Credential) -> RotationOperation {
    RotationOperation {
        credentials: [credential].into(),
        completes: false,
    }
}

fn started(credential: Credential) -> RotationRecord {
    rotation(credential, RotationStep::Trust, 10)
}

fn observed(rotation: RotationRecord, operation: Option<RotationOperation>) -> Observed {
    let record = ObservedRecord {
        name: "a".into(),
        rotation,
        operation,
        ..ObservedRecord::default()
    };
    let facts = Facts {
        record: Some(record),
        etcd: Some(Arc::new(ObservedEtcd::nothing())),
        ..Facts::default()
    };
    Observed {
        facts: Arc::new(facts),
        ..Observed::default()
    }
}

/// The changes that are due, and the number of items, with a component of the shoot and one of the provider in a state.
fn changes(observed: &Observed, provider: &ItemState, shoot: &ItemState) -> Vec<RotationChange> {
    let mut planner = Planner::new(observed);
    let record = planner.add(ItemKind::Record, String::new(), [], ItemState::Done);
    let sides = [
        (ClusterSide::Provider, provider),
        (ClusterSide::Shoot, shoot),
    ];
    for (side, state) in sides {
        let name = "kube-proxy".into();
        let kind = ItemKind::Component { side, name };
        planner.add(kind, String::new(), [], state.clone());
    }
    add(&mut planner, &valid_for_tests(SHOOT), record);
    let due = planner.plan.items.iter().filter_map(|it| match &it.state {
        ItemState::Due(Action::Apply(wanted)) => match &wanted.payload {
            Payload::Rotation(change) => Some(change.clone()),
            _ => None,
        },
        _ => None,
    });
    due.collect()
}

#[test]
fn a_step_ends_when_all_that_reads_the_secret_has_its_content() {
    let rolls = ItemState::Waiting("one of two pods is new".to_owned());
    let advance = |credential| RotationChange::Advance {
        credential,
        from: RotationStep::Trust,
    };
    let of_key = observed(started(KEY), None);
    assert_eq!(changes(&of_key, &rolls, &ItemState::Done), []);
    assert_eq!(changes(&of_key, &ItemState::Done, &rolls), [advance(KEY)]);
    // Kubeconfigs in the shoot have the root of the API server.
    let of_ca = observed(started(Credential::Ca), None);
    assert_eq!(changes(&of_ca, &ItemState::Done, &rolls), []);
    assert_eq!(
        changes(&of_ca, &ItemState::Done, &ItemState::Done),
        [advance(Credential::Ca)]
    );
}

#[test]
fn a_restart_ends_with_the_system_pods() {
    let mut restarts = started(KEY);
    let rotation = restarts.rotations.get_mut(&KEY).expect("it was started");
    rotation.step = RotationStep::Restart;
    let restarts = observed(restarts, None);
    let rolls = ItemState::Waiting("one of two pods is new".to_owned());
    assert_eq!(changes(&restarts, &ItemState::Done, &rolls), []);
    let advance = RotationChange::Advance {
        credential: KEY,
        from: RotationStep::Restart,
    };
    assert_eq!(
        changes(&restarts, &ItemState::Done, &ItemState::Done),
        [advance]
    );
}

#[test]
fn no_step_ends_before_etcd_is_observed() {
    let mut observed = observed(started(KEY), None);
    Arc::make_mut(&mut observed.facts).etcd = None;
    assert_eq!(changes(&observed, &ItemState::Done, &ItemState::Done), []);
}

#[test]
fn a_wish_of_the_command_is_carried_out_once() {
    let wish = start(KEY);
    let before = observed(RotationRecord::default(), Some(wish.clone()));
    let done = changes(&before, &ItemState::Done, &ItemState::Done);
    assert_eq!(done, [RotationChange::Command(wish)]);
    let after = observed(RotationRecord::default(), None);
    assert_eq!(changes(&after, &ItemState::Done, &ItemState::Done), []);
}
