use super::*;
use crate::model::Quantity;
use crate::state::facts::{Evacuation, ObservedRecord};
use crate::state::testing;
use crate::validate::testing::{SHOOT, valid_for_tests};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A shoot whose pool has 2 to 5 machines in two zones.
fn shoot() -> ValidShoot {
    let bounds = "minimum: 2\n      maximum: 5\n";
    let mut shoot = valid_for_tests(&SHOOT.replacen("minimum: 1\n      maximum: 1\n", bounds, 1));
    shoot.pools[0].zones = ["a", "b"].map(str::to_owned).into();
    shoot
}

fn machine(zone: usize, uid: &str, phase: MachinePhase) -> ObservedMachine {
    ObservedMachine {
        zone,
        uid: uid.into(),
        ..testing::machine(phase)
    }
}

/// Machines of zone a, `a0`, `a1` and so on, and one of zone b.
fn facts(phases: &[MachinePhase]) -> Facts {
    let in_a = phases.iter().enumerate();
    let in_a = in_a.map(|(number, phase)| {
        (
            format!("a{number}"),
            machine(0, &format!("uid-{number}"), *phase),
        )
    });
    let in_b = ("b0".to_owned(), machine(1, "uid-b", MachinePhase::Ready));
    let machines = in_a.chain([in_b]).map(|(name, it)| (name.into(), it));
    Facts {
        record: Some(ObservedRecord::default()),
        machines: [("cpu".into(), machines.collect())].into(),
        ..Facts::default()
    }
}

fn targets(shoot: &ValidShoot, sizes: &SizesByPool) -> Vec<usize> {
    let size = PoolSize::within_bounds(sizes.get("cpu"), &shoot.pools[0]);
    size.zone_targets(&shoot.pools[0].zones)
}

/// Sizes with three machines in zone a and one in zone b.
fn three_in_a(shoot: &ValidShoot) -> SizesByPool {
    let grown = scalable_zones(shoot)[0].increased(&SizesByPool::new(), 2);
    grown.expect("there is room")
}

fn names(of: &[&str]) -> BTreeSet<String> {
    of.iter().map(|it| (*it).to_owned()).collect()
}

#[test]
fn zones_share_the_bounds_of_their_pool() {
    let shoot = shoot();
    let zones = scalable_zones(&shoot);
    let all: Vec<_> = zones.iter().map(|it| (it.id(), it.bounds())).collect();
    let id = &shoot.id;
    assert_eq!(
        all,
        [
            (format!("{id}-cpu-z1"), (1, 3)),
            (format!("{id}-cpu-z2"), (1, 2))
        ]
    );
    assert!(scalable_zones(&valid_for_tests(SHOOT)).is_empty());
}

#[test]
fn a_zone_grows_up_to_its_share() {
    let shoot = shoot();
    let zones = scalable_zones(&shoot);
    let three = three_in_a(&shoot);
    assert_eq!(targets(&shoot, &three), [3, 1]);
    let refused = zones[0].increased(&three, 1).expect_err("its share is 3");
    assert_eq!(
        refused.to_string(),
        "zone a of pool cpu cannot have 4 machines: its share of the pool's bounds is 1 to 3"
    );
    let all = zones[1].increased(&three, 1).expect("there is room");
    assert_eq!(targets(&shoot, &all), [3, 2]);
}

#[test]
fn only_machines_that_do_not_exist_are_taken_back() {
    let shoot = shoot();
    let zones = scalable_zones(&shoot);
    let three = three_in_a(&shoot);
    let facts = facts(&[
        MachinePhase::Ready,
        MachinePhase::Provisioning,
        MachinePhase::Deleting,
    ]);
    let two = zones[0]
        .decreased(&three, &facts, 1)
        .expect("the third does not exist");
    assert_eq!(targets(&shoot, &two), [2, 1]);
    let refused = zones[0]
        .decreased(&three, &facts, 2)
        .expect_err("two exist");
    assert_eq!(
        refused.to_string(),
        "2 machines exist already, so zone a of pool cpu cannot have 1"
    );
}

#[test]
fn the_machines_of_deleted_nodes_go() {
    let shoot = shoot();
    let zones = scalable_zones(&shoot);
    let three = three_in_a(&shoot);
    let facts = facts(&[
        MachinePhase::Ready,
        MachinePhase::Ready,
        MachinePhase::Draining,
    ]);
    let two = zones[0]
        .without(&three, &facts, &names(&["a1"]))
        .expect("it may go");
    assert_eq!(targets(&shoot, &two), [2, 1]);
    assert!(two["cpu"].deletes("uid-1"));
    // It leaves, although no run has begun to remove it.
    let mut decided = facts.clone();
    let record = decided.record.as_mut().expect("it is there");
    record.sizes = [("cpu".into(), two["cpu"].clone())].into();
    let observed = Observed {
        facts: Arc::new(decided),
        ..Observed::default()
    };
    let machines = zones[0].machines(&observed);
    let states: Vec<_> = machines.into_iter().map(|it| it.state).collect();
    let expected = [
        ScalableState::Running,
        ScalableState::Leaving,
        ScalableState::Leaving,
    ];
    assert_eq!(states, expected);
    // Again, and those that leave or are gone.
    let same = zones[0].without(&two, &facts, &names(&["a1", "a2", "gone"]));
    assert_eq!(same, Ok(two.clone()));
    let other = zones[0].without(&two, &facts, &names(&["b0"]));
    assert_eq!(other, Err(AutoscalingRefusal::OtherGroup("b0".to_owned())));
    let minimum = zones[1].without(&two, &facts, &names(&["b0"]));
    assert!(
        matches!(minimum, Err(AutoscalingRefusal::OutOfShare { size: 0, .. })),
        "{minimum:?}"
    );
}

