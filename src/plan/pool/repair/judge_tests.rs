//! Rules of repair, one by one.

use super::*;
use crate::state::facts::MachineRestart;
use std::collections::BTreeSet;

const NOW: i64 = 100_000;

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn settings() -> RepairSettings {
    RepairSettings {
        timeout: seconds(600),
        conditions: ["KernelDeadlock", DISK_PRESSURE, NETWORK]
            .map(str::to_owned)
            .into(),
        is_disabled: false,
    }
}

fn condition(status: ConditionStatus, age: i64) -> NodeCondition {
    NodeCondition {
        status,
        since: Some(NOW - age),
    }
}

fn ready() -> NodeConditions {
    NodeConditions {
        ready: Some(condition(ConditionStatus::True, 5000)),
        went_silent: false,
        raised: [].into(),
    }
}

fn silent(age: i64) -> NodeConditions {
    NodeConditions {
        ready: Some(condition(ConditionStatus::Unknown, age)),
        went_silent: true,
        raised: [].into(),
    }
}

fn raised(kind: &str, age: i64) -> NodeConditions {
    NodeConditions {
        raised: [(kind.into(), condition(ConditionStatus::True, age))].into(),
        ..ready()
    }
}

/// A pool whose first machine has a fault that is certain.
struct Pool {
    settings: RepairSettings,
    health: ObservedHealth,
    nodes: Vec<Option<NodeConditions>>,
    instances: Vec<MachineInstance>,
    recovered: Vec<RecoveredFault>,
    busy: Option<&'static str>,
    repairs: Vec<i64>,
}

fn name(index: usize) -> Arc<str> {
    format!("m{index}").into()
}

impl Pool {
    fn new(first: NodeConditions, size: usize) -> Pool {
        let unknown = first
            .ready
            .iter()
            .find(|it| it.status == ConditionStatus::Unknown);
        let age = unknown.and_then(|it| u64::try_from(NOW - it.since?).ok());
        // Without a silent kubelet, the clock is what limits the age.
        let age = seconds(age.unwrap_or(9000));
        let mut nodes = vec![Some(ready()); size];
        nodes[0] = Some(first);
        Pool {
            settings: settings(),
            health: ObservedHealth {
                time: NOW,
                stable_for: seconds(180),
                silent_for: [(name(0), age)].into(),
                suspected_for: (0..size).map(|it| (name(it), age)).collect(),
                renewing: (1..size).map(name).collect(),
                ..ObservedHealth::default()
            },
            nodes,
            instances: vec![MachineInstance::default(); size],
            recovered: Vec::new(),
            busy: None,
            repairs: Vec::new(),
        }
    }

    fn decisions(&self) -> BTreeMap<Arc<str>, RepairDecision> {
        let names: Vec<Arc<str>> = (0..self.nodes.len()).map(name).collect();
        let host = Arc::from("host");
        let machines = names.iter().enumerate().map(|(index, name)| JudgedMachine {
            name,
            zone: "a",
            host: Some(&host),
            runs: true,
            has_joined: true,
            node: self.nodes[index].as_ref(),
            instance: &self.instances[index],
        });
        let machines: Vec<_> = machines.collect();
        let suspects = machines
            .iter()
            .filter(|it| is_suspected(it, &self.settings))
            .count();
        judge(&RepairInput {
            settings: &self.settings,
            health: Some(&self.health),
            now: Duration::ZERO,
            zones: [("a".to_owned(), (suspects, machines.len()))].into(),
            machines,
            recovered: self.recovered.clone(),
            busy: self.busy,
            repairs: &self.repairs,
        })
    }

    #[track_caller]
    fn first(&self) -> RepairDecision {
        self.decisions().remove("m0").expect("a decision")
    }

    #[track_caller]
    fn assert_waits(&self, reason: &str) {
        let RepairDecision::Wait(why) = self.first() else {
            panic!("{:?}", self.first());
        };
        assert!(why.contains(reason), "{why}");
    }
}

