//! Rolling update of one pool: which machines may be created or removed now.
//!
//! A pure function of the observed machines: it does not matter which run started what, for which hash, or when the
//! last run was interrupted. Every machine counts until it is deleted, for a guest that shuts down still holds its
//! memory and its disks.

use crate::state::hash::Hash;
use std::cmp::Reverse;
use std::collections::{HashSet, VecDeque};

/// Targets and limits of one pool.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RollingPool<'a> {
    pub(crate) hash: Hash,
    /// Target number of machines in each zone; their sum is the desired size.
    pub(crate) targets: &'a [usize],
    pub(crate) surge: usize,
    pub(crate) unavailable: usize,
    /// Machines of this hash that failed in this run, by zone.
    pub(crate) failures: &'a [u32],
    /// Number of failures after which a zone is given up for this run.
    pub(crate) failure_limit: u32,
    /// Zone and ordinal of names whose disks still exist although their machines are deleted: a new machine of that
    /// name would start from them.
    pub(crate) reserved_names: &'a [(usize, u32)],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum RollingPhase {
    /// Created or being created; its node was never ready.
    Creating,
    Ready,
    /// Was ready once, and may be again.
    NotReady,
    /// Will never be ready.
    Failed,
    /// Chosen for removal. The decision is final.
    Draining,
    Deleting,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct RollingMachine {
    pub(crate) hash: Hash,
    pub(crate) zone: usize,
    pub(crate) ordinal: u32,
    pub(crate) phase: RollingPhase,
    /// Position in the order of creation.
    pub(crate) born: u64,
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Transition {
    /// Zone and ordinal of each machine to create.
    pub(crate) create: Vec<(usize, u32)>,
    /// Index of each machine to drain, or to delete at once if it was never ready.
    pub(crate) remove: Vec<usize>,
}

impl RollingMachine {
    fn is_leaving(&self) -> bool {
        matches!(self.phase, RollingPhase::Draining | RollingPhase::Deleting)
    }

    /// Ready, or may become ready.
    fn is_live(&self) -> bool {
        !self.is_leaving() && self.phase != RollingPhase::Failed
    }
}

impl RollingPool<'_> {
    pub(crate) fn desired(&self) -> usize {
        self.targets.iter().sum()
    }

    fn target(&self, zone: usize) -> usize {
        self.targets.get(zone).copied().unwrap_or(0)
    }

    fn gave_up(&self, zone: usize) -> bool {
        self.failures
            .get(zone)
            .is_some_and(|it| *it >= self.failure_limit)
    }
}

pub(crate) fn roll(pool: &RollingPool, machines: &[RollingMachine]) -> Transition {
    let zones = machines
        .iter()
        .map(|it| it.zone + 1)
        .max()
        .unwrap_or(0)
        .max(pool.targets.len());
    let mut live = vec![0; zones];
    let mut current = vec![0; zones];
    for machine in machines.iter().filter(|it| it.is_live()) {
        live[machine.zone] += 1;
        current[machine.zone] += usize::from(machine.hash == pool.hash);
    }
    let create = creations(pool, machines, &current);
    // Removals see what is about to be made, and creations do not look at what
    // may be removed; so each move stays right whichever is done first.
    for (zone, _) in &create {
        live[*zone] += 1;
    }
    Transition {
        remove: removals(pool, machines, live, &current),
        create,
    }
}

/// As many creations as the surge allows, first in the zones that lack most.
fn creations(
    pool: &RollingPool,
    machines: &[RollingMachine],
    current: &[usize],
) -> Vec<(usize, u32)> {
    let mut room = (pool.desired() + pool.surge).saturating_sub(machines.len());
    let mut lack: Vec<usize> = (0..pool.targets.len())
        .map(|it| pool.target(it).saturating_sub(current[it]))
        .collect();
    if room == 0 || lack.iter().all(|it| *it == 0) {
        return Vec::new();
    }
    // A machine being removed keeps its name, and names contain only the tag of the hash.
    let taken: HashSet<(usize, u32)> = machines
        .iter()
        .filter(|it| it.hash.tag() == pool.hash.tag())
        .map(|it| (it.zone, it.ordinal))
        .chain(pool.reserved_names.iter().copied())
        .collect();
    let mut next = vec![0; lack.len()];
    let mut create = Vec::new();
    while room > 0 {
        let open = (0..lack.len()).filter(|it| lack[*it] > 0 && !pool.gave_up(*it));
        let setbacks = |zone: usize| pool.failures.get(zone).copied().unwrap_or(0);
        let Some(zone) = open.min_by_key(|it| (setbacks(*it), Reverse(lack[*it]))) else {
            break;
        };
        while taken.contains(&(zone, next[zone])) {
            next[zone] += 1;
        }
        create.push((zone, next[zone]));
        next[zone] += 1;
        lack[zone] -= 1;
        room -= 1;
    }
    create
}

