//! Facts of API objects that follow from one object alone.

use super::deletion::Deletion;
use crate::state::desired::PoolSize;
use crate::state::desired::machine_content::MachineContent;
use crate::state::facts::{
    Evacuation, GoldenVolume, KubeletRequest, MachineRestart, MachineSleep, NodeConditions,
    NodeInfo, ObjectStatus,
};
use crate::state::hash::Hash;
use crate::state::record::etcd::EtcdRecord;
use crate::state::record::hibernation::HibernationRecord;
use crate::state::record::rotation::{RotationOperation, RotationRecord};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

/// One object, without the history in this run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ParsedObject {
    /// UID of the record that it belongs to, by label.
    pub(crate) shoot: Option<Arc<str>>,
    pub(crate) hash: Hash,
    /// It has a deletion timestamp.
    pub(crate) deleting: bool,
    pub(crate) body: ParsedBody,
    /// Bytes that the body takes, roughly and at most.
    pub(crate) size: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ParsedBody {
    Plain,
    /// The fact follows from the object alone.
    Status(ObjectStatus),
    Node(ParsedNode),
    /// None if it does not concern kubelets.
    SigningRequest(Option<Arc<KubeletRequest>>),
    /// PersistentVolumeClaims that it holds; None if it has no objects in the provider.
    UserResource(Option<Arc<[Arc<str>]>>),
    Record {
        sizes: BTreeMap<Arc<str>, PoolSize>,
        cluster_ip: Option<Arc<str>>,
        expiry: Option<Arc<str>>,
        etcd: Option<EtcdRecord>,
        rotation: RotationRecord,
        hibernation: HibernationRecord,
        operation: Option<RotationOperation>,
        repairs: Arc<[i64]>,
        last_backup: Option<i64>,
    },
    Image(ParsedVolume),
    /// A disk of the machine with this UID and name.
    MachineDisk {
        owner: Arc<str>,
        machine: Arc<str>,
    },
    Machine(Box<ParsedMachine>),
    Instance(ParsedInstance),
}

impl ParsedBody {
    /// Bytes that it takes: the length of its debug text, which has all texts and numbers, and that of parsed JSON.
    pub(super) fn size(&self) -> usize {
        /// Bytes of a small JSON object in memory.
        const JSON_OBJECT: usize = 1_000;
        struct Length(usize);
        impl fmt::Write for Length {
            fn write_str(&mut self, text: &str) -> fmt::Result {
                self.0 += text.len();
                Ok(())
            }
        }
        let mut length = Length(0);
        // It cannot fail.
        let _ = fmt::write(&mut length, format_args!("{self:?}"));
        match self {
            ParsedBody::Node(node) => length.0 + JSON_OBJECT * node.taints.len(),
            _ => length.0,
        }
    }
}

/// A machine could not be migrated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MigrationFailure {
    /// Identifies the eviction from its host, as in [`ParsedInstance`].
    pub(crate) eviction: Arc<str>,
    pub(crate) reason: Arc<str>,
}

/// Facts of a machine's instance that the machine does not have.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ParsedInstance {
    /// UID of the machine.
    pub(crate) owner: Arc<str>,
    /// When its machine has to be replaced because its host is being drained, in seconds since 1970.
    pub(crate) evacuation: Option<(Evacuation, i64)>,
    /// Identifies the eviction from the host that is being drained.
    pub(crate) eviction: Option<Arc<str>>,
    /// Node of the provider cluster.
    pub(crate) host: Option<Arc<str>>,
    /// Addresses of all interfaces, in order.
    pub(crate) addresses: Arc<[Arc<str>]>,
    /// Addresses of the interface `default`.
    pub(crate) node_addresses: Arc<[IpAddr]>,
    pub(crate) is_migrating: bool,
    pub(crate) uid: Arc<str>,
    /// Its phase is Running, and it is not being deleted.
    pub(crate) is_running: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ParsedNode {
    /// Seconds since 1970.
    pub(crate) created: Option<i64>,
    /// Why it is not ready; None if it is.
    pub(crate) why: Option<Arc<str>>,
    pub(crate) conditions: NodeConditions,
    pub(crate) is_ours: bool,
    pub(crate) taints: Arc<[Value]>,
    pub(crate) metadata: Arc<str>,
    pub(crate) roots: Arc<str>,
    pub(crate) info: NodeInfo,
}

/// A golden volume.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ParsedVolume {
    pub(crate) done: bool,
    pub(crate) percent: Option<f32>,
    pub(crate) waiting_reason: Option<Arc<str>>,
    /// Failed too often, or permanently.
    pub(crate) failed: Option<Arc<str>>,
    /// Restarts of the importer.
    pub(crate) restarts: i64,
    /// CDI does not retry.
    pub(crate) failed_permanently: bool,
    pub(crate) volume: GoldenVolume,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ParsedMachine {
    pub(crate) pool: Arc<str>,
    /// From 0.
    pub(crate) zone: usize,
    pub(crate) zone_name: Arc<str>,
    pub(crate) ordinal: u32,
    /// Seconds since 1970.
    pub(crate) created: u64,
    pub(crate) ready: bool,
    /// KubeVirt reports CrashLoopBackOff.
    pub(crate) broken: bool,
    /// Marked for drain and deletion.
    pub(crate) drain_requested: bool,
    pub(crate) sleep: MachineSleep,
    /// When it was decided to halt it, in seconds since 1970.
    pub(crate) halted_at: Option<i64>,
    pub(crate) content: Option<MachineContent>,
    pub(crate) restart: Option<MachineRestart>,
    /// Why it is to be replaced.
    pub(crate) replace: Option<Arc<str>>,
    pub(crate) migration_failure: Option<MigrationFailure>,
    pub(crate) image: Option<Arc<str>>,
    pub(crate) networks: Arc<[Arc<str>]>,
    pub(crate) types: Arc<[Arc<str>]>,
    pub(crate) metadata: Arc<str>,
    pub(crate) status: Arc<str>,
    /// Message of the first failed condition.
    pub(crate) failure_message: Option<Arc<str>>,
    pub(crate) deletion: Option<Deletion>,
}
