//! What is to be done: objects to write and to delete, as data.

use crate::state::failure::Class;
use crate::state::hash::Hash;
use crate::state::key::Key;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Action {
    /// Makes the object, or brings it to the wanted content.
    Apply(Wanted),
    Delete(Target),
    /// Marks the machine as leaving (that write is the decision), then empties its node.
    Drain(Target),
}

/// An object to be, as data; rendered only when it is performed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Wanted {
    pub(crate) key: Key,
    /// Of all that decides the content.
    pub(crate) hash: Hash,
    pub(crate) content: Content,
}

/// What rendering needs beyond the shoot itself.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Content {
    /// The name says it all.
    Plain,
    /// A new machine with its user data; `zone` is the index in the pool.
    Machine {
        pool: Arc<str>,
        zone: usize,
        ordinal: u32,
    },
    /// The user data of a machine that is there without it.
    UserData { pool: Arc<str> },
    /// The bootstrap token of a machine that is there and has not joined.
    Token { machine: Arc<str> },
    /// Labels and annotations of a machine or its node, which stays as it is otherwise.
    Metadata { pool: Arc<str>, uid: Arc<str> },
    /// Whole objects, one after the other.
    Objects(Arc<[Value]>),
    /// Somebody else's objects, and what is no longer among them.
    Bundle(Arc<Bundle>),
    /// A Secret whose content is made when it is written: nobody plans a private key.
    Issue(Arc<Issue>),
}

/// Objects that are known by a list of them, so that those which are no longer wanted can be removed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bundle {
    pub(crate) name: Arc<str>,
    /// The ConfigMap of the list, without its data.
    pub(crate) inventory: Value,
    pub(crate) objects: Vec<Value>,
}

/// A Secret of keys and certificates: `object` without its data.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Issue {
    pub(crate) object: Value,
    pub(crate) what: Issued,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Issued {
    /// `tls.crt`, `tls.key`, and `ca.crt`, which holds all roots that are trusted.
    Root { common_name: &'static str },
    /// `tls.crt`, `tls.key`, `ca.crt` of its root, and `kubeconfig` when a server is named.
    Leaf(Leaf),
    /// `key` and `pub`: signs the tokens of service accounts.
    SigningKey,
    /// `config.yaml`: an EncryptionConfiguration with a random key.
    EncryptionKey,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Leaf {
    /// Name of the root's Secret.
    pub(crate) root: Arc<str>,
    pub(crate) common_name: String,
    pub(crate) organization: Option<&'static str>,
    /// DNS names and addresses of a server.
    pub(crate) names: Vec<String>,
    pub(crate) server: bool,
    pub(crate) client: bool,
    /// URL of the API server that its kubeconfig leads to.
    pub(crate) kubeconfig: Option<String>,
}

/// An object that is there: a new one of the same name is not meant.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Target {
    pub(crate) key: Key,
    pub(crate) uid: Arc<str>,
    /// The newest that is known of it; an action that decides for good is tied to it.
    pub(crate) version: Arc<str>,
    /// Set when the decision rests on the machine not being ready: look again first.
    pub(crate) unless_ready: bool,
    /// How long emptying it may take; None where nothing is to be emptied.
    pub(crate) drain: Option<Duration>,
    /// Set when it goes because it failed; counts against its zone in this run.
    pub(crate) setback: Option<Setback>,
}

/// Where a machine failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Setback {
    pub(crate) pool: Arc<str>,
    pub(crate) hash: Hash,
    pub(crate) zone: usize,
    pub(crate) class: Class,
    /// What was known of the cause.
    pub(crate) why: Arc<str>,
}

impl Action {
    pub(crate) fn key(&self) -> &Key {
        match self {
            Action::Apply(it) => &it.key,
            Action::Delete(it) | Action::Drain(it) => &it.key,
        }
    }

    /// Whether the same is asked for, of whatever version of the object.
    pub(crate) fn is_same(&self, other: &Action) -> bool {
        match (self, other) {
            (Action::Apply(one), Action::Apply(other)) => one == other,
            (Action::Delete(one), Action::Delete(other))
            | (Action::Drain(one), Action::Drain(other)) => {
                (&one.key, &one.uid) == (&other.key, &other.uid)
            }
            _ => false,
        }
    }
}
