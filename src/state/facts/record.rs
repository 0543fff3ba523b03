//! The record.

use crate::state::hash::Hash;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The ConfigMap that stands for the shoot.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Record {
    /// The technical ID.
    pub(crate) name: Arc<str>,
    pub(crate) uid: Arc<str>,
    pub(crate) version: Arc<str>,
    /// Of the manifest, the profile and the sizes in it.
    pub(crate) hash: Hash,
    /// The size of each pool, as it was last decided.
    pub(crate) sizes: BTreeMap<Arc<str>, usize>,
    /// ClusterIP of the API server, as the last run that changed something saw it.
    pub(crate) cluster_ip: Option<Arc<str>>,
    /// When the shoot is to go, as its manifest said it last.
    pub(crate) expiry: Option<Arc<str>>,
    pub(crate) leaving: bool,
}
