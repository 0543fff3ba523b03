//! Capacity and offers of the provider cluster.

use crate::model::Quantity;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Quotas and limits of the namespace at the start of the run.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct NamespaceLimits {
    pub(crate) quotas: Vec<Quota>,
    pub(crate) limits: Vec<Limit>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Quota {
    pub(crate) name: String,
    pub(crate) hard: BTreeMap<String, Quantity>,
    pub(crate) used: BTreeMap<String, Quantity>,
}

/// One item of a LimitRange.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Limit {
    pub(crate) name: String,
    /// Container, Pod or PersistentVolumeClaim.
    pub(crate) of: String,
    pub(crate) most: BTreeMap<String, Quantity>,
}

/// The nodes of one zone of the provider. Control plane nodes count only if there are no others.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct ZoneHosts {
    /// The first by name, so that all runs choose the same.
    pub(crate) first: Arc<str>,
    pub(crate) count: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StorageClass {
    /// Its volumes belong to one zone: WaitForFirstConsumer, or a limited topology.
    pub(crate) zonal: bool,
    /// Set if the provider offers it to clusters.
    pub(crate) offered: Option<OfferedStorageClass>,
}

/// Settings of a provider StorageClass in the shoot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OfferedStorageClass {
    pub(crate) is_default: bool,
    pub(crate) binding_mode: Arc<str>,
    pub(crate) reclaim_policy: Arc<str>,
    pub(crate) expandable: bool,
}

/// Parses a resource list of a quota or LimitRange. Values that are not quantities are skipped.
pub(crate) fn amounts(list: &BTreeMap<String, String>) -> BTreeMap<String, Quantity> {
    let parsed = list
        .iter()
        .filter_map(|(name, it)| Some((name.clone(), Quantity::parse(it).ok()?)));
    parsed.collect()
}
