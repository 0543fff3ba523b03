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
        zone: 0,
        ordinal: 0,
        born: 0,
        phase: look,
        runs: true,
        evacuating: false,
        since: Duration::ZERO,
        image: None,
        networks: [].into(),
        types: [].into(),
        metadata: "".into(),
        status: "Running".into(),
        cause: None,
    }
}

/// A node that is ready.
pub(crate) fn node() -> ObservedNode {
    ObservedNode {
        uid: "node".into(),
        version: "1".into(),
        serves: true,
        why: "".into(),
        is_ours: true,
        taints: [].into(),
        metadata: "".into(),
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
