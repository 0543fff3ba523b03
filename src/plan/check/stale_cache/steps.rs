use super::{CachedMachine, MachineView, State, World};
use crate::plan::pool::rolling_update::{RollingMachine, RollingPhase, RollingPool, Transition};
use crate::state::hash::Hash;
use MachineView::{Absent, CreateSent, DeleteSent, Is};

#[derive(Default)]
pub(crate) struct Next {
    /// States that are reached sooner or later.
    pub(crate) good: Vec<State>,
    /// States that may be reached, for example after a fault.
    pub(crate) bad: Vec<State>,
    /// Violated invariants.
    pub(crate) broken: Vec<&'static str>,
}

pub(crate) fn next(world: &World, state: &State) -> Next {
    let mut next = Next::default();
    let step = Step { world, state };
    step.start_what_is_due(&mut next);
    for index in 0..state.machines.len() {
        step.receive(index, &mut next);
        step.change(index, &mut next);
    }
    step.crash(&mut next);
    next
}

#[derive(Clone, Copy)]
struct Step<'a> {
    world: &'a World,
    state: &'a State,
}

/// State of a machine after its deletion was requested.
fn leaving(phase: RollingPhase) -> RollingPhase {
    match phase {
        RollingPhase::Creating | RollingPhase::Failed => RollingPhase::Deleting,
        _ => RollingPhase::Draining,
    }
}

fn hash(number: u8) -> Hash {
    Hash(u64::from(number + 1) << 44)
}

fn is_ready(machine: &CachedMachine) -> bool {
    machine.actual == Is(RollingPhase::Ready)
}

