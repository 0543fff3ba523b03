use super::{Look, State, Twin, World};
use crate::plan::pool::rolling_update::{RollingMachine, RollingPhase, RollingPool, Transition};
use crate::state::hash::Hash;
use Look::{Absent, Is, MakeSent, RemoveSent};

#[derive(Default)]
pub(crate) struct Next {
    /// What a fair world does sooner or later.
    pub(crate) good: Vec<State>,
    /// What may happen, but need not.
    pub(crate) bad: Vec<State>,
    /// What does not hold on the way.
    pub(crate) broken: Vec<&'static str>,
}

pub(crate) fn next(world: &World, state: &State) -> Next {
    let mut next = Next::default();
    let step = Step { world, state };
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

fn is_ready(twin: &Twin) -> bool {
    twin.truth == Is(RollingPhase::Ready)
}

impl Step<'_> {
    fn desired(&self) -> usize {
        self.world.targets(self.state).iter().sum()
    }

    fn floor(&self) -> usize {
        self.desired().saturating_sub(self.world.unavailable)
    }

    fn with(&self, change: impl FnOnce(&mut Vec<Twin>)) -> State {
        let mut after = self.state.clone();
        change(&mut after.machines);
        after
            .machines
            .retain(|it| (it.truth, it.seen) != (Absent, Absent));
        after.machines.sort_unstable();
        after
    }

    fn with_one(&self, index: usize, truth: Look, seen: Look) -> State {
        self.with(|all| {
            all[index].truth = truth;
            all[index].seen = seen;
        })
    }

    /// What the plan makes of it.
    fn view(&self, twin: &Twin) -> Option<RollingMachine> {
        let phase = match twin.seen {
            Absent => return None,
            MakeSent if !self.world.sent_is_seen => return None,
            MakeSent => RollingPhase::Creating,
            Is(phase) => phase,
            RemoveSent(phase) if self.world.sent_is_seen => leaving(phase),
            RemoveSent(phase) => phase,
        };
        Some(RollingMachine {
            hash: hash(twin.hash),
            zone: twin.zone,
            ordinal: twin.ordinal,
            phase,
            born: u64::from(twin.hash) * 100 + u64::from(twin.ordinal),
        })
    }

    /// What is due, with the removals as indices of this state.
    fn moves(&self) -> Transition {
        let all = self.state.machines.iter().enumerate();
        let seen = all.filter_map(|(index, it)| Some((index, self.view(it)?)));
        let (indices, machines): (Vec<usize>, Vec<RollingMachine>) = seen.unzip();
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
            let twin = Twin {
                hash: self.state.wanted,
                zone,
                ordinal,
                truth: Absent,
                seen: MakeSent,
            };
            let name = |it: &Twin| (it.hash, it.zone, it.ordinal);
            let all = &self.state.machines;
            match all.iter().position(|it| name(it) == name(&twin)) {
                None => next.good.push(self.with(|all| all.push(twin))),
                Some(it) if all[it].seen == MakeSent => {}
                // The server answers AlreadyExists, so the existing object is taken for ours.
                Some(it) => {
                    let truth = all[it].truth;
                    next.good.push(self.with_one(it, truth, truth));
                }
            }
        }
        for index in moves.remove {
            let Is(phase) = self.state.machines[index].seen else {
                continue;
            };
            let truth = self.state.machines[index].truth;
            let after = self.with_one(index, truth, RemoveSent(phase));
            if phase == RollingPhase::Ready && self.surely_ready(&after) < self.floor() {
                next.broken.push("available");
            }
            next.good.push(after);
        }
    }

    /// How many serve when all that is in flight has landed; a fault that the plan has not seen is not its own.
    fn surely_ready(&self, after: &State) -> usize {
        let stays = |it: &&Twin| is_ready(it) && it.seen != RemoveSent(RollingPhase::Ready);
        let unseen = |it: &&Twin| it.seen == Is(RollingPhase::Ready) && !is_ready(it);
        let all = after.machines.iter();
        all.clone().filter(stays).count() + all.filter(unseen).count()
    }

    /// Requests land or are lost, and news arrives.
    fn land(&self, index: usize, next: &mut Next) {
        let twin = &self.state.machines[index];
        match twin.seen {
            MakeSent => {
                let there = |it: &&Twin| it.truth != Absent;
                let all = self.state.machines.iter().filter(there).count();
                if all + 1 > self.desired() + self.world.surge {
                    next.broken.push("total");
                }
                let made = Is(RollingPhase::Creating);
                next.good.push(self.with_one(index, made, made));
                next.bad.push(self.with_one(index, twin.truth, Absent));
            }
            RemoveSent(phase) => {
                let recovered = phase != RollingPhase::Ready && is_ready(twin);
                if recovered && self.world.second_look {
                    next.good.push(self.with_one(index, twin.truth, twin.truth));
                } else {
                    if recovered && self.left_without(index) < self.floor() {
                        next.broken.push("available, as it came back");
                    }
                    let gone = Is(leaving(phase));
                    next.good.push(self.with_one(index, gone, gone));
                }
                next.bad.push(self.with_one(index, twin.truth, twin.truth));
            }
            seen if seen != twin.truth => {
                next.good.push(self.with_one(index, twin.truth, twin.truth));
            }
            _ => {}
        }
    }

    fn left_without(&self, index: usize) -> usize {
        let after = self.with(|all| all[index].truth = Is(RollingPhase::Draining));
        let unseen = |it: &&Twin| it.seen == Is(RollingPhase::Ready) && !is_ready(it);
        let all = after.machines.iter();
        all.clone().filter(|it| is_ready(it)).count() + all.filter(unseen).count()
    }

    /// The world moves, and the store does not know yet.
    fn change(&self, index: usize, next: &mut Next) {
        let twin = &self.state.machines[index];
        let to = |phase| self.with_one(index, Is(phase), twin.seen);
        let fault = |phase| {
            (self.state.faults < self.world.faults).then(|| State {
                faults: self.state.faults + 1,
                ..to(phase)
            })
        };
        match twin.truth {
            Is(RollingPhase::Creating | RollingPhase::NotReady) => {
                next.bad.extend(fault(RollingPhase::Failed));
                next.good.push(to(RollingPhase::Ready));
            }
            Is(RollingPhase::Ready) => next.bad.extend(fault(RollingPhase::NotReady)),
            // The drain itself reports its end.
            Is(RollingPhase::Draining) if twin.seen == twin.truth => {
                let over = Is(RollingPhase::Deleting);
                next.good.push(self.with_one(index, over, over));
            }
            Is(RollingPhase::Deleting) => next.good.push(self.with_one(index, Absent, twin.seen)),
            _ => {}
        }
    }

    /// What is in flight is lost, and the next run looks; it may want something else.
    fn crash(&self, next: &mut Next) {
        let look = |it: &Twin| {
            let is_young = it.truth == Is(RollingPhase::Creating) && it.seen == it.truth;
            match it.seen {
                _ if self.world.consistent_list => it.truth,
                MakeSent => Absent,
                RemoveSent(_) => it.truth,
                _ if is_young => Absent,
                other => other,
            }
        };
        let crashed = self.with(|all| all.iter_mut().for_each(|it| it.seen = look(it)));
        if self.state.wanted == 0 {
            next.bad.push(State {
                wanted: 1,
                ..crashed.clone()
            });
        }
        next.bad.push(crashed);
    }
}
