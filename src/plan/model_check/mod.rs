//! Model checkers for the rolling update and the store: every state of a small pool, every history behind a stale
//! cache, random interleavings of the events a store receives, and complete plans in small simulations.
//!
//! `cargo test` searches the smallest pools. The exhaustive search takes minutes:
//!
//! ```text
//! cargo test --release -- --ignored exhaustive --nocapture
//! ```

use super::hash::Hash;
use super::roll::{Machine, Moves, Pool};

mod bench;
mod bootstrap;
mod examples;
mod interleave;
mod invariants;
mod mutations;
mod rng;
mod simulation;
mod stale_cache;
mod states;
mod violations;

/// The rolling update, or a deliberately broken one: a check that cannot fail proves nothing.
type Rule = fn(&Pool, &[Machine]) -> Moves;

/// The desired hash in all searches.
const NOW: Hash = Hash(7 << 44);
