//! What the rolling update judges: what is there, and what is on its way.

use super::rolling_update::{self, Phase};
use super::target::Wants;
use crate::plan::planner::Planner;
use crate::state::action::{Action, Content, Wanted};
use crate::state::facts::{Look, Machine};
use crate::state::key::{Key, Kind};
use crate::state::observed::Observed;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

/// What the rolling update judges: what is there, what was sent, and what it says.
pub(crate) struct Seen<'a> {
    pub(crate) machines: Vec<(&'a Arc<str>, &'a Machine)>,
    pub(crate) judged: Vec<rolling_update::Machine>,
    pub(crate) setbacks: Vec<u32>,
    /// Those that may go now.
    pub(crate) chosen: HashSet<usize>,
    pub(crate) create: Vec<(usize, u32)>,
    /// Names of those whose making has no answer yet.
    pub(crate) coming: Vec<Arc<str>>,
}

pub(crate) fn look<'a>(planner: &mut Planner<'a>, wants: &Wants) -> Seen<'a> {
    let observed = planner.observed;
    let mut seen = Seen {
        machines: Vec::new(),
        judged: Vec::new(),
        setbacks: setbacks(observed, wants),
        chosen: HashSet::new(),
        create: Vec::new(),
        coming: Vec::new(),
    };
    for (name, machine) in observed.pool(&wants.pool) {
        let phase = phase(observed.now, machine, wants.creation_limit);
        if phase == Phase::Creating && wants.creation_limit < Duration::MAX {
            planner.plan.wake_at(machine.since + wants.creation_limit);
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
        seen.judged.push(rolling_update::Machine {
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
            seen.judged.push(rolling_update::Machine {
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
            *count = crate::plan::pool::target::PATIENCE;
        }
    }
    setbacks
}

/// Time has a part in it only here: one that never served fails at its limit.
fn phase(now: Duration, machine: &Machine, limit: Duration) -> Phase {
    match machine.look {
        Look::Coming if now.saturating_sub(machine.since) >= limit => Phase::Failed,
        Look::Coming => Phase::Creating,
        Look::Ready => Phase::Ready,
        Look::NotReady => Phase::NotReady,
        Look::Broken => Phase::Failed,
        Look::Draining | Look::Drained => Phase::Draining,
        Look::Deleting => Phase::Deleting,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::hash::Hash;

    fn phase(since: u64, now: u64, limit: Duration) -> Phase {
        let machine = Machine {
            uid: "u".into(),
            version: "1".into(),
            hash: Hash::default(),
            zone: 0,
            ordinal: 0,
            born: 0,
            look: Look::Coming,
            runs: false,
            evacuating: false,
            since: Duration::from_secs(since),
            image: None,
            networks: [].into(),
            types: [].into(),
            metadata: "".into(),
            status: "".into(),
            cause: None,
        };
        super::phase(Duration::from_secs(now), &machine, limit)
    }

    #[test]
    fn who_never_served_fails_at_its_limit_and_not_before() {
        let limit = Duration::from_secs(60);
        assert_eq!(phase(5, 64, limit), Phase::Creating);
        assert_eq!(phase(5, 65, limit), Phase::Failed);
    }

    /// Machines of a pool that is gone from the manifest have none.
    #[test]
    fn a_limit_without_end_never_passes() {
        assert_eq!(phase(5, 1_000_000, Duration::MAX), Phase::Creating);
    }
}