#[test]
fn a_machine_belongs_to_the_group_of_its_zone() {
    let shoot = shoot();
    let facts = facts(&[MachinePhase::Ready]);
    let group = |name| zone_of_machine(&shoot, &facts, name).map(|it| it.zone);
    assert_eq!(
        [group("a0"), group("b0"), group("other")],
        [Some(0), Some(1), None]
    );
}

#[test]
fn machines_that_will_not_be_ready_have_a_reason() {
    let shoot = shoot();
    let zones = scalable_zones(&shoot);
    let mut facts = facts(&[
        MachinePhase::Ready,
        MachinePhase::Provisioning,
        MachinePhase::Failed,
    ]);
    let pool = facts.machines.get_mut("cpu").expect("it has machines");
    let waiting = pool.get_mut("a1").expect("it is there");
    waiting.unschedulable_since = Some(Duration::ZERO);
    waiting.cause = Some("no host has room".into());
    let observed = |now| Observed {
        now,
        facts: Arc::new(facts.clone()),
        ..Observed::default()
    };
    let state = |now: Duration| zones[0].machines(&observed(now))[1].state.clone();
    let limit = shoot.pools[0].creation_timeout;
    assert_eq!(state(Duration::ZERO), ScalableState::Creating);
    let reason = "no host has room".to_owned();
    assert_eq!(state(limit / 2), ScalableState::Unschedulable(reason));
    let all = zones[0].machines(&observed(Duration::ZERO));
    assert_eq!(all[0].state, ScalableState::Running);
    assert!(matches!(all[2].state, ScalableState::Failed(_)));
}

#[test]
fn a_pool_is_being_replaced_while_its_machines_differ() {
    let shoot = shoot();
    let zone = scalable_zones(&shoot)[0];
    let settled = facts(&[MachinePhase::Ready, MachinePhase::Draining]);
    assert!(!zone.is_being_replaced(&settled));
    let with = |change: fn(&mut ObservedMachine)| {
        let mut facts = settled.clone();
        let pool = facts.machines.get_mut("cpu").expect("it has machines");
        change(pool.get_mut("b0").expect("it is there"));
        facts
    };
    assert!(zone.is_being_replaced(&with(|it| it.hash = it.hash.sibling())));
    assert!(zone.is_being_replaced(&with(|it| it.evacuation = Some(Evacuation::Replacement))));
    // A machine that was deleted by name has no successor.
    let mut deleted = with(|it| it.hash = it.hash.sibling());
    let machine = DeletedMachine {
        pool: "cpu",
        zone: 1,
        uid: "uid-b",
    };
    let existing = ["uid-b"].into();
    let three = scalable_zones(&shoot)[1].increased(&SizesByPool::new(), 1);
    let three = three.expect("there is room");
    let sizes = without_machine(&shoot.pools, &three, machine, &existing);
    let size = sizes
        .expect("it may go")
        .remove("cpu")
        .expect("it is decided");
    let record = deleted.record.as_mut().expect("it is there");
    record.sizes.insert("cpu".into(), size);
    assert!(!zone.is_being_replaced(&deleted));
}

/// A node of the sandbox with 1 CPU, 2 GiB and a disk of 20 GiB reports these.
#[test]
fn a_template_has_what_the_next_node_will_have() {
    let mut shoot = shoot();
    let pool = &mut shoot.pools[0];
    pool.machine_type.cpu = Quantity::parse("1").expect("a quantity");
    pool.machine_type.memory = Quantity::parse("2Gi").expect("a quantity");
    pool.labels = [("example.org/a".to_owned(), "b".to_owned())].into();
    let shape = scalable_zones(&shoot)[1].node_shape();
    let labels = shape.labels.iter().map(|it| format!("{}={}", it.0, it.1));
    assert_eq!(
        labels.collect::<Vec<_>>(),
        [
            "beta.kubernetes.io/arch=amd64",
            "beta.kubernetes.io/os=linux",
            "example.org/a=b",
            "kubernetes.io/arch=amd64",
            "kubernetes.io/hostname=shoot--dev--demo-cpu-z2-template",
            "kubernetes.io/os=linux",
            "node-role.kubernetes.io/worker=",
            "topology.kubernetes.io/region=europe-west1",
            "topology.kubernetes.io/zone=b",
            "worker.gardener.cloud/pool=cpu",
            "worker.gardener.cloud/system-components=true",
        ]
    );
    let resources = |of: &BTreeMap<String, String>| {
        let all = of.iter().map(|(name, text)| {
            let value = Quantity::parse(text).expect("a quantity").value;
            (name.clone(), value)
        });
        all.collect::<Vec<_>>()
    };
    let expected = |all: [(&str, &str); 6]| {
        all.map(|(name, text)| {
            let value = Quantity::parse(text).expect("a quantity").value;
            (name.to_owned(), value)
        })
    };
    assert_eq!(
        resources(&shape.capacity),
        expected([
            ("cpu", "1"),
            ("ephemeral-storage", "20Gi"),
            ("hugepages-1Gi", "0"),
            ("hugepages-2Mi", "0"),
            ("memory", "2Gi"),
            ("pods", "110"),
        ])
    );
    assert_eq!(
        resources(&shape.allocatable),
        expected([
            ("cpu", "900m"),
            ("ephemeral-storage", "18Gi"),
            ("hugepages-1Gi", "0"),
            ("hugepages-2Mi", "0"),
            ("memory", "1564Mi"),
            ("pods", "110"),
        ])
    );
}

