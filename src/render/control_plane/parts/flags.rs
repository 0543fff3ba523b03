//! The flags of a program, in the order in which they are given.

use std::collections::BTreeMap;
use std::fmt::Display;

#[derive(Debug)]
pub(crate) struct Flags(Vec<String>);

impl Flags {
    /// The image's entry point may be something else: the program is always named.
    pub(crate) fn of(program: &str) -> Flags {
        Flags(vec![program.to_owned()])
    }

    #[must_use]
    pub(crate) fn set(mut self, name: &str, value: impl Display) -> Flags {
        self.0.push(format!("--{name}={value}"));
        self
    }

    /// Nothing where nothing is given: the program's own default holds.
    #[must_use]
    pub(crate) fn given(self, name: &str, value: Option<impl Display>) -> Flags {
        match value {
            Some(value) => self.set(name, value),
            None => self,
        }
    }

    /// `name=key=value,key=value`.
    #[must_use]
    pub(crate) fn pairs<V: Display>(
        self,
        name: &str,
        pairs: Option<&BTreeMap<String, V>>,
    ) -> Flags {
        let pairs = pairs.filter(|it| !it.is_empty()).map(|pairs| {
            let pairs = pairs.iter().map(|(key, value)| format!("{key}={value}"));
            pairs.collect::<Vec<_>>().join(",")
        });
        self.given(name, pairs)
    }

    /// Values with commas between.
    #[must_use]
    pub(crate) fn list(self, name: &str, values: &[String]) -> Flags {
        let values = (!values.is_empty()).then(|| values.join(","));
        self.given(name, values)
    }

    pub(crate) fn done(self) -> Vec<String> {
        self.0
    }
}