impl Step<'_> {
    fn desired(&self) -> usize {
        self.world.targets(self.state).iter().sum()
    }

    fn floor(&self) -> usize {
        self.desired().saturating_sub(self.world.unavailable)
    }

    fn with(&self, change: impl FnOnce(&mut Vec<CachedMachine>)) -> State {
        let mut after = self.state.clone();
        change(&mut after.machines);
        after
            .machines
            .retain(|it| (it.actual, it.cached) != (Absent, Absent));
        after.machines.sort_unstable();
        after
    }

    fn with_one(&self, index: usize, actual: MachineView, cached: MachineView) -> State {
        self.with(|all| {
            all[index].actual = actual;
            all[index].cached = cached;
        })
    }

    /// The machine in the planner's input.
    fn view(&self, machine: &CachedMachine) -> Option<RollingMachine> {
        let phase = match machine.cached {
            Absent => return None,
            CreateSent if !self.world.sees_requests => return None,
            CreateSent => RollingPhase::Creating,
            Is(phase) => phase,
            DeleteSent(phase) if self.world.sees_requests => leaving(phase),
            DeleteSent(phase) => phase,
        };
        Some(RollingMachine {
            hash: hash(machine.hash),
            zone: machine.zone,
            ordinal: machine.ordinal,
            phase,
            born: u64::from(machine.hash) * 100 + u64::from(machine.ordinal),
        })
    }

    /// What is due, with the removals as indices of this state.
    fn moves(&self) -> Transition {
        let all = self.state.machines.iter().enumerate();
        let visible = all.filter_map(|(index, it)| Some((index, self.view(it)?)));
        let (indices, machines): (Vec<usize>, Vec<RollingMachine>) = visible.unzip();
        let pool = RollingPool {
            hash: hash(self.state.wanted),
            targets: self.world.targets(self.state),
            surge: self.world.surge,
            unavailable: self.world.unavailable,
            failures: &[],
            failure_limit: 2,
            reserved_names: &[],
        };
        let mut moves = (self.world.rule)(&pool, &machines);
        for it in &mut moves.remove {
            *it = indices[*it];
        }
        moves
    }

    fn start_what_is_due(&self, next: &mut Next) {
        let moves = self.moves();
        for (zone, ordinal) in moves.create {
            let machine = CachedMachine {
                hash: self.state.wanted,
                zone,
                ordinal,
                actual: Absent,
                cached: CreateSent,
            };
            let name = |it: &CachedMachine| (it.hash, it.zone, it.ordinal);
            let all = &self.state.machines;
            match all.iter().position(|it| name(it) == name(&machine)) {
                None => next.good.push(self.with(|all| all.push(machine))),
                Some(it) if all[it].cached == CreateSent => {}
                // The server answers AlreadyExists, so the existing object is taken for ours.
                Some(it) => {
                    let actual = all[it].actual;
                    next.good.push(self.with_one(it, actual, actual));
                }
            }
        }
        for index in moves.remove {
            let Is(phase) = self.state.machines[index].cached else {
                continue;
            };
            let actual = self.state.machines[index].actual;
            let after = self.with_one(index, actual, DeleteSent(phase));
            if phase == RollingPhase::Ready && self.surely_ready(&after) < self.floor() {
                next.broken.push("available");
            }
            next.good.push(after);
        }
    }

    /// Number of ready machines once all requests have arrived. Faults that are not in the cache yet count as ready.
    fn surely_ready(&self, after: &State) -> usize {
        let stays =
            |it: &&CachedMachine| is_ready(it) && it.cached != DeleteSent(RollingPhase::Ready);
        let unobserved =
            |it: &&CachedMachine| it.cached == Is(RollingPhase::Ready) && !is_ready(it);
        let all = after.machines.iter();
        all.clone().filter(stays).count() + all.filter(unobserved).count()
    }

    /// A request arrives or is lost, or the cache is updated.
    fn receive(&self, index: usize, next: &mut Next) {
        let machine = &self.state.machines[index];
        match machine.cached {
            CreateSent => {
                let there = |it: &&CachedMachine| it.actual != Absent;
                let all = self.state.machines.iter().filter(there).count();
                if all + 1 > self.desired() + self.world.surge {
                    next.broken.push("total");
                }
                let made = Is(RollingPhase::Creating);
                next.good.push(self.with_one(index, made, made));
                next.bad.push(self.with_one(index, machine.actual, Absent));
            }
            DeleteSent(phase) => {
                let recovered = phase != RollingPhase::Ready && is_ready(machine);
                if recovered && self.world.rechecks_readiness {
                    next.good
                        .push(self.with_one(index, machine.actual, machine.actual));
                } else {
                    if recovered && self.left_without(index) < self.floor() {
                        next.broken.push("available, as it came back");
                    }
                    let gone = Is(leaving(phase));
                    next.good.push(self.with_one(index, gone, gone));
                }
                next.bad
                    .push(self.with_one(index, machine.actual, machine.actual));
            }
            cached if cached != machine.actual => {
                next.good
                    .push(self.with_one(index, machine.actual, machine.actual));
            }
            _ => {}
        }
    }

    fn left_without(&self, index: usize) -> usize {
        let after = self.with(|all| all[index].actual = Is(RollingPhase::Draining));
        let unobserved =
            |it: &&CachedMachine| it.cached == Is(RollingPhase::Ready) && !is_ready(it);
        let all = after.machines.iter();
        all.clone().filter(|it| is_ready(it)).count() + all.filter(unobserved).count()
    }

    /// The machine changes, and the cache does not show it yet.
    fn change(&self, index: usize, next: &mut Next) {
        let machine = &self.state.machines[index];
        let to = |phase| self.with_one(index, Is(phase), machine.cached);
        let fault = |phase| {
            (self.state.faults < self.world.faults).then(|| State {
                faults: self.state.faults + 1,
                ..to(phase)
            })
        };
        match machine.actual {
            Is(RollingPhase::Creating | RollingPhase::NotReady) => {
                next.bad.extend(fault(RollingPhase::Failed));
                next.good.push(to(RollingPhase::Ready));
            }
            Is(RollingPhase::Ready) => next.bad.extend(fault(RollingPhase::NotReady)),
            // The drain itself reports its end.
            Is(RollingPhase::Draining) if machine.cached == machine.actual => {
                let over = Is(RollingPhase::Deleting);
                next.good.push(self.with_one(index, over, over));
            }
            Is(RollingPhase::Deleting) => {
                next.good.push(self.with_one(index, Absent, machine.cached))
            }
            _ => {}
        }
    }

    /// The run is killed. The next one lists the machines, and its manifest may differ.
    fn crash(&self, next: &mut Next) {
        let listed = |machine: &CachedMachine| {
            let is_young =
                machine.actual == Is(RollingPhase::Creating) && machine.cached == machine.actual;
            match machine.cached {
                _ if self.world.consistent_list => machine.actual,
                CreateSent => Absent,
                DeleteSent(_) => machine.actual,
                _ if is_young => Absent,
                other => other,
            }
        };
        let crashed = self.with(|all| all.iter_mut().for_each(|it| it.cached = listed(it)));
        if self.state.wanted == 0 {
            next.bad.push(State {
                wanted: 1,
                ..crashed.clone()
            });
        }
        next.bad.push(crashed);
    }
}
