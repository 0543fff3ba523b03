//! Facts of API objects, as far as they follow from one object alone.

use super::deletion::Deletion;
use crate::plan::hash::Hash;
use crate::plan::observed::Fact;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// One object, without what only this run knows about it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ParsedObject {
    /// UID of the record that it belongs to, by its label.
    pub(crate) shoot: Option<Arc<str>>,
    pub(crate) hash: Hash,
    /// Somebody deleted it, and it is not gone yet.
    pub(crate) deleting: bool,
    pub(crate) body: ParsedBody,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ParsedBody {
    Plain,
    /// What its fact is follows from the object alone.
    Status(Fact),
    Node(ParsedNode),
    /// The claims that it holds; None when it is nothing to the provider.
    UserResource(Option<Arc<[Arc<str>]>>),
    Record {
        sizes: BTreeMap<Arc<str>, usize>,
        cluster_ip: Option<Arc<str>>,
        expiry: Option<Arc<str>>,
    },
    Image(ParsedVolume),
    /// A disk of the machine that has this UID and name.
    MachineDisk {
        owner: Arc<str>,
        machine: Arc<str>,
    },
    Machine(Box<ParsedMachine>),
    Instance(ParsedInstance),
}

/// What a machine's instance says that the machine does not.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ParsedInstance {
    /// UID of the machine.
    pub(crate) owner: Arc<str>,
    /// Its host is being emptied, and that waits for somebody to replace it.
    pub(crate) evacuating: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ParsedNode {
    /// Why it does not serve; None while it does.
    pub(crate) why: Option<Arc<str>>,
    pub(crate) is_ours: bool,
    pub(crate) taints: Arc<[Value]>,
    pub(crate) metadata: Arc<str>,
}

/// A golden volume.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ParsedVolume {
    pub(crate) done: bool,
    pub(crate) percent: Option<f32>,
    /// In bytes.
    pub(crate) size: Option<u64>,
    pub(crate) waiting_reason: Option<Arc<str>>,
    /// It failed as often as it may, or for good.
    pub(crate) failed: Option<Arc<str>>,
    /// How often the importer began anew.
    pub(crate) restarts: i64,
    /// CDI does not try it again.
    pub(crate) failed_permanently: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ParsedMachine {
    pub(crate) pool: Arc<str>,
    /// From 0.
    pub(crate) zone: usize,
    pub(crate) ordinal: u32,
    /// Seconds since 1970.
    pub(crate) created: u64,
    pub(crate) ready: bool,
    /// The hypervisor gave up on it.
    pub(crate) broken: bool,
    /// Chosen to go.
    pub(crate) drain_requested: bool,
    pub(crate) image: Option<Arc<str>>,
    pub(crate) networks: Arc<[Arc<str>]>,
    pub(crate) types: Arc<[Arc<str>]>,
    pub(crate) metadata: Arc<str>,
    pub(crate) status: Arc<str>,
    /// What KubeVirt complains of.
    pub(crate) failure_message: Option<Arc<str>>,
    pub(crate) deletion: Option<Deletion>,
}