fn restarted(age: i64) -> MachineInstance {
    MachineInstance {
        uid: Some("new".into()),
        is_running: true,
        restart: Some(MachineRestart {
            at: NOW - age,
            of: "old".into(),
        }),
        replace: None,
    }
}

#[test]
fn a_silent_node_is_restarted_after_half_of_the_timeout_and_replaced_after_all_of_it() {
    assert_eq!(Pool::new(ready(), 3).decisions(), BTreeMap::new());
    Pool::new(silent(299), 3).assert_waits("it is restarted after 300s");
    let restart = RepairDecision::Restart("kubelet does not report for 300s".to_owned());
    assert_eq!(Pool::new(silent(300), 3).first(), restart);

    // While it boots it is not suspected.
    let mut pool = Pool::new(silent(900), 3);
    pool.instances[0] = restarted(660);
    pool.health.suspected_for.insert(name(0), seconds(599));
    pool.assert_waits("it was restarted");
    pool.health.suspected_for.insert(name(0), seconds(600));
    assert!(matches!(pool.first(), RepairDecision::Replace(_)));
    // It failed again, a while after a restart that had helped.
    let mut pool = Pool::new(silent(599), 3);
    pool.instances[0] = restarted(1800);
    pool.assert_waits("it was restarted");
    let mut pool = Pool::new(silent(600), 3);
    pool.instances[0] = restarted(1800);
    assert!(matches!(pool.first(), RepairDecision::Replace(_)));
    let mut pool = Pool::new(silent(600), 3);
    pool.instances[0] = restarted(3600);
    assert!(
        matches!(pool.first(), RepairDecision::Restart(_)),
        "an old story"
    );
}

#[test]
fn a_machine_has_the_whole_timeout_after_its_restart_also_if_its_stop_was_too_short_to_be_seen() {
    let mut pool = Pool::new(silent(5000), 3);
    pool.instances[0] = restarted(599);
    pool.assert_waits("it was restarted");
    pool.instances[0] = restarted(600);
    assert!(matches!(pool.first(), RepairDecision::Replace(_)));
}

#[test]
fn a_restart_that_was_decided_is_carried_out() {
    let mut pool = Pool::new(silent(310), 3);
    pool.instances[0] = restarted(5);
    pool.instances[0].uid = Some("old".into());
    assert!(matches!(pool.first(), RepairDecision::Restart(_)));
}

#[test]
fn nothing_is_judged_when_the_sight_may_be_at_fault() {
    let pool = |change: fn(&mut Pool)| {
        let mut pool = Pool::new(silent(900), 3);
        change(&mut pool);
        pool
    };
    pool(|it| it.health.clock_difference = -6).assert_waits("differs by 6s");
    pool(|it| it.health.stable_for = seconds(179)).assert_waits("179s only");
    pool(|it| it.health.renewing = BTreeSet::new()).assert_waits("no other node renews");
    pool(|it| it.health.renewing = [name(0)].into()).assert_waits("no other node renews");
    let moves = |it: &mut Pool| it.health.silent_for = [(name(0), seconds(59))].into();
    pool(moves).assert_waits("moves");
    pool(|it| it.health.silent_for.clear()).assert_waits("moves");
    pool(|it| it.busy = Some("a rolling update is under way")).assert_waits("rolling update");
    pool(|it| it.settings.is_disabled = true).assert_waits("disableHealthTimeout");
    pool(|it| it.repairs = vec![NOW - 10, NOW - 20, NOW - 3599]).assert_waits("3 machines");
    pool(|it| it.health.suspected_for.clear()).assert_waits("since when is not known");
    let slow = |it: &mut Pool| it.health.silent_for = [(name(0), seconds(299))].into();
    pool(slow).assert_waits("after 300s");
    let late = |it: &mut Pool| it.health.suspected_for = [(name(0), seconds(299))].into();
    pool(late).assert_waits("after 300s");
    // The clock was ahead when the condition changed.
    let future = pool(|it| it.health.time = NOW - 1000);
    assert!(matches!(future.first(), RepairDecision::Restart(_)));
    let old = pool(|it| it.repairs = vec![NOW - 10, NOW - 20, NOW - 3600]);
    assert!(matches!(old.first(), RepairDecision::Restart(_)));
}

