//! A complete first apply: from nothing to a cluster, in random order, with runs that are interrupted at any time.
//!
//! Nothing exists at the start and there are no edits, so nothing is written twice, and only tokens are deleted.

mod simulation;
mod writes;

use super::simulation::manifests::{A, B, Pool, shoot};
use crate::plan::item::{Action, Plan, State};
use crate::plan::observed::{Fact, Observed};
use crate::plan::plan;
use crate::validate::ValidShoot;
use crate::validate::control_plane::Exposure;
use crate::validate::testing::{SHOOT, valid_for_tests};
use simulation::Simulation;

/// The planner, or a deliberately broken one.
type Planner = fn(&ValidShoot, &Observed) -> Plan;

/// Upper bound of plans; every run needs far fewer.
const MAX_PLANS: u32 = 400;
/// After this many plans no run is interrupted and no token expires.
const FAULTY_PLANS: u32 = 60;

fn due(plan: &Plan) -> Vec<Action> {
    let due = plan.items.iter().filter_map(|it| match &it.state {
        State::Due(action) => Some(action.clone()),
        _ => None,
    });
    due.collect()
}

/// Formats the items that are not done.
fn open(plan: &Plan) -> String {
    let open = plan.items.iter().filter(|it| it.state != State::Done);
    let open = open.map(|it| match &it.state {
        State::Due(_) => format!("{}: due", it.id),
        other => format!("{}: {other:?}", it.id),
    });
    open.collect::<Vec<_>>().join("\n")
}

/// Runs until everything is done, and once more.
fn simulate(seed: u64, shoot: &ValidShoot, planner: Planner) -> Result<(), String> {
    let mut simulation = Simulation::new(seed, shoot);
    for round in 0..MAX_PLANS {
        let plan = planner(shoot, &simulation.observed());
        let mut states = plan.items.iter().map(|it| &it.state);
        if states.any(|it| matches!(it, State::Failed(_))) {
            return Err(format!("fails:\n{}", open(&plan)));
        }
        if open(&plan).is_empty() && simulation.sent.is_empty() {
            return check_next_run(&mut simulation, planner);
        }
        simulation.tokens_expire = round < FAULTY_PLANS;
        if round < FAULTY_PLANS && simulation.rng.one_in(12) {
            simulation.cut_off()?;
            continue;
        }
        let due = due(&plan);
        if due.is_empty() && simulation.sent.is_empty() && !simulation.step() {
            return Err(format!("is stuck:\n{}", open(&plan)));
        }
        work(&mut simulation, due)?;
    }
    let plan = planner(shoot, &simulation.observed());
    Err(format!("does not end:\n{}", open(&plan)))
}

/// Sends some of the due actions while the simulation proceeds.
fn work(simulation: &mut Simulation, mut due: Vec<Action>) -> Result<(), String> {
    for _ in 0..=simulation.rng.below(24) {
        match simulation.rng.below(4) {
            0 | 1 if !due.is_empty() => {
                let chosen = simulation.rng.below(due.len());
                simulation.send(due.swap_remove(chosen))?;
            }
            0..3 => simulation.answer()?,
            _ => {
                simulation.step();
            }
        }
    }
    Ok(())
}

/// The next run finds nothing to do, both before and after it connects to the shoot.
fn check_next_run(simulation: &mut Simulation, planner: Planner) -> Result<(), String> {
    simulation.cut_off()?;
    let plan = planner(simulation.shoot, &simulation.observed());
    if !due(&plan).is_empty() {
        return Err(format!(
            "due at the start of the next run:\n{}",
            open(&plan)
        ));
    }
    simulation.connect();
    let plan = planner(simulation.shoot, &simulation.observed());
    match open(&plan).as_str() {
        "" => Ok(()),
        open => Err(format!("open in the next run:\n{open}")),
    }
}

fn two_pools() -> ValidShoot {
    let other = Pool { size: (1, 1), ..B };
    let mut shoot = shoot(&["red"], &[A, other], ("1", "0"));
    shoot.networking.type_ = "flannel".into();
    shoot
}

#[test]
fn a_first_apply_completes_in_any_order_and_after_any_interruption() {
    let mut shoot = two_pools();
    let address = "192.0.2.1".to_owned();
    let port = None;
    let ways = [
        shoot.control_plane.exposure.clone(),
        Exposure::NodePort { address, port },
        Exposure::None,
    ];
    for (seed, exposure) in (1..).zip(ways.iter().cycle().take(6)) {
        shoot.control_plane.exposure = exposure.clone();
        shoot.network_policies.default = seed > 3;
        let lived = simulate(seed, &shoot, plan);
        assert_eq!(lived, Ok(()), "seed {seed}, {exposure:?}");
    }
}

