//! Observations for tests. Each test sets the fields it depends on.

use crate::state::facts::{
    MachinePhase, ObjectStatus, ObservedMachine, ObservedNode, ObservedObject,
};
use crate::state::record::rotation::{
    Credential, RotationChange, RotationOperation, RotationRecord, RotationStep,
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
        roots: "".into(),
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

/// The first rotation of a credential, at a step that began at `time`.
pub(crate) fn rotation(credential: Credential, step: RotationStep, time: i64) -> RotationRecord {
    let mut record = RotationRecord::default();
    while record.step(credential) != Some(step) {
        let operation = |completes| RotationOperation {
            credentials: [credential].into(),
            completes,
        };
        let change = match record.step(credential) {
            None => RotationChange::Command(operation(false)),
            Some(RotationStep::Prepared) => RotationChange::Command(operation(true)),
            Some(from) => RotationChange::Advance { credential, from },
        };
        record = record.after(&change, time, None);
    }
    record
}

/// Returns how many times more CPU time `large` takes than `small`, each in its fastest run: threads on other processors
/// take no CPU time of this one, but its caches, so that slower runs say something about them. The two run in turns,
/// because the speed of a processor changes.
pub(crate) fn cost_ratio(mut small: impl FnMut(), mut large: impl FnMut()) -> f64 {
    const ENOUGH: Duration = Duration::from_millis(500);
    const MIN_RUNS: u32 = 5;
    let (mut spent, mut fastest, mut runs) = ([Duration::ZERO; 2], [Duration::MAX; 2], [0; 2]);
    while (0..2).any(|it| spent[it] < ENOUGH || runs[it] < MIN_RUNS) {
        let turn = usize::from(spent[0] > spent[1]);
        let before = cpu_time();
        match turn {
            0 => small(),
            _ => large(),
        }
        let time = cpu_time() - before;
        spent[turn] += time;
        fastest[turn] = fastest[turn].min(time);
        runs[turn] += 1;
    }
    let [small, large] = fastest;
    large.as_secs_f64() / small.as_secs_f64()
}

/// CPU time of this thread.
fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).expect("it is positive")
}
