//! Invariant violations found by a search.

use std::collections::BTreeMap;
use std::fmt;

/// Names of violated invariants, with the number of violations and the first counterexample.
#[derive(Debug, Default)]
pub(super) struct Violations(BTreeMap<&'static str, (u64, String)>);

impl Violations {
    pub(super) fn require(
        &mut self,
        name: &'static str,
        holds: bool,
        show: impl FnOnce() -> String,
    ) {
        if !holds {
            self.0.entry(name).or_insert_with(|| (0, show())).0 += 1;
        }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    #[track_caller]
    pub(super) fn assert_none(&self) {
        assert!(self.0.is_empty(), "{self}");
    }

    /// For deliberately broken implementations.
    #[track_caller]
    pub(super) fn assert_has(&self, name: &str) {
        assert!(self.has(name), "“{name}” noticed nothing; broken:\n{self}");
    }
}

impl fmt::Display for Violations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, (count, first)) in &self.0 {
            writeln!(f, "“{name}” is broken {count} times, first in\n    {first}")?;
        }
        Ok(())
    }
}