/// What the autoscaler may ask for next, in any order.
#[derive(Debug, Clone)]
enum Request {
    Increase(usize),
    Decrease(usize),
    /// Numbers of machines in the order of their names; some are of another group, or do not exist.
    Delete(Vec<usize>),
}

fn requests() -> impl Strategy<Value = Vec<(usize, Request)>> {
    let request = prop_oneof![
        (0..5usize).prop_map(Request::Increase),
        (0..5usize).prop_map(Request::Decrease),
        prop::collection::vec(0..8usize, 0..4).prop_map(Request::Delete),
    ];
    prop::collection::vec((0..2usize, request), 0..40)
}

/// The machines after an apply has reached these targets: those that were deleted are gone, and others are new.
fn applied(facts: &mut Facts, shoot: &ValidShoot, sizes: &SizesByPool, next: &mut u32) {
    let size = PoolSize::within_bounds(sizes.get("cpu"), &shoot.pools[0]);
    let pool = facts.machines.entry("cpu".into()).or_default();
    pool.retain(|_, it| !size.deletes(&it.uid));
    for (zone, target) in size
        .zone_targets(&shoot.pools[0].zones)
        .into_iter()
        .enumerate()
    {
        while pool.values().filter(|it| it.zone == zone).count() < target {
            *next += 1;
            let uid = format!("uid-{next}");
            let one = machine(zone, &uid, MachinePhase::Ready);
            pool.insert(format!("m{next:04}").into(), one);
        }
    }
}

proptest! {
    /// Whatever the autoscaler asks for, in whatever order: a refused request changes nothing, a group never grows beyond
    /// its share or shrinks below it, the pool stays within its bounds, and only the machines that were named go.
    #[test]
    fn requests_in_any_order_keep_the_bounds(requests in requests(), is_applied in any::<u64>()) {
        let shoot = shoot();
        let zones = scalable_zones(&shoot);
        let (mut sizes, mut next) = (SizesByPool::new(), 0);
        let mut facts = facts(&[]);
        for (number, (zone, request)) in requests.into_iter().enumerate() {
            let zone = &zones[zone];
            let before = targets(&shoot, &sizes);
            let names: Vec<_> = facts.machines.values().flat_map(|it| it.keys()).cloned().collect();
            let after = match &request {
                Request::Increase(more) => zone.increased(&sizes, *more),
                Request::Decrease(fewer) => zone.decreased(&sizes, &facts, *fewer),
                Request::Delete(chosen) => {
                    let chosen = chosen.iter().map(|it| match names.get(*it) {
                        Some(name) => name.to_string(),
                        None => format!("unknown-{it}"),
                    });
                    zone.without(&sizes, &facts, &chosen.collect())
                }
            };
            if let Ok(after) = after {
                let now = targets(&shoot, &after);
                let (minimum, maximum) = zone.bounds();
                let (old, new) = (before[zone.zone], now[zone.zone]);
                prop_assert!(new == old || (minimum..=maximum).contains(&new), "{request:?}");
                prop_assert_eq!(before[1 - zone.zone], now[1 - zone.zone]);
                prop_assert!((2..=5).contains(&now.iter().sum::<usize>()));
                match &request {
                    Request::Increase(more) => prop_assert_eq!(old + more, new),
                    Request::Decrease(fewer) => prop_assert_eq!(old - fewer, new),
                    Request::Delete(_) => prop_assert!(new <= old),
                }
                let size = &after.get("cpu");
                let of_zone = |uid: &str| {
                    let mut machines = facts.machines.values().flat_map(|it| it.values());
                    machines.any(|it| *it.uid == *uid)
                };
                let deleted = size.map(|it| it.clone().into_deleted()).unwrap_or_default();
                let was = sizes.get("cpu").map(|it| it.clone().into_deleted()).unwrap_or_default();
                prop_assert!(deleted.difference(&was).all(|it| of_zone(it)));
                sizes = after;
            }
            if is_applied >> (number % 64) & 1 == 1 {
                applied(&mut facts, &shoot, &sizes, &mut next);
            }
        }
    }
}
