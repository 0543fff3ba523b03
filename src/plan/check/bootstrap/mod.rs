//! A complete first apply: from nothing to a cluster, in random order, with runs that are interrupted at any time.
//!
//! Nothing exists at the start and there are no edits, so nothing is written twice, and only tokens are deleted.

mod world;
mod writes;

use super::simulation::manifests::{A, B, Pool, shoot};
use crate::plan::plan;
use crate::state::action::Action;
use crate::state::facts::ObjectStatus;
use crate::state::observed::Observed;
use crate::state::plan::{Item, ItemState, Plan};
use crate::validate::Network;
use crate::validate::ValidShoot;
use crate::validate::control_plane::ApiServerExposure;
use crate::validate::testing::{SHOOT, valid_for_tests};
use std::time::Duration;
use world::World;

/// The planner, or a deliberately broken one.
type Planner = fn(&ValidShoot, &Observed) -> Plan;

/// Upper bound of plans; every run needs far fewer.
const ENDS: u32 = 400;
/// After this many plans no run is interrupted and no token expires.
const QUIET: u32 = 60;

fn due(plan: &Plan) -> Vec<Action> {
    let due = plan.items.iter().filter_map(|item| match &item.state {
        ItemState::Due(action) => Some(action.clone()),
        _ => None,
    });
    due.collect()
}

/// Formats the items that are not done.
fn open(plan: &Plan) -> String {
    let open = plan.items.iter().filter(|it| it.state != ItemState::Done);
    let open = open.map(|item| match &item.state {
        ItemState::Due(_) => format!("{}: due", item.id),
        other => format!("{}: {other:?}", item.id),
    });
    open.collect::<Vec<_>>().join("\n")
}

/// Runs until everything is done, and once more.
fn live(seed: u64, shoot: &ValidShoot, planner: Planner) -> Result<(), String> {
    let mut world = World::new(seed, shoot);
    for round in 0..ENDS {
        let plan = planner(shoot, &world.observed());
        let mut states = plan.items.iter().map(|it| &it.state);
        if states.any(|it| matches!(it, ItemState::Failed(_))) {
            return Err(format!("fails:\n{}", open(&plan)));
        }
        if open(&plan).is_empty() && world.sent.is_empty() {
            return again(&mut world, planner);
        }
        world.tokens_expire = round < QUIET;
        if round < QUIET && world.dice.one_in(12) {
            world.cut_off()?;
            continue;
        }
        let due = due(&plan);
        if due.is_empty() && world.sent.is_empty() && !world.moves() {
            return Err(format!("is stuck:\n{}", open(&plan)));
        }
        work(&mut world, due)?;
    }
    let plan = planner(shoot, &world.observed());
    Err(format!("does not end:\n{}", open(&plan)))
}

/// Sends some of the due actions while the simulation proceeds.
fn work(world: &mut World, mut due: Vec<Action>) -> Result<(), String> {
    for _ in 0..=world.dice.roll(24) {
        match world.dice.roll(4) {
            0 | 1 if !due.is_empty() => {
                let chosen = world.dice.roll(due.len());
                world.send(due.swap_remove(chosen))?;
            }
            0..3 => world.answer()?,
            _ => {
                world.moves();
            }
        }
    }
    Ok(())
}

