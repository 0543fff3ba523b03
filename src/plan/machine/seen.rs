//! What the rolling update judges: what is there, and what is on its way.

use super::Wants;
use crate::plan::item::{Action, Content, Key, Kind, Plan, Wanted};
use crate::plan::observed::{Machine, Observed};
use crate::plan::roll::{self, Phase};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

/// What the rolling update judges: what is there, what was sent, and what it says.
pub(super) struct Seen<'a> {
    pub(super) machines: Vec<(&'a Arc<str>, &'a Machine)>,
    pub(super) judged: Vec<roll::Machine>,
    pub(super) setbacks: Vec<u32>,
    /// Those that may go now.
    pub(super) chosen: HashSet<usize>,
    pub(super) create: Vec<(usize, u32)>,
    /// Names of those whose making has no answer yet.
    pub(super) coming: Vec<Arc<str>>,
}

pub(super) fn look<'a>(plan: &mut Plan, observed: &'a Observed, wants: &Wants) -> Seen<'a> {
    let mut seen = Seen {
        machines: Vec::new(),
        judged: Vec::new(),
        setbacks: setbacks(observed, wants),
        chosen: HashSet::new(),
        create: Vec::new(),
        coming: Vec::new(),
    };
    for (name, machine) in observed.pool(&wants.pool) {
        let phase = observed.phase(machine, wants.creation_limit);
        if phase == Phase::Creating && wants.creation_limit < Duration::MAX {
            plan.wake_at(machine.since + wants.creation_limit);
        }
        let Machine {
            zone,
            ordinal,
            born,
            ..
        } = *machine;
        // Its host is being emptied: it is to be replaced, and keeps its name until it is gone.
        let hash = match machine.evacuating && machine.hash == wants.hash {
            true => wants.hash.beside(),
            false => machine.hash,
        };
        seen.machines.push((name, machine));
        seen.judged.push(roll::Machine {
            hash,
            zone,
            ordinal,
            phase,
            born,
        });
    }
    in_flight(observed, wants, &mut seen);
    seen
}

/// Requests without an answer count as if they had happened.
fn in_flight(observed: &Observed, wants: &Wants, seen: &mut Seen) {
    for (index, (name, machine)) in seen.machines.iter().enumerate() {
        let removed = match observed
            .sent
            .get(&Key::provider(Kind::Machine, (*name).clone()))
        {
            Some(Action::Delete(target)) if target.uid == machine.uid => Phase::Deleting,
            Some(Action::Drain(target)) if target.uid == machine.uid => Phase::Draining,
            _ => continue,
        };
        if seen.judged[index].phase != Phase::Deleting {
            seen.judged[index].phase = removed;
        }
    }
    for action in observed.sent.values() {
        let Action::Apply(Wanted {
            key,
            hash,
            content:
                Content::Machine {
                    pool,
                    zone,
                    ordinal,
                },
        }) = action
        else {
            continue;
        };
        if *pool != wants.pool {
            continue;
        }
        seen.coming.push(key.name.clone());
        let there = observed.facts.machines.get(pool);
        if there.is_none_or(|it| !it.contains_key(&key.name)) {
            seen.judged.push(roll::Machine {
                hash: *hash,
                zone: *zone,
                ordinal: *ordinal,
                phase: Phase::Creating,
                born: u64::MAX,
            });
        }
    }
}

/// A zone whose machine was refused is as good as given up: nothing would take an old one's place.
fn setbacks(observed: &Observed, wants: &Wants) -> Vec<u32> {
    let key = (wants.pool.clone(), wants.hash);
    let mut setbacks = observed.setbacks.get(&key).cloned().unwrap_or_default();
    setbacks.resize(wants.targets.len(), 0);
    for (action, _) in observed.refused.values() {
        if let Action::Apply(Wanted {
            content: Content::Machine { pool, zone, .. },
            hash,
            ..
        }) = action
            && (pool, *hash) == (&wants.pool, wants.hash)
            && let Some(count) = setbacks.get_mut(*zone)
        {
            *count = super::PATIENCE;
        }
    }
    setbacks
}
