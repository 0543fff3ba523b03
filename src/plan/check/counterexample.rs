//! Invariant violations found by a search.

use std::collections::BTreeMap;
use std::fmt;

/// Names of violated invariants, with the number of violations and the first counterexample.
#[derive(Debug, Default)]
pub(crate) struct Broken(BTreeMap<&'static str, (u64, String)>);

impl Broken {
    pub(crate) fn must(&mut self, name: &'static str, holds: bool, show: impl FnOnce() -> String) {
        if !holds {
            self.0.entry(name).or_insert_with(|| (0, show())).0 += 1;
        }
    }

    /// Adds the violations that another part of the search found.
    pub(crate) fn merge(&mut self, other: Broken) {
        for (name, (count, first)) in other.0 {
            self.0.entry(name).or_insert((0, first)).0 += count;
        }
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    #[track_caller]
    pub(crate) fn assert_none(&self) {
        assert!(self.0.is_empty(), "{self}");
    }

    /// For deliberately broken implementations.
    #[track_caller]
    pub(crate) fn assert_has(&self, name: &str) {
        assert!(self.has(name), "“{name}” noticed nothing; broken:\n{self}");
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, (count, first)) in &self.0 {
            writeln!(f, "“{name}” is broken {count} times, first in\n    {first}")?;
        }
        Ok(())
    }
}
