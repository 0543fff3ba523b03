//! Capacity and offers of the provider cluster.

use crate::model::Quantity;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Rules of the namespace for its pods and volumes, at the start of the run.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct NamespaceLimits {
    pub(crate) quotas: Vec<Quota>,
    pub(crate) limits: Vec<Limit>,
    /// The provider cluster assigns the users of pods from a range of the namespace, and refuses others: OpenShift.
    pub(crate) assigns_users: bool,
}

#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Quota {
    pub(crate) name: String,
    /// It limits only some of the pods.
    pub(crate) is_scoped: bool,
    pub(crate) hard: BTreeMap<String, Quantity>,
    pub(crate) used: BTreeMap<String, Quantity>,
}

/// One item of a LimitRange.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Limit {
    pub(crate) name: String,
    /// Container, Pod or PersistentVolumeClaim.
    pub(crate) of: String,
    /// `max`.
    pub(crate) most: BTreeMap<String, Quantity>,
    /// `min`.
    pub(crate) least: BTreeMap<String, Quantity>,
    /// `default`: the limits of containers that have none.
    pub(crate) usual: BTreeMap<String, Quantity>,
    /// `maxLimitRequestRatio`.
    pub(crate) ratio: BTreeMap<String, Quantity>,
}

/// Requirements of a namespace for the containers in it, for one resource.
#[derive(Debug, PartialEq)]
pub(crate) struct ContainerRule {
    pub(crate) needs_limit: bool,
    /// Smallest request.
    pub(crate) least: f64,
    /// Largest limit.
    pub(crate) most: f64,
    /// Largest quotient of limit and request.
    pub(crate) ratio: f64,
}

impl NamespaceLimits {
    /// The rule for `cpu` or `memory`. LimitRanges that limit the sum of a pod's containers are left out.
    pub(crate) fn of_containers(&self, resource: &str) -> ContainerRule {
        let quota = format!("limits.{resource}");
        let ranges = || self.limits.iter().filter(|it| it.of == "Container");
        let values = |list: fn(&Limit) -> &BTreeMap<String, Quantity>| {
            ranges().filter_map(move |it| Some(list(it).get(resource)?.value))
        };
        let has_quota = self.quotas.iter().any(|it| it.hard.contains_key(&quota));
        let is_set = values(|it| &it.usual).chain(values(|it| &it.most)).count() > 0;
        ContainerRule {
            needs_limit: has_quota || is_set || values(|it| &it.ratio).count() > 0,
            least: values(|it| &it.least).fold(0.0, f64::max),
            most: values(|it| &it.most).fold(f64::INFINITY, f64::min),
            ratio: values(|it| &it.ratio).fold(f64::INFINITY, f64::min),
        }
    }
}

/// The nodes of one zone of the provider. Control plane nodes count only if there are no others.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct ZoneHosts {
    /// The first by name of those that run machines, so that all runs choose the same.
    pub(crate) first: Arc<str>,
    pub(crate) count: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StorageClass {
    /// Its volumes belong to one zone: WaitForFirstConsumer, or a limited topology.
    pub(crate) zonal: bool,
    /// Its volumes can become larger.
    pub(crate) expandable: bool,
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
