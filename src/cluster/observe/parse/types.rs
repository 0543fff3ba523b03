//! Facts of API objects, as far as they follow from one object alone.

use super::deletion::Going;
use crate::state::facts::Fact;
use crate::state::hash::Hash;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// One object, without what only this run knows about it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Seen {
    /// UID of the record that it belongs to, by its label.
    pub(crate) shoot: Option<Arc<str>>,
    pub(crate) hash: Hash,
    /// Somebody deleted it, and it is not gone yet.
    pub(crate) leaving: bool,
    pub(crate) body: Body,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Body {
    Plain,
    /// What its fact is follows from the object alone.
    Told(Fact),
    Node(Node),
    /// The claims that it holds; None when it is nothing to the provider.
    Guest(Option<Arc<[Arc<str>]>>),
    Record {
        sizes: BTreeMap<Arc<str>, usize>,
        cluster_ip: Option<Arc<str>>,
        expiry: Option<Arc<str>>,
    },
    Volume(Volume),
    /// A disk of the machine that has this UID and name.
    Disk {
        owner: Arc<str>,
        machine: Arc<str>,
    },
    Machine(Box<Vm>),
    Instance(Instance),
}

/// What a machine's instance says that the machine does not.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Instance {
    /// UID of the machine.
    pub(crate) owner: Arc<str>,
    /// Its host is being emptied, and that waits for somebody to replace it.
    pub(crate) evacuating: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    /// Why it does not serve; None while it does.
    pub(crate) why: Option<Arc<str>>,
    pub(crate) is_ours: bool,
    pub(crate) taints: Arc<[Value]>,
    pub(crate) metadata: Arc<str>,
}

/// A golden volume.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Volume {
    pub(crate) done: bool,
    pub(crate) percent: Option<f32>,
    /// In bytes.
    pub(crate) size: Option<u64>,
    pub(crate) waits: Option<Arc<str>>,
    /// It failed as often as it may, or for good.
    pub(crate) failed: Option<Arc<str>>,
    /// How often the importer began anew.
    pub(crate) restarts: i64,
    /// CDI does not try it again.
    pub(crate) dead: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Vm {
    pub(crate) pool: Arc<str>,
    /// From 0.
    pub(crate) zone: usize,
    pub(crate) ordinal: u32,
    /// Seconds since 1970.
    pub(crate) born: u64,
    pub(crate) ready: bool,
    /// The hypervisor gave up on it.
    pub(crate) broken: bool,
    /// Chosen to go.
    pub(crate) marked: bool,
    pub(crate) image: Option<Arc<str>>,
    pub(crate) networks: Arc<[Arc<str>]>,
    pub(crate) types: Arc<[Arc<str>]>,
    pub(crate) metadata: Arc<str>,
    pub(crate) status: Arc<str>,
    /// What KubeVirt complains of.
    pub(crate) complaint: Option<Arc<str>>,
    pub(crate) going: Option<Going>,
}
