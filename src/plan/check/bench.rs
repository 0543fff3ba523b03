//! How long a plan takes, and that it does not take longer for each machine when there are more.

use super::world::manifests::{A, Pool, shoot};
use crate::plan::plan_of_machines as plan;
use crate::render::instancetype;
use crate::state::action::{Action, Content, Wanted};
use crate::state::facts::{Fact, Facts, Import, Look, Machine, Object, Record};
use crate::state::hash::Hash;
use crate::state::key::{Key, Kind};
use crate::state::observed::Observed;
use crate::state::plan::State;
use crate::state::{desired, testing};
use crate::validate::ValidShoot;
use std::sync::Arc;
use std::time::{Duration, Instant};

const NAMES: [&str; 10] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];

/// A shoot of ten pools, and a provider cluster in which all but the machines is there.
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
    let makes = |it: &Wanted| matches!(it.content, Content::Machine { .. });
    due(shoot, observed).iter().all(makes)
}

fn due(shoot: &ValidShoot, observed: &Observed) -> Vec<Wanted> {
    let items = plan(shoot, observed).items.into_iter();
    let due = items.filter_map(|it| match it.state {
        State::Due(Action::Apply(wanted)) => Some(wanted),
        _ => None,
    });
    due.collect()
}

/// All that is due happens at once, and ends at once.
fn perform(shoot: &ValidShoot, observed: &mut Observed) {
    for wanted in due(shoot, observed) {
        let facts = Arc::make_mut(&mut observed.facts);
        match (&wanted.content, wanted.key.kind) {
            (
                Content::Machine {
                    pool,
                    zone,
                    ordinal,
                },
                _,
            ) => {
                let machine = machine(shoot, facts, &wanted, pool, *zone, *ordinal);
                let name = wanted.key.name.clone();
                let data = Key::provider(Kind::UserData, name.clone());
                facts.objects.insert(data, object(&wanted, Fact::None));
                let pool = facts.machines.entry(pool.clone()).or_default();
                pool.insert(name, machine);
            }
            (_, Kind::Record) => {
                facts.record = Some(Record {
                    name: wanted.key.name.clone(),
                    hash: wanted.hash,
                    ..Record::default()
                });
            }
            (_, kind) => {
                let done = Import {
                    done: true,
                    ..Import::default()
                };
                let fact = match kind {
                    Kind::Image => Fact::Image(done),
                    _ => Fact::None,
                };
                facts
                    .objects
                    .insert(wanted.key.clone(), object(&wanted, fact));
            }
        }
    }
}

fn object(wanted: &Wanted, fact: Fact) -> Object {
    Object {
        uid: format!("{:?}/{}", wanted.key.kind, wanted.key.name).into(),
        hash: wanted.hash,
        ..testing::object(fact)
    }
}

fn machine(
    shoot: &ValidShoot,
    facts: &Facts,
    wanted: &Wanted,
    pool: &str,
    zone: usize,
    ordinal: u32,
) -> Machine {
    let pool = shoot.pools.iter().find(|it| it.name == pool);
    let pool = pool.expect("only pools of the manifest get machines");
    let attachments = desired::attachments(shoot, facts);
    Machine {
        uid: wanted.key.name.clone(),
        hash: wanted.hash,
        zone,
        ordinal,
        born: ordinal.into(),
        image: desired::golden(shoot, facts, pool, zone).map(|it| it.name),
        networks: attachments.into_iter().map(|it| it.reference).collect(),
        types: instancetype::of_machine(shoot, facts, pool),
        metadata: desired::pool_metadata(pool).into(),
        ..testing::machine(Look::Ready)
    }
}

/// The fastest of some: what else the computer does only makes it slower.
fn time(shoot: &ValidShoot, observed: &Observed) -> (usize, Duration) {
    let mut items = 0;
    let once = |_| {
        let start = Instant::now();
        items = plan(shoot, observed).items.len();
        start.elapsed()
    };
    let best = (0..20).map(once).min();
    (items, best.expect("it was tried"))
}

/// Nothing changes, all are to be made, all roll, all pools are gone but one; with so many on their way.
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
        ("nothing changes", shoot.clone(), full.clone()),
        ("all are to be made", shoot.clone(), making),
        ("all roll", shoot, outdated),
        ("nine of ten pools go", fewer, full),
    ]
}

#[test]
#[ignore = "says how long plans take; only a release build tells the truth"]
#[expect(clippy::print_stdout, reason = "numbers for people")]
fn bench_plans() {
    for machines in [100, 1_000, 5_000] {
        for (name, shoot, observed) in cases(machines) {
            let (items, time) = time(&shoot, &observed);
            println!("{machines} machines, {name}: {items} items, {time:.2?}");
        }
    }
}

/// Five times the machines may take twelve times the time, where a square takes 25 times. What else the computer does
/// falls upon one of the two now and then, so that it is looked at again before it counts.
#[test]
fn a_plan_takes_its_time_for_each_machine_and_no_more() {
    for ((name, shoot, observed), (_, larger, fuller)) in cases(200).into_iter().zip(cases(1_000)) {
        let mut seen = Vec::new();
        let is_in_proportion = (0..4).any(|_| {
            let (items, few) = time(&shoot, &observed);
            let (more_items, many) = time(&larger, &fuller);
            assert!(
                more_items <= 5 * items,
                "{name}: {items} items, then {more_items}"
            );
            seen.push((few, many));
            many < few * 12
        });
        assert!(is_in_proportion, "{name}: {seen:?}");
    }
}
