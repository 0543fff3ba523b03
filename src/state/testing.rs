//! What stands in observations of tests; each says itself what matters to it.

use crate::state::facts::{Fact, Look, Machine, Node, Object};
use std::time::Duration;

/// One that runs in the first zone.
pub(crate) fn machine(look: Look) -> Machine {
    Machine {
        uid: "machine".into(),
        version: "1".into(),
        hash: Default::default(),
        zone: 0,
        ordinal: 0,
        born: 0,
        look,
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

/// One that serves.
pub(crate) fn node() -> Node {
    Node {
        uid: "node".into(),
        version: "1".into(),
        serves: true,
        why: "".into(),
        is_ours: true,
        taints: [].into(),
        metadata: "".into(),
    }
}

pub(crate) fn object(fact: Fact) -> Object {
    Object {
        uid: "object".into(),
        version: "1".into(),
        hash: Default::default(),
        leaving: false,
        fact,
    }
}
