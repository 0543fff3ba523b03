use crate::plan::pool::rolling_update::{RollingMachine, RollingPool, Transition};
use crate::state::hash::Hash;

mod bench;
mod bootstrap;
mod counterexample;
mod edits;
mod examples;
mod interleave;
mod invariants;
mod mutations;
pub(in crate::plan) mod rng;
mod simulation;
mod stale_cache;
mod states;
pub(in crate::plan) mod stopped;

pub(crate) use bootstrap::finished;

/// The rolling update, or one that is wrong on purpose: a check that cannot fail proves nothing.
type Rule = fn(&RollingPool, &[RollingMachine]) -> Transition;

/// What is wanted, wherever every state is searched.
const NOW: Hash = Hash(7 << 44);
