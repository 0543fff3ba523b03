//! The CPU time of the planner grows linearly with the number of machines.

use super::simulation::manifests::{A, Pool, shoot};
use crate::plan::plan_of_machines as plan;
use crate::render::instancetype;
use crate::state::action::{Action, Desired, Payload};
use crate::state::facts::{
    Facts, ImageImport, MachinePhase, ObjectStatus, ObservedMachine, ObservedObject, ObservedRecord,
};
use crate::state::hash::Hash;
use crate::state::key::{ObjectKey, ObjectKind};
use crate::state::observed::Observed;
use crate::state::plan::ItemState;
use crate::state::{desired, testing};
use crate::validate::ValidShoot;
use std::sync::Arc;

const NAMES: [&str; 10] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];

/// A shoot of ten pools, and a provider cluster in which everything but the machines exists.
fn ten_pools(machines: usize) -> (ValidShoot, Observed) {
    let size = machines / NAMES.len();
    let pools = NAMES.map(|name| Pool {
        name,
        size: (size, size),
        ..A
    });
    let shoot = shoot(&["red"], &pools, ("10%", "1"));
    let facts = Facts {
        namespace: "ns".into(),
        ..Facts::default()
    };
    let mut observed = Observed {
        facts: facts.into(),
        ..Observed::default()
    };
    while !is_all_but_machines(&shoot, &observed) {
        perform(&shoot, &mut observed);
    }
    (shoot, observed)
}

fn is_all_but_machines(shoot: &ValidShoot, observed: &Observed) -> bool {
    let makes = |it: &Desired| matches!(it.payload, Payload::Machine { .. });
    due(shoot, observed).iter().all(makes)
}

fn due(shoot: &ValidShoot, observed: &Observed) -> Vec<Desired> {
    let items = plan(shoot, observed).items.into_iter();
    let due = items.filter_map(|item| match item.state {
        ItemState::Due(Action::Apply(wanted)) => Some(wanted),
        _ => None,
    });
    due.collect()
}

/// Everything due is performed and completes immediately.
fn perform(shoot: &ValidShoot, observed: &mut Observed) {
    for wanted in due(shoot, observed) {
        let facts = Arc::make_mut(&mut observed.facts);
        match (&wanted.payload, wanted.key.kind) {
            (
                Payload::Machine {
                    pool,
                    zone,
                    ordinal,
                },
                _,
            ) => {
                let machine = machine(shoot, facts, &wanted, pool, *zone, *ordinal);
                let name = wanted.key.name.clone();
                let data = ObjectKey::provider(ObjectKind::UserData, name.clone());
                facts
                    .objects
                    .insert(data, object(&wanted, ObjectStatus::None));
                let pool = facts.machines.entry(pool.clone()).or_default();
                pool.insert(name, machine);
            }
            (_, ObjectKind::Record) => {
                facts.record = Some(ObservedRecord {
                    name: wanted.key.name.clone(),
                    hash: wanted.hash,
                    ..ObservedRecord::default()
                });
            }
            (_, kind) => {
                let done = ImageImport {
                    done: true,
                    ..ImageImport::default()
                };
                let fact = match kind {
                    ObjectKind::ImageVolume => ObjectStatus::Image(done),
                    _ => ObjectStatus::None,
                };
                facts
                    .objects
                    .insert(wanted.key.clone(), object(&wanted, fact));
            }
        }
    }
}

fn object(wanted: &Desired, fact: ObjectStatus) -> ObservedObject {
    ObservedObject {
        uid: format!("{:?}/{}", wanted.key.kind, wanted.key.name).into(),
        hash: wanted.hash,
        ..testing::object(fact)
    }
}

fn machine(
    shoot: &ValidShoot,
    facts: &Facts,
    wanted: &Desired,
    pool: &str,
    zone: usize,
    ordinal: u32,
) -> ObservedMachine {
    let pool = shoot.pools.iter().find(|it| it.name == pool);
    let pool = pool.expect("only pools of the manifest get machines");
    let attachments = desired::attachments(shoot, facts);
    ObservedMachine {
        uid: wanted.key.name.clone(),
        hash: wanted.hash,
        zone,
        ordinal,
        born: ordinal.into(),
        image: desired::image_volume(shoot, facts, pool, zone).map(|it| it.name),
        networks: attachments.into_iter().map(|it| it.reference).collect(),
        types: instancetype::of_machine(shoot, facts, pool),
        metadata: desired::pool_metadata(pool).into(),
        ..testing::machine(MachinePhase::Ready)
    }
}

/// Nothing to change, all machines to be created, all rolling, and nine of ten pools removed.
fn cases(machines: usize) -> [(&'static str, ValidShoot, Observed); 4] {
    let (shoot, empty) = ten_pools(machines);
    let mut full = empty.clone();
    perform(&shoot, &mut full);
    let mut outdated = full.clone();
    for machine in Arc::make_mut(&mut outdated.facts)
        .machines
        .values_mut()
        .flat_map(|it| it.values_mut())
    {
        machine.hash = Hash(1);
    }
    let mut fewer = shoot.clone();
    fewer.pools.truncate(1);
    let mut making = empty.clone();
    for wanted in due(&shoot, &empty).into_iter().take(32) {
        making
            .sent
            .insert(wanted.key.clone(), Action::Apply(wanted));
    }
    [
        ("no changes", shoot.clone(), full.clone()),
        ("all to be created", shoot.clone(), making),
        ("all rolling", shoot, outdated),
        ("nine of ten pools removed", fewer, full),
    ]
}

/// Five times the machines may take twelve times as long; quadratic growth would take 25 times as long.
fn assert_linear(machines: usize) {
    let pairs = cases(machines).into_iter().zip(cases(5 * machines));
    for ((name, shoot, observed), (_, larger, fuller)) in pairs {
        let items = plan(&shoot, &observed).items.len();
        let more_items = plan(&larger, &fuller).items.len();
        assert!(
            more_items <= 5 * items,
            "{name}: {items} items, then {more_items}"
        );
        let ratio = testing::cost_ratio(
            || drop(plan(&shoot, &observed)),
            || drop(plan(&larger, &fuller)),
        );
        assert!(ratio < 12.0, "{name}: {ratio:.1} times the CPU time");
    }
}

#[test]
fn planning_time_grows_linearly_with_the_number_of_machines() {
    assert_linear(200);
}

#[test]
#[ignore = "second tier: 5,000 machines; the first tier has 1,000"]
fn planning_time_grows_linearly_up_to_five_thousand_machines() {
    assert_linear(1_000);
}