#[test]
fn more_than_two_fifths_of_a_pool_or_half_of_a_zone_are_no_matter_of_machines() {
    let mut pool = Pool::new(silent(900), 7);
    pool.nodes[1] = Some(silent(400));
    pool.health.silent_for.insert(name(1), seconds(90));
    let two = pool.decisions();
    assert!(matches!(two["m0"], RepairDecision::Restart(_)));
    let RepairDecision::Wait(why) = &two["m1"] else {
        panic!("{two:?}");
    };
    assert!(
        why.contains("another machine of the pool comes first"),
        "{why}"
    );
    // The other one was restarted, and has its time.
    pool.instances[1] = restarted(400);
    pool.assert_waits("another machine of the pool comes first");
    pool.instances[1] = restarted(1200);
    assert!(matches!(pool.first(), RepairDecision::Restart(_)));
    pool.instances[1] = MachineInstance::default();
    pool.nodes[2] = Some(silent(10));
    pool.assert_waits("3 of 7 nodes of the pool are not healthy, more than 2");
    let alone = Pool::new(silent(900), 1);
    alone.assert_waits("no other node renews");
}

#[test]
fn conditions_are_restarted_or_replaced_by_their_kind() {
    let restarted = Pool::new(raised("KernelDeadlock", 300), 3).first();
    let what = "node has condition KernelDeadlock for 300s".to_owned();
    assert_eq!(restarted, RepairDecision::Restart(what));
    Pool::new(raised(DISK_PRESSURE, 599), 3).assert_waits("a restart does not help");
    let full = Pool::new(raised(DISK_PRESSURE, 600), 3).first();
    assert!(matches!(full, RepairDecision::Replace(_)));
    assert_eq!(
        Pool::new(raised("MemoryPressure", 9000), 3).decisions(),
        BTreeMap::new()
    );
    let mut pool = Pool::new(raised(NETWORK, 900), 7);
    assert!(matches!(pool.first(), RepairDecision::Restart(_)));
    pool.nodes[1] = Some(raised(NETWORK, 900));
    pool.assert_waits("look at the pod network");
}

#[test]
fn a_machine_without_a_node_is_restarted_and_one_on_a_bad_host_is_not() {
    let mut pool = Pool::new(ready(), 3);
    pool.nodes[0] = None;
    pool.health.suspected_for.insert(name(0), seconds(299));
    pool.assert_waits("it is restarted after 300s");
    pool.health.suspected_for.insert(name(0), seconds(300));
    assert!(matches!(pool.first(), RepairDecision::Restart(_)));

    let mut pool = Pool::new(silent(599), 3);
    pool.health.bad_hosts.insert("host".into());
    pool.assert_waits("its host is not ready");
    let mut pool = Pool::new(silent(600), 3);
    pool.health.bad_hosts.insert("host".into());
    assert!(matches!(pool.first(), RepairDecision::Replace(_)));
}

