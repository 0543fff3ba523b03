//! All possible next steps.

use super::{CacheModel, MachineEntry, MachineStatus, State};
use crate::plan::hash::Hash;
use crate::plan::roll::{Machine, Moves, Phase, Pool};
use MachineStatus::{Absent, CreateSent, Is, RemoveSent};

#[derive(Default)]
pub(super) struct Next {
    /// Steps that happen sooner or later in a fair execution.
    pub(super) good: Vec<State>,
    /// Steps that may happen, but need not.
    pub(super) bad: Vec<State>,
    /// Invariants violated on the way.
    pub(super) violations: Vec<&'static str>,
}

pub(super) fn next(model: &CacheModel, state: &State) -> Next {
    let mut next = Next::default();
    let step = Step { model, state };
    step.start_what_is_due(&mut next);
    for index in 0..state.machines.len() {
        step.land(index, &mut next);
        step.change(index, &mut next);
    }
    step.crash(&mut next);
    next
}

#[derive(Clone, Copy)]
struct Step<'a> {
    model: &'a CacheModel,
    state: &'a State,
}

/// The phase of a machine once its removal was requested.
fn leaving(phase: Phase) -> Phase {
    match phase {
        Phase::Creating | Phase::Failed => Phase::Deleting,
        _ => Phase::Draining,
    }
}

fn hash(number: u8) -> Hash {
    Hash(u64::from(number + 1) << 44)
}

fn is_ready(entry: &MachineEntry) -> bool {
    entry.actual == Is(Phase::Ready)
}

