//! From a thing that is not as it should be down to the deepest object that has something to say.

use std::fmt;
use std::sync::Arc;

/// Kinds whose objects have the name of the machine that they are.
const OF_MACHINE: [&str; 3] = ["VirtualMachine", "VirtualMachineInstance", "Node"];

/// One object on the way, and a word on how it is; empty where there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Link {
    /// As kubectl names it; Machine for what is several objects.
    pub(crate) kind: Arc<str>,
    /// Inside a shoot with its namespace, if it has one.
    pub(crate) name: Arc<str>,
    pub(crate) state: Arc<str>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Chain {
    /// The deepest one last.
    pub(crate) links: Vec<Link>,
    /// What the deepest one says; empty where its state says it all.
    pub(crate) message: String,
    /// The last lines of what a program said before it crashed, where they are more than the message.
    pub(crate) log: Vec<String>,
    pub(crate) advice: Option<Advice>,
}

/// What a person can do about it, where that is sure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Advice {
    /// Make the class, or name another one in the CloudProfile.
    Class,
    /// Raise the quota, or ask for less.
    Quota,
    /// See whether the address of the image is right.
    Image,
    /// Look at the machine's serial console.
    Console,
    /// Whoever set the finalizer has to take it off.
    Finalizer,
    /// Read what the container said before it ended.
    Log { container: Arc<str> },
    /// Apply makes it anew.
    Apply,
    /// Apply goes on with what was cut off.
    Resume,
    /// Delete goes on with it.
    Delete,
    /// Let somebody approve the request.
    Approve,
}

impl Link {
    pub(crate) fn new(
        kind: impl Into<Arc<str>>,
        name: impl Into<Arc<str>>,
        state: impl Into<Arc<str>>,
    ) -> Link {
        Link {
            kind: kind.into(),
            name: name.into(),
            state: state.into(),
        }
    }

    /// Below what is called `subject`, whose name need not be said again.
    fn told(&self, subject: &str) -> String {
        let is_known = *self.name == *subject && OF_MACHINE.contains(&&*self.kind);
        let name = if is_known { "" } else { &*self.name };
        let words = [&*self.kind, name, &*self.state];
        words
            .into_iter()
            .filter(|it| !it.is_empty())
            .collect::<Vec<_>>()
            .join(" ")
    }
}

impl Chain {
    pub(crate) fn of(link: Link, message: impl Into<String>) -> Chain {
        Chain {
            links: vec![link],
            message: message.into(),
            ..Chain::default()
        }
    }

    /// In the words of a server or a controller; those of a quota say what was used, asked and allowed.
    pub(crate) fn said(link: Link, message: impl Into<String>) -> Chain {
        let message = message.into();
        let advice = message.contains("exceeded quota").then_some(Advice::Quota);
        Chain {
            advice,
            ..Chain::of(link, message)
        }
    }

    pub(crate) fn advised(mut self, advice: Advice) -> Chain {
        self.advice = Some(advice);
        self
    }

    /// The same below another link.
    pub(crate) fn under(mut self, link: Link) -> Chain {
        self.links.insert(0, link);
        self
    }

    /// What stands below `subject`, which was named before.
    pub(crate) fn below(links: &[Link], message: &str, subject: &str) -> String {
        let links = links.iter().map(|it| it.told(subject));
        let links = links.collect::<Vec<_>>().join(" <- ");
        match (links.as_str(), message) {
            ("", message) => message.to_owned(),
            (links, "") => links.to_owned(),
            (links, message) => format!("{links}: {message}"),
        }
    }

    /// For somebody who knows that it is about `subject`.
    pub(crate) fn told(&self, subject: &str) -> String {
        Chain::below(&self.links, &self.message, subject)
    }

    /// For somebody who has the first link before him.
    pub(crate) fn rest(&self) -> String {
        let (name, links) = match self.links.split_first() {
            Some((first, rest)) => (&*first.name, rest),
            None => ("", &[][..]),
        };
        Chain::below(links, &self.message, name)
    }
}

impl fmt::Display for Chain {
    /// `Machine a: VirtualMachine Starting <- Pod b Pending: no host has room`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(first) = self.links.first() else {
            return f.write_str(&self.message);
        };
        let name = if first.name.is_empty() { "" } else { " " };
        write!(f, "{}{name}{}", first.kind, first.name)?;
        let rest = self.rest();
        let arrow = if self.links.len() > 1 { " <- " } else { ": " };
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
    fn the_deepest_object_is_told_last_and_a_machine_s_name_once() {
        let volume = Link::new("DataVolume", "a", "Pending");
        let claim = Link::new("PersistentVolumeClaim", "a", "Pending");
        let chain = Chain::of(claim, "no class").under(volume);
        assert_eq!(
            chain.to_string(),
            "DataVolume a: Pending <- PersistentVolumeClaim a Pending: no class"
        );
        let chain = chain.under(Link::new("VirtualMachine", "a", "Provisioning"));
        let below = "VirtualMachine Provisioning <- DataVolume a Pending \
            <- PersistentVolumeClaim a Pending: no class";
        assert_eq!(chain.told("a"), below);
        let chain = chain.under(Link::new("Machine", "a", ""));
        assert_eq!(chain.to_string(), format!("Machine a: {below}"));
        assert_eq!(chain.rest(), below);
    }

    #[test]
    fn what_says_nothing_is_told_by_its_state() {
        let link = Link::new("VirtualMachine", "a", "Stopped");
        let chain = Chain::of(link, "");
        assert_eq!(chain.to_string(), "VirtualMachine a: Stopped");
        assert_eq!(chain.told("a"), "VirtualMachine Stopped");
        let api_server = Link::new("API server", "", "");
        let chain = Chain::of(api_server, "it does not answer");
        assert_eq!(chain.to_string(), "API server: it does not answer");
    }
}