/// A check that cannot fail proves nothing.
#[test]
fn broken_planners_are_detected() {
    /// Ignores the actions it has sent.
    fn forgetful(shoot: &ValidShoot, observed: &Observed) -> Plan {
        let observed = Observed {
            sent: Default::default(),
            ..observed.clone()
        };
        plan(shoot, &observed)
    }
    fn without_renewal(shoot: &ValidShoot, observed: &Observed) -> Plan {
        let mut plan = plan(shoot, observed);
        for item in &mut plan.items {
            if item.title.starts_with("Renew") {
                item.state = State::Blocked;
            }
        }
        plan
    }
    /// Does not wait for addresses.
    fn hasty(shoot: &ValidShoot, observed: &Observed) -> Plan {
        let mut facts = (*observed.facts).clone();
        for object in facts.objects.values_mut() {
            if let Fact::Service(it) = &mut object.fact {
                it.ingress.get_or_insert_with(|| "192.0.2.1".into());
            }
        }
        let observed = Observed {
            facts: facts.into(),
            ..observed.clone()
        };
        plan(shoot, &observed)
    }
    let shoot = two_pools();
    let noticed = |planner: Planner| (1..=8).find_map(|seed| simulate(seed, &shoot, planner).err());
    for (planner, what) in [
        (forgetful as Planner, "is written twice"),
        (without_renewal, "is stuck"),
        (hasty, "is written twice"),
    ] {
        let broken = noticed(planner).unwrap_or_default();
        assert!(broken.contains(what), "{what}: {broken}");
    }
}

/// Batches of items that are due at once, each after everything in the simulation has settled.
fn waves(shoot: &ValidShoot) -> Vec<Vec<String>> {
    let mut simulation = Simulation::new(1, shoot);
    let mut waves = Vec::new();
    loop {
        let plan = plan(shoot, &simulation.observed());
        let items = plan.items.iter();
        let items = items.filter(|it| matches!(it.state, State::Due(_)));
        let ids: Vec<String> = items.map(|it| it.id.to_string()).collect();
        if ids.is_empty() {
            assert_eq!(open(&plan), "");
            return waves;
        }
        waves.push(ids);
        for action in due(&plan) {
            simulation.send(action).expect("once");
        }
        while !simulation.sent.is_empty() {
            simulation.answer().expect("it is new");
        }
        simulation.settle();
    }
}

#[test]
fn each_component_is_due_once_its_dependencies_exist() {
    let mut shoot = valid_for_tests(SHOOT);
    shoot.networking.type_ = "flannel".into();
    let waves = waves(&shoot);
    let all = |wave: usize, prefix: &str, count: usize| {
        let ids = &waves[wave];
        let is_so = ids.iter().filter(|it| it.starts_with(prefix)).count() == count;
        assert!(is_so, "{wave}: {count} {prefix}: {ids:#?}");
    };
    assert_eq!(waves[0], ["record"]);
    all(1, "image/", 1);
    all(1, "certificate/", 5);
    assert!(waves[1].contains(&"control-plane/services".to_owned()) && waves[1].len() == 7);
    all(2, "certificate/", 11);
    assert_eq!(waves[2].len(), 11);
    assert_eq!(waves[3], ["control-plane/etcd"]);
    assert_eq!(waves[4], ["control-plane/kube-apiserver"]);
    all(5, "control-plane/", 4);
    all(5, "system/", waves[5].len() - 4);
    assert!(waves[5].contains(&"system/bootstrap".to_owned()));
    assert_eq!(waves[6], ["machine/cpu/z1/0"]);
    // Its node gets its labels, and its token is deleted.
    all(7, "machine/cpu/z1/0", 1);
    all(7, "remove/", 1);
    assert_eq!((waves[7].len(), waves.len()), (2, 8));
}

#[test]
fn network_policies_are_applied_before_the_pods_they_select() {
    let mut shoot = valid_for_tests(SHOOT);
    shoot.network_policies.default = true;
    let waves = waves(&shoot);
    let wave = |prefix: &str| {
        let mut waves = waves.iter();
        let wave = waves.position(|ids| ids.iter().any(|it| it.starts_with(prefix)));
        wave.unwrap_or_else(|| panic!("{prefix} in {waves:#?}"))
    };
    assert!(wave("control-plane/network-policies") < wave("image/"));
    assert_eq!(wave("control-plane/network-policies"), 1);
    assert!(wave("control-plane/cluster-isolation") < wave("machine/"));
    let isolations = waves.iter().flatten().filter(|it| it.contains("isolation"));
    assert_eq!(isolations.count(), 1, "its address is known by then");
}