#[test]
fn kubelets_whose_certificates_have_expired_are_replaced_however_many_they_are() {
    let month = 30 * 24 * 60 * 60;
    let lost = |change: fn(&mut Pool)| {
        let mut pool = Pool::new(silent(90), 3);
        pool.health.renewing = BTreeSet::new();
        pool.busy = Some("the pool is being changed");
        for index in 0..3 {
            pool.nodes[index] = Some(silent(90));
            pool.health.silent_for.insert(name(index), seconds(60));
            pool.health.renewed_at.insert(name(index), NOW - month - 1);
        }
        change(&mut pool);
        pool
    };
    let all = lost(|_| {}).decisions();
    let why = "kubelet does not report for 60s, and its certificate has expired";
    let replaced = RepairDecision::Replace(why.to_owned());
    assert!(
        all.len() == 3 && all.values().all(|it| *it == replaced),
        "{all:?}"
    );

    lost(|it| it.health.renewed_at.clear()).assert_waits("being changed");
    let younger = |it: &mut Pool| {
        it.health
            .renewed_at
            .insert(name(0), NOW - 30 * 24 * 60 * 60);
    };
    lost(younger).assert_waits("being changed");
    let moves = |it: &mut Pool| {
        it.health.silent_for.insert(name(0), seconds(59));
    };
    lost(moves).assert_waits("being changed");
    let works = |it: &mut Pool| {
        it.health.renewing.insert(name(1));
    };
    lost(works).assert_waits("being changed");
    lost(|it| it.health.clock_difference = 6).assert_waits("being changed");
    lost(|it| it.health.stable_for = seconds(59)).assert_waits("being changed");
    lost(|it| it.settings.is_disabled = true).assert_waits("disableHealthTimeout");
    let ready = |it: &mut Pool| it.nodes[0] = Some(ready());
    assert_eq!(lost(ready).decisions().get("m0"), None);
}

#[test]
fn the_last_silent_nodes_of_a_zone_that_is_back_have_time_to_report() {
    let recovered = |began: u64, ended: u64| {
        let mut pool = Pool::new(silent(600), 4);
        let (began, ended) = (seconds(began), seconds(ended));
        let silent = None;
        pool.recovered = vec![RecoveredFault {
            began,
            silent,
            ended,
        }];
        pool
    };
    recovered(600, 0).assert_waits("may follow");
    recovered(540, 179).assert_waits("may follow");
    let is_restarted = |pool: &Pool| matches!(pool.first(), RepairDecision::Restart(_));
    assert!(is_restarted(&recovered(600, 180)));
    // Another cause.
    assert!(is_restarted(&recovered(539, 0)) && is_restarted(&recovered(661, 0)));
    // It was marked at another time.
    let mut marked = recovered(900, 0);
    marked.recovered[0].silent = Some(seconds(550));
    marked.assert_waits("may follow");
    // The restart was decided before.
    let mut decided = recovered(600, 0);
    decided.instances[0] = MachineInstance {
        uid: Some("old".into()),
        ..restarted(1)
    };
    assert!(is_restarted(&decided));
}

#[test]
fn a_node_has_recovered_if_it_is_healthy_and_was_not_restarted() {
    let (node, sick) = (ready(), silent(10));
    let fault = |health: &ObservedHealth, instance: &MachineInstance, node| {
        let machine = JudgedMachine {
            name: &name(1),
            zone: "a",
            host: None,
            runs: true,
            has_joined: true,
            node,
            instance,
        };
        recovered_fault(&machine, health)
    };
    let (earlier, meanwhile) = (restarted(91), restarted(90));
    let own = MachineInstance::default();
    let known = RecoveredFault {
        began: seconds(90),
        silent: None,
        ended: seconds(20),
    };
    let at_the_look = ObservedHealth {
        time: NOW,
        recovered: [(name(1), known)].into(),
        ..ObservedHealth::default()
    };
    assert_eq!(fault(&at_the_look, &own, Some(&node)), Some(known));
    assert_eq!(fault(&at_the_look, &earlier, Some(&node)), Some(known));
    assert_eq!(fault(&at_the_look, &meanwhile, Some(&node)), None);
    assert_eq!(fault(&at_the_look, &own, Some(&sick)), None);
    assert_eq!(fault(&at_the_look, &own, None), None);
    let since_the_look = ObservedHealth {
        suspected_for: [(name(1), seconds(90))].into(),
        ..ObservedHealth::default()
    };
    let just_now = RecoveredFault {
        ended: Duration::ZERO,
        ..known
    };
    assert_eq!(fault(&since_the_look, &own, Some(&node)), Some(just_now));
    assert_eq!(fault(&ObservedHealth::default(), &own, Some(&node)), None);
}