/// The next run finds nothing to do, both before and after it connects to the shoot.
fn again(world: &mut World, planner: Planner) -> Result<(), String> {
    world.cut_off()?;
    let plan = planner(world.shoot, &world.observed());
    if !due(&plan).is_empty() {
        return Err(format!(
            "due at the start of the next run:\n{}",
            open(&plan)
        ));
    }
    world.connect();
    let plan = planner(world.shoot, &world.observed());
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
        ApiServerExposure::NodePort { address, port },
        ApiServerExposure::None,
    ];
    for (seed, exposure) in (1..).zip(ways.iter().cycle().take(6)) {
        shoot.control_plane.exposure = exposure.clone();
        shoot.network_policies.default = seed > 3;
        let lived = live(seed, &shoot, plan);
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
                item.state = ItemState::Blocked;
            }
        }
        plan
    }
    /// Does not wait for addresses.
    fn hasty(shoot: &ValidShoot, observed: &Observed) -> Plan {
        let mut facts = (*observed.facts).clone();
        for object in facts.objects.values_mut() {
            if let ObjectStatus::Service(it) = &mut object.status {
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
    let noticed = |planner: Planner| (1..=8).find_map(|seed| live(seed, &shoot, planner).err());
    for (planner, what) in [
        (forgetful as Planner, "twice"),
        (without_renewal, "is stuck"),
        (hasty, "is written twice"),
    ] {
        let broken = noticed(planner).unwrap_or_default();
        assert!(broken.contains(what), "{what}: {broken}");
    }
}

/// A cluster after its first apply, as the next run observes it.
pub(crate) fn finished(shoot: &ValidShoot) -> Observed {
    let mut world = World::new(1, shoot);
    exhaust(&mut world);
    world.connect();
    let observed = world.observed();
    assert_eq!(open(&plan(shoot, &observed)), "");
    observed
}

/// Everything that can be done in the simulation at this time is done.
fn exhaust(world: &mut World) -> Plan {
    loop {
        let plan = plan(world.shoot, &world.observed());
        let due = due(&plan);
        if due.is_empty() {
            return plan;
        }
        for action in due {
            world.send(action).expect("once");
        }
        while !world.sent.is_empty() {
            world.answer().expect("it is new");
        }
        world.settle();
    }
}

/// A run ends as soon as nothing but refused items is left; an item that waited for them would keep it until its timeout.
#[test]
fn nothing_waits_for_a_request_that_was_refused() {
    let shoot = two_pools();
    let mut world = World::new(1, &shoot);
    assert_eq!(open(&exhaust(&mut world)), "");
    for key in world.answered {
        let mut world = World::new(1, &shoot);
        world.refuses = Some(key.clone());
        let plan = exhaust(&mut world);
        let any = |is: fn(&Item) -> bool| plan.items.iter().any(is);
        assert!(any(|it| matches!(it.state, ItemState::Failed(_))), "{key}");
        // A machine without its node has a timeout of its own.
        let waits = any(|it| {
            matches!(it.state, ItemState::Waiting(_)) && !it.id.to_string().starts_with("machine/")
        });
        assert!(!waits, "{key}:\n{}", open(&plan));
    }
}

#[test]
fn without_a_load_balancer_everything_else_is_done() {
    let shoot = two_pools();
    let mut world = World::new(1, &shoot);
    world.has_balancer = false;
    let patient = exhaust(&mut world);
    assert!(open(&patient).contains("kube-apiserver"), "it may come");
    assert_eq!(patient.wake, Some(Duration::from_secs(10)));
    world.now = Duration::from_secs(10);
    let plan = exhaust(&mut world);
    let waits = "control-plane/exposure: Waiting(\"Service shoot--dev--demo-kube-apiserver-external: the provider's load balancer has no address yet\")";
    assert_eq!(open(&plan), waits);
    assert_eq!(plan.wake, Some(Duration::from_secs(300)));
    world.now = Duration::from_secs(300);
    let plan = exhaust(&mut world);
    let failed = "got no address within 5 minutes: install a load balancer in the provider cluster, or set controlPlaneConfig.exposure.type of the Shoot to NodePort or None";
    assert!(open(&plan).contains(failed), "{}", open(&plan));
    // It comes after all.
    world.has_balancer = true;
    world.settle();
    let plan = plan_now(&world);
    assert_eq!(open(&plan), "certificate/kube-apiserver: due");
}

/// Machines that reach the API server only from outside cannot do without.
#[test]
fn machines_without_the_pod_network_wait_for_the_load_balancer() {
    let mut shoot = two_pools();
    shoot.control_plane.node_address = None;
    shoot.networks = vec![Network::Tenant {
        name: "lan".into(),
        config: "{}".into(),
        default: true,
    }];
    let mut world = World::new(1, &shoot);
    world.has_balancer = false;
    world.now = Duration::from_secs(60);
    let plan = exhaust(&mut world);
    let open = open(&plan);
    assert!(
        open.contains("certificate/kube-apiserver: Blocked"),
        "{open}"
    );
    assert!(open.contains("machine/"), "{open}");
}

#[test]
fn an_address_that_the_shoot_uses_itself_is_refused() {
    let mut shoot = two_pools();
    let mut living = World::new(1, &shoot);
    assert_eq!(open(&exhaust(&mut living)), "");
    let living = living.observed();
    // The address that the simulation assigns.
    shoot.networking.services = "10.43.0.0/16".into();
    let of_living = plan(&shoot, &living);
    assert!(
        !open(&of_living).contains("networking.services"),
        "it has machines"
    );
    let plan = exhaust(&mut World::new(1, &shoot));
    let open = open(&plan);
    assert!(
        open.contains("in networking.services 10.43.0.0/16 of the Shoot"),
        "{open}"
    );
    assert!(
        open.contains("certificate/kube-apiserver: Blocked"),
        "{open}"
    );
    let written =
        |it: &Item| it.id.to_string().starts_with("machine/") && it.state == ItemState::Done;
    assert!(!plan.items.iter().any(written));
}

fn plan_now(world: &World) -> Plan {
    plan(world.shoot, &world.observed())
}

/// Batches of items that are due at once, each after everything in the simulation has settled.
fn waves(shoot: &ValidShoot) -> Vec<Vec<String>> {
    let mut world = World::new(1, shoot);
    let mut waves = Vec::new();
    loop {
        let plan = plan(shoot, &world.observed());
        let items = plan.items.iter();
        let items = items.filter(|it| matches!(it.state, ItemState::Due(_)));
        let ids: Vec<String> = items.map(|it| it.id.to_string()).collect();
        if ids.is_empty() {
            assert_eq!(open(&plan), "");
            return waves;
        }
        waves.push(ids);
        for action in due(&plan) {
            world.send(action).expect("once");
        }
        while !world.sent.is_empty() {
            world.answer().expect("it is new");
        }
        world.settle();
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
    for id in [
        "control-plane/services",
        "control-plane/exposure",
        "control-plane/csi-machines",
    ] {
        assert!(waves[1].iter().any(|it| it == id), "{id}");
    }
    assert_eq!(waves[1].len(), 9);
    all(2, "certificate/", 11);
    assert_eq!(waves[2].len(), 11);
    // etcd founds its cluster, which is recorded; then it is sealed, and started from its data.
    assert_eq!(waves[3], ["control-plane/etcd"]);
    assert_eq!(waves[4], ["etcd/members"]);
    assert_eq!(waves[5], ["control-plane/etcd"]);
    assert_eq!(waves[6], ["etcd/members"]);
    assert_eq!(waves[7], ["control-plane/kube-apiserver"]);
    all(8, "control-plane/", 4);
    all(8, "certificate/metrics-server", 1);
    all(8, "system/", waves[8].len() - 5);
    assert!(waves[8].contains(&"system/bootstrap".to_owned()));
    assert_eq!(waves[9], ["system/metrics-server", "machine/cpu/z1/0"]);
    // Its node gets its labels, and its token is deleted.
    all(10, "machine/cpu/z1/0", 1);
    all(10, "remove/", 1);
    assert_eq!((waves[10].len(), waves.len()), (2, 11));
}

#[test]
fn network_policies_are_applied_before_the_pods_they_select() {
    let mut shoot = valid_for_tests(SHOOT);
    shoot.network_policies.default = true;
    let waves = waves(&shoot);
    let wave = |prefix: &str| {
        let mut waves = waves.iter();
        let wave = waves.position(|wave| wave.iter().any(|it| it.starts_with(prefix)));
        wave.unwrap_or_else(|| panic!("{prefix} in {waves:#?}"))
    };
    assert!(wave("control-plane/network-policies") < wave("image/"));
    assert_eq!(wave("control-plane/network-policies"), 1);
    assert!(wave("control-plane/cluster-isolation") < wave("machine/"));
    let isolations = waves.iter().flatten().filter(|it| it.contains("isolation"));
    assert_eq!(isolations.count(), 1, "its address is known by then");
}
