//! Chains of causes, from an object that is not ready down to the root cause.

use crate::state::printable::one_line;
use std::fmt;
use std::sync::Arc;

/// Kinds whose objects have the same name as their machine.
const NAMED_AFTER_MACHINE: [&str; 3] = ["VirtualMachine", "VirtualMachineInstance", "Node"];

/// One object of a chain, with a short state; empty if unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cause {
    /// As shown by kubectl; Machine for the VM and its node together.
    pub(crate) kind: Arc<str>,
    /// With its namespace for namespaced objects of a shoot.
    pub(crate) name: Arc<str>,
    pub(crate) state: Arc<str>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CauseChain {
    /// The root cause is last.
    pub(crate) causes: Vec<Cause>,
    /// Message of the root cause; empty if its state is enough.
    pub(crate) message: String,
    /// Last lines of a crashed container's log, if there is more than the message.
    pub(crate) log: Vec<String>,
    pub(crate) advice: Option<Advice>,
}

impl CauseChain {
    /// The log as lines below the cause, for people.
    pub(crate) fn log_lines(&self) -> impl Iterator<Item = String> {
        self.log.iter().map(|it| format!("  | {}", one_line(it)))
    }
}

/// Remedy, where it is certain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Advice {
    /// Create the StorageClass, or change the CloudProfile.
    Class,
    /// Raise the quota, or request less.
    Quota,
    /// Check the URL of the image.
    Image,
    /// Check the machine's serial console.
    Console,
    /// Correct the machine's clock, which is behind by a duration in words.
    Clock { behind: String },
    /// Let the machine reach its API server.
    Network,
    /// Have the owner of the finalizer remove it.
    Finalizer,
    /// Read the log of the crashed container.
    Log { container: Arc<str> },
    /// Apply recreates it.
    Apply,
    /// Apply resumes an interrupted run.
    Resume,
    /// Delete resumes the deletion.
    Delete,
    /// Approve the certificate signing request.
    Approve,
    /// Repair ends the attachment of a volume.
    Repair,
    /// A restart of the machine unplugs a volume.
    Restart,
}

impl Cause {
    pub(crate) fn new(
        kind: impl Into<Arc<str>>,
        name: impl Into<Arc<str>>,
        state: impl Into<Arc<str>>,
    ) -> Cause {
        Cause {
            kind: kind.into(),
            name: name.into(),
            state: state.into(),
        }
    }

    /// Formats the cause below `subject`, whose name is omitted.
    fn describe(&self, subject: &str) -> String {
        let is_known = *self.name == *subject && NAMED_AFTER_MACHINE.contains(&&*self.kind);
        let name = if is_known { "" } else { &*self.name };
        let words = [&*self.kind, name, &*self.state];
        words
            .into_iter()
            .filter(|it| !it.is_empty())
            .collect::<Vec<_>>()
            .join(" ")
    }
}

impl CauseChain {
    pub(crate) fn new(link: Cause, message: impl Into<String>) -> CauseChain {
        CauseChain {
            causes: vec![link],
            message: message.into(),
            ..CauseChain::default()
        }
    }

    /// A message of a server or controller; quota messages have requested, used and limited amounts.
    pub(crate) fn reported(link: Cause, message: impl Into<String>) -> CauseChain {
        let message = message.into();
        let advice = message.contains("exceeded quota").then_some(Advice::Quota);
        CauseChain {
            advice,
            ..CauseChain::new(link, message)
        }
    }

    pub(crate) fn with_advice(mut self, advice: Advice) -> CauseChain {
        self.advice = Some(advice);
        self
    }

    /// The same chain below another cause.
    pub(crate) fn under(mut self, link: Cause) -> CauseChain {
        self.causes.insert(0, link);
        self
    }

    /// Formats causes below `subject`, which the reader already knows.
    pub(crate) fn describe_causes(links: &[Cause], message: &str, subject: &str) -> String {
        let links = links.iter().map(|it| it.describe(subject));
        let links = links.collect::<Vec<_>>().join(" <- ");
        match (links.as_str(), message) {
            ("", message) => message.to_owned(),
            (links, "") => links.to_owned(),
            (links, message) => format!("{links}: {message}"),
        }
    }

    /// Formats the chain for a reader who knows `subject`.
    pub(crate) fn describe(&self, subject: &str) -> String {
        CauseChain::describe_causes(&self.causes, &self.message, subject)
    }

    /// Formats the chain without its first cause.
    pub(crate) fn describe_rest(&self) -> String {
        let (name, links) = match self.causes.split_first() {
            Some((first, rest)) => (&*first.name, rest),
            None => ("", &[][..]),
        };
        CauseChain::describe_causes(links, &self.message, name)
    }
}

impl fmt::Display for CauseChain {
    /// `Machine a: VirtualMachine Starting <- Pod b Pending: insufficient cpu`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(first) = self.causes.first() else {
            return f.write_str(&self.message);
        };
        let name = if first.name.is_empty() { "" } else { " " };
        write!(f, "{}{name}{}", first.kind, first.name)?;
        let rest = self.describe_rest();
        let arrow = if self.causes.len() > 1 { " <- " } else { ": " };
        match (&*first.state, rest.as_str()) {
            ("", "") => Ok(()),
            ("", rest) => write!(f, ": {rest}"),
            (state, "") => write!(f, ": {state}"),
            (state, rest) => write!(f, ": {state}{arrow}{rest}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_cause_is_last_and_a_machine_s_name_appears_once() {
        let volume = Cause::new("DataVolume", "a", "Pending");
        let claim = Cause::new("PersistentVolumeClaim", "a", "Pending");
        let chain = CauseChain::new(claim, "no class").under(volume);
        assert_eq!(
            chain.to_string(),
            "DataVolume a: Pending <- PersistentVolumeClaim a Pending: no class"
        );
        let chain = chain.under(Cause::new("VirtualMachine", "a", "Provisioning"));
        let below = "VirtualMachine Provisioning <- DataVolume a Pending \
            <- PersistentVolumeClaim a Pending: no class";
        assert_eq!(chain.describe("a"), below);
        let chain = chain.under(Cause::new("Machine", "a", ""));
        assert_eq!(chain.to_string(), format!("Machine a: {below}"));
        assert_eq!(chain.describe_rest(), below);
    }

    #[test]
    fn a_cause_without_message_is_shown_by_its_state() {
        let link = Cause::new("VirtualMachine", "a", "Stopped");
        let chain = CauseChain::new(link, "");
        assert_eq!(chain.to_string(), "VirtualMachine a: Stopped");
        assert_eq!(chain.describe("a"), "VirtualMachine Stopped");
        let api_server = Cause::new("API server", "", "");
        let chain = CauseChain::new(api_server, "no response");
        assert_eq!(chain.to_string(), "API server: no response");
    }
}