/// Failed machines, then surplus machines that are not ready; then, as far as the bounds
/// allow, what is outdated (idle before serving), and what is too much.
fn removals(
    pool: &RollingPool,
    machines: &[RollingMachine],
    live: Vec<usize>,
    current: &[usize],
) -> Vec<usize> {
    let floor = pool.desired().saturating_sub(pool.unavailable);
    let is_outdated = |it: &RollingMachine| it.hash != pool.hash;
    let ready = machines
        .iter()
        .filter(|it| it.phase == RollingPhase::Ready)
        .count();
    let idle_old = machines
        .iter()
        .filter(|it| it.is_live() && it.phase != RollingPhase::Ready && is_outdated(it))
        .count();

    let surplus = surplus(pool, machines, current);
    let (serving, idle): (Vec<usize>, Vec<usize>) = surplus
        .into_iter()
        .partition(|it| machines[*it].phase == RollingPhase::Ready);
    let mut going = RemovalSelection {
        pool,
        machines,
        live,
        remove: Vec::new(),
    };
    going.all(|it| it.phase == RollingPhase::Failed);
    for index in idle {
        going.one(index);
    }
    // An old machine that is not ready may recover, so it counts until new ones are ready.
    let mut budget = (ready + idle_old).saturating_sub(floor);
    let outdated = |phase| oldest_first(machines, |it| it.phase == phase && is_outdated(it));
    going.some(outdated(RollingPhase::Creating), &mut budget);
    going.some(outdated(RollingPhase::NotReady), &mut budget);
    let mut budget = ready.saturating_sub(floor).min(budget);
    going.some(outdated(RollingPhase::Ready), &mut budget);
    going.some(serving, &mut budget);
    going.remove
}

/// Current machines beyond their zone's target: idle before serving, newest first.
fn surplus(pool: &RollingPool, machines: &[RollingMachine], current: &[usize]) -> Vec<usize> {
    let mut extra: Vec<usize> = (0..current.len())
        .map(|it| current[it].saturating_sub(pool.target(it)))
        .collect();
    if extra.iter().all(|it| *it == 0) {
        return Vec::new();
    }
    let mut order: Vec<usize> = (0..machines.len())
        .filter(|it| machines[*it].is_live() && machines[*it].hash == pool.hash)
        .collect();
    let rank = |phase| match phase {
        RollingPhase::Creating => 0,
        RollingPhase::NotReady => 1,
        _ => 2,
    };
    order.sort_by_key(|it| (rank(machines[*it].phase), Reverse(machines[*it].born)));
    order.retain(|index| {
        let extra = &mut extra[machines[*index].zone];
        let chosen = *extra > 0;
        *extra = extra.saturating_sub(1);
        chosen
    });
    order
}

fn oldest_first(
    machines: &[RollingMachine],
    which: impl Fn(&RollingMachine) -> bool,
) -> Vec<usize> {
    let mut order: Vec<usize> = (0..machines.len())
        .filter(|it| which(&machines[*it]))
        .collect();
    order.sort_by_key(|it| machines[*it].born);
    order
}

/// Machines selected for removal so far, and what would be left.
struct RemovalSelection<'a> {
    pool: &'a RollingPool<'a>,
    machines: &'a [RollingMachine],
    live: Vec<usize>,
    remove: Vec<usize>,
}

impl RemovalSelection<'_> {
    fn one(&mut self, index: usize) {
        let machine = &self.machines[index];
        if machine.is_live() {
            self.live[machine.zone] -= 1;
        }
        self.remove.push(index);
    }

    fn all(&mut self, which: impl Fn(&RollingMachine) -> bool) {
        for index in 0..self.machines.len() {
            if which(&self.machines[index]) {
                self.one(index);
            }
        }
    }

    /// Takes from the fullest zone while the budget lasts. A zone that was given
    /// up keeps what it has: nothing would take its place.
    fn some(&mut self, candidates: Vec<usize>, budget: &mut usize) {
        let mut queues = vec![VecDeque::new(); self.live.len()];
        for index in candidates {
            queues[self.machines[index].zone].push_back(index);
        }
        while *budget > 0 {
            let excess = |it: &usize| self.live[*it] as isize - self.pool.target(*it) as isize;
            let open = (0..queues.len())
                .filter(|it| !queues[*it].is_empty())
                .filter(|it| !self.pool.gave_up(*it) || excess(it) > 0);
            let Some(zone) = open.max_by_key(|it| (excess(it), Reverse(*it))) else {
                break;
            };
            let index = queues[zone].pop_front().expect("an open queue has one");
            self.one(index);
            *budget -= 1;
        }
    }
}
