//! The record.

use crate::state::desired::PoolSize;
use crate::state::hash::Hash;
use crate::state::record::etcd::EtcdRecord;
use crate::state::record::hibernation::HibernationRecord;
use crate::state::record::rotation::{RotationOperation, RotationRecord};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The ConfigMap that represents the shoot.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct ObservedRecord {
    /// The technical ID.
    pub(crate) name: Arc<str>,
    pub(crate) uid: Arc<str>,
    pub(crate) version: Arc<str>,
    /// Hash of the manifest, profile and sizes in it.
    pub(crate) hash: Hash,
    /// The last decided size of each pool.
    pub(crate) sizes: BTreeMap<Arc<str>, PoolSize>,
    /// ClusterIP of the API server, as observed by the last run that changed something.
    pub(crate) cluster_ip: Option<Arc<str>>,
    /// Expiry of the shoot, as in the manifest applied last.
    pub(crate) expiry: Option<Arc<str>>,
    /// The cluster of etcd, once it was founded.
    pub(crate) etcd: Option<EtcdRecord>,
    pub(crate) rotation: RotationRecord,
    pub(crate) hibernation: HibernationRecord,
    /// Operation of `kvshoot rotate`, until it is carried out.
    pub(crate) operation: Option<RotationOperation>,
    /// Times of the last repairs of machines, in seconds since 1970.
    pub(crate) repairs: Arc<[i64]>,
    /// Time of the newest backup, in seconds since 1970.
    pub(crate) last_backup: Option<i64>,
    pub(crate) leaving: bool,
}