impl Step<'_> {
    fn desired(&self) -> usize {
        self.model.targets(self.state).iter().sum()
    }

    fn floor(&self) -> usize {
        self.desired().saturating_sub(self.model.unavailable)
    }

    fn with(&self, change: impl FnOnce(&mut Vec<MachineEntry>)) -> State {
        let mut after = self.state.clone();
        change(&mut after.machines);
        after
            .machines
            .retain(|it| (it.actual, it.observed) != (Absent, Absent));
        after.machines.sort_unstable();
        after
    }

    fn with_one(&self, index: usize, actual: MachineStatus, observed: MachineStatus) -> State {
        self.with(|all| {
            all[index].actual = actual;
            all[index].observed = observed;
        })
    }

    /// The machine as the plan sees it.
    fn view(&self, entry: &MachineEntry) -> Option<Machine> {
        let phase = match entry.observed {
            Absent => return None,
            CreateSent if !self.model.tracks_sent => return None,
            CreateSent => Phase::Creating,
            Is(phase) => phase,
            RemoveSent(phase) if self.model.tracks_sent => leaving(phase),
            RemoveSent(phase) => phase,
        };
        Some(Machine {
            hash: hash(entry.hash),
            zone: entry.zone,
            ordinal: entry.ordinal,
            phase,
            born: u64::from(entry.hash) * 100 + u64::from(entry.ordinal),
        })
    }

    /// Moves that are due, with removals as indices of this state.
    fn moves(&self) -> Moves {
        let all = self.state.machines.iter().enumerate();
        let observed = all.filter_map(|(index, it)| Some((index, self.view(it)?)));
        let (indices, machines): (Vec<usize>, Vec<Machine>) = observed.unzip();
        let pool = Pool {
            hash: hash(self.state.wanted),
            targets: self.model.targets(self.state),
            surge: self.model.surge,
            unavailable: self.model.unavailable,
            setbacks: &[],
            patience: 2,
            haunted: &[],
        };
        let mut moves = (self.model.rule)(&pool, &machines);
        for it in &mut moves.remove {
            *it = indices[*it];
        }
        moves
    }

    fn start_what_is_due(&self, next: &mut Next) {
        let moves = self.moves();
        for (zone, ordinal) in moves.create {
            let entry = MachineEntry {
                hash: self.state.wanted,
                zone,
                ordinal,
                actual: Absent,
                observed: CreateSent,
            };
            let name = |it: &MachineEntry| (it.hash, it.zone, it.ordinal);
            let all = &self.state.machines;
            match all.iter().position(|it| name(it) == name(&entry)) {
                None => next.good.push(self.with(|all| all.push(entry))),
                Some(it) if all[it].observed == CreateSent => {}
                // The server answers AlreadyExists, so the existing machine is treated as ours.
                Some(it) => {
                    let actual = all[it].actual;
                    next.good.push(self.with_one(it, actual, actual));
                }
            }
        }
        for index in moves.remove {
            let Is(phase) = self.state.machines[index].observed else {
                continue;
            };
            let actual = self.state.machines[index].actual;
            let after = self.with_one(index, actual, RemoveSent(phase));
            if phase == Phase::Ready && self.surely_ready(&after) < self.floor() {
                next.violations.push("available");
            }
            next.good.push(after);
        }
    }

    /// Number of ready machines after all requests in flight. A fault that the plan has not observed is not its own.
    fn surely_ready(&self, after: &State) -> usize {
        let stays = |it: &&MachineEntry| is_ready(it) && it.observed != RemoveSent(Phase::Ready);
        let unobserved = |it: &&MachineEntry| it.observed == Is(Phase::Ready) && !is_ready(it);
        let all = after.machines.iter();
        all.clone().filter(stays).count() + all.filter(unobserved).count()
    }

    /// Requests are processed or lost, and events arrive.
    fn land(&self, index: usize, next: &mut Next) {
        let entry = &self.state.machines[index];
        match entry.observed {
            CreateSent => {
                let there = |it: &&MachineEntry| it.actual != Absent;
                let all = self.state.machines.iter().filter(there).count();
                if all + 1 > self.desired() + self.model.surge {
                    next.violations.push("total");
                }
                let created = Is(Phase::Creating);
                next.good.push(self.with_one(index, created, created));
                next.bad.push(self.with_one(index, entry.actual, Absent));
            }
            RemoveSent(phase) => {
                let recovered = phase != Phase::Ready && is_ready(entry);
                if recovered && self.model.rechecks_readiness {
                    next.good
                        .push(self.with_one(index, entry.actual, entry.actual));
                } else {
                    if recovered && self.ready_without(index) < self.floor() {
                        next.violations.push("available after recovery");
                    }
                    let terminating = Is(leaving(phase));
                    next.good
                        .push(self.with_one(index, terminating, terminating));
                }
                next.bad
                    .push(self.with_one(index, entry.actual, entry.actual));
            }
            observed if observed != entry.actual => {
                next.good
                    .push(self.with_one(index, entry.actual, entry.actual));
            }
            _ => {}
        }
    }

    fn ready_without(&self, index: usize) -> usize {
        let after = self.with(|all| all[index].actual = Is(Phase::Draining));
        let unobserved = |it: &&MachineEntry| it.observed == Is(Phase::Ready) && !is_ready(it);
        let all = after.machines.iter();
        all.clone().filter(|it| is_ready(it)).count() + all.filter(unobserved).count()
    }

    /// The actual state changes before the cache shows it.
    fn change(&self, index: usize, next: &mut Next) {
        let entry = &self.state.machines[index];
        let to = |phase| self.with_one(index, Is(phase), entry.observed);
        let fault = |phase| {
            (self.state.faults < self.model.faults).then(|| State {
                faults: self.state.faults + 1,
                ..to(phase)
            })
        };
        match entry.actual {
            Is(Phase::Creating | Phase::NotReady) => {
                next.bad.extend(fault(Phase::Failed));
                next.good.push(to(Phase::Ready));
            }
            Is(Phase::Ready) => next.bad.extend(fault(Phase::NotReady)),
            // The client that drains reports the end itself.
            Is(Phase::Draining) if entry.observed == entry.actual => {
                let over = Is(Phase::Deleting);
                next.good.push(self.with_one(index, over, over));
            }
            Is(Phase::Deleting) => next.good.push(self.with_one(index, Absent, entry.observed)),
            _ => {}
        }
    }

    /// Requests in flight are lost, and the next run observes again, perhaps with an edited manifest.
    fn crash(&self, next: &mut Next) {
        let first_list = |it: &MachineEntry| {
            let is_young = it.actual == Is(Phase::Creating) && it.observed == it.actual;
            match it.observed {
                _ if self.model.consistent_list => it.actual,
                CreateSent => Absent,
                RemoveSent(_) => it.actual,
                _ if is_young => Absent,
                other => other,
            }
        };
        let crashed = self.with(|all| all.iter_mut().for_each(|it| it.observed = first_list(it)));
        if self.state.wanted == 0 {
            next.bad.push(State {
                wanted: 1,
                ..crashed.clone()
            });
        }
        next.bad.push(crashed);
    }
}
