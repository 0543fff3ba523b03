//! Observations for tests. Each test sets the fields it depends on.

use crate::state::facts::{
    MachinePhase, ObjectStatus, ObservedMachine, ObservedNode, ObservedObject,
};
use std::time::Duration;

/// A machine that runs in the first zone.
pub(crate) fn machine(look: MachinePhase) -> ObservedMachine {
    ObservedMachine {
        uid: "machine".into(),
        version: "1".into(),
        hash: Default::default(),
        content: None,
        zone: 0,
        ordinal: 0,
        born: 0,
        phase: look,
        runs: true,
        sleep: Default::default(),
        halted_at: None,
        evacuation: None,
        since: Duration::ZERO,
        unschedulable_since: None,
        image: None,
        networks: [].into(),
        types: [].into(),
        metadata: "".into(),
        status: "Running".into(),
        cause: None,
        placement: Default::default(),
        instance: Default::default(),
    }
}

/// A node that is ready.
pub(crate) fn node() -> ObservedNode {
    ObservedNode {
        uid: "node".into(),
        version: "1".into(),
        created: None,
        serves: true,
        why: "".into(),
        conditions: Default::default(),
        is_ours: true,
        taints: [].into(),
        metadata: "".into(),
        info: Default::default(),
    }
}

pub(crate) fn object(fact: ObjectStatus) -> ObservedObject {
    ObservedObject {
        uid: "object".into(),
        version: "1".into(),
        hash: Default::default(),
        leaving: false,
        status: fact,
    }
}

/// Returns how many times more CPU time `large` takes than `small`. Other load on the computer takes none of the CPU time
/// of this thread; the two run in turns, because the speed of a processor changes.
pub(crate) fn cost_ratio(mut small: impl FnMut(), mut large: impl FnMut()) -> f64 {
    const ENOUGH: u64 = 50;
    let (mut ticks, mut runs) = ([0, 0], [0, 0]);
    while ticks.iter().any(|it| *it < ENOUGH) {
        let turn = usize::from(ticks[0] > ticks[1]);
        let before = cpu_ticks();
        match turn {
            0 => small(),
            _ => large(),
        }
        ticks[turn] += cpu_ticks() - before;
        runs[turn] += 1;
    }
    let [small, large] = [0, 1].map(|it| ticks[it] as f64 / f64::from(runs[it]));
    large / small
}

/// CPU time of this thread in clock ticks, usually hundredths of a second.
fn cpu_ticks() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").expect("Linux has it");
    // The name of the thread, in parentheses, may contain spaces.
    let (_, fields) = stat.rsplit_once(") ").expect("it contains the name");
    let times = fields.split(' ').skip(11).take(2);
    times.map(|it| it.parse::<u64>().expect("a number")).sum()
}
