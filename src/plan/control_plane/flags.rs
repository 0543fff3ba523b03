//! Builder for a program's command line. Flags keep their order.

use std::collections::BTreeMap;
use std::fmt::Display;

#[derive(Debug)]
pub(super) struct Flags(Vec<String>);

impl Flags {
    /// Starts with the program, because the image's entry point may be a different one.
    pub(super) fn of(program: &str) -> Flags {
        Flags(vec![program.to_owned()])
    }

    #[must_use]
    pub(super) fn set(mut self, name: &str, value: impl Display) -> Flags {
        self.0.push(format!("--{name}={value}"));
        self
    }

    /// Sets the flag if there is a value; otherwise the program's default applies.
    #[must_use]
    pub(super) fn given(self, name: &str, value: Option<impl Display>) -> Flags {
        match value {
            Some(value) => self.set(name, value),
            None => self,
        }
    }

    /// `name=key=value,key=value`.
    #[must_use]
    pub(super) fn pairs<V: Display>(
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

    /// Comma-separated values.
    #[must_use]
    pub(super) fn list(self, name: &str, values: &[String]) -> Flags {
        let values = (!values.is_empty()).then(|| values.join(","));
        self.given(name, values)
    }

    pub(super) fn done(self) -> Vec<String> {
        self.0
    }
}
