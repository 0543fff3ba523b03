//! Proofs of the rolling update and of the store: every state of a small pool, every history behind a store
//! that lags, random interleavings of what a store hears, and whole plans in small worlds.
//!
//! `cargo test` searches the smallest pools. The whole search takes minutes:
//!
//! ```text
//! cargo test --release -- --ignored exhaustive --nocapture
//! ```

use crate::plan::pool::rolling_update::{Machine, Moves, Pool};
use crate::state::hash::Hash;

mod bench;
mod broken;
mod dice;
mod examples;
mod first;
mod interleave;
mod invariants;
mod mutants;
mod stale;
mod states;
mod world;

/// The rolling update, or one that is wrong on purpose: a check that cannot fail proves nothing.
type Rule = fn(&Pool, &[Machine]) -> Moves;

/// What is wanted, wherever every state is searched.
const NOW: Hash = Hash(7 << 44);
