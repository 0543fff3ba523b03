//! What a search found that must not be.

use std::collections::BTreeMap;
use std::fmt;

/// Names of what did not hold, how often, and where first.
#[derive(Debug, Default)]
pub(crate) struct Broken(BTreeMap<&'static str, (u64, String)>);

impl Broken {
    pub(crate) fn must(&mut self, name: &'static str, holds: bool, show: impl FnOnce() -> String) {
        if !holds {
            self.0.entry(name).or_insert_with(|| (0, show())).0 += 1;
        }
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    #[track_caller]
    pub(crate) fn assert_none(&self) {
        assert!(self.0.is_empty(), "{self}");
    }

    /// For what is wrong on purpose.
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
