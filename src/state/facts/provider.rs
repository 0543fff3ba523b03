//! What the provider cluster offers, and how much of it.

use crate::model::Quantity;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the namespace lets all of its objects have together, and each of them; as it was when the run began.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Bounds {
    pub(crate) quotas: Vec<Quota>,
    pub(crate) limits: Vec<Limit>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Quota {
    pub(crate) name: String,
    pub(crate) hard: BTreeMap<String, Quantity>,
    pub(crate) used: BTreeMap<String, Quantity>,
}

/// One line of a LimitRange.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Limit {
    pub(crate) name: String,
    /// Container, Pod or PersistentVolumeClaim.
    pub(crate) of: String,
    pub(crate) most: BTreeMap<String, Quantity>,
}

/// The nodes of one zone of the provider; those of its control plane only when there is no other.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Hosts {
    /// The first by name, so that two runs choose the same.
    pub(crate) first: Arc<str>,
    pub(crate) count: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StorageClass {
    /// Its volumes belong to one zone: bound when first used, or of limited topology.
    pub(crate) zonal: bool,
    /// The provider marks it as one that clusters have too.
    pub(crate) offered: Option<ClassOffer>,
}

/// How a cluster has a class of the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClassOffer {
    pub(crate) is_default: bool,
    pub(crate) binding_mode: Arc<str>,
    pub(crate) reclaim_policy: Arc<str>,
    pub(crate) expandable: bool,
}

/// A list of resources as quotas and limits have it; what is no quantity is passed over.
pub(crate) fn amounts(list: &Value) -> BTreeMap<String, Quantity> {
    let fields = list.as_object().into_iter().flatten();
    let parsed = |(name, it): (&String, &Value)| {
        let amount = Quantity::parse(it.as_str()?).ok()?;
        Some((name.clone(), amount))
    };
    fields.filter_map(parsed).collect()
}
