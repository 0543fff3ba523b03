//! The decided size of a pool.

use super::zone_distribution::spread;
use crate::validate::PoolSpec;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Decided sizes by name of the pool.
pub(crate) type SizesByPool = BTreeMap<String, PoolSize>;

/// The number of machines of a pool, as the record has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum PoolSize {
    /// Spread over all zones.
    Total(usize),
    /// By zone: a machine was deleted by name, and its zone keeps less than the others.
    Zones(ZoneSizes),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ZoneSizes {
    /// Number of machines by name of the zone.
    pub(crate) zones: BTreeMap<String, usize>,
    /// UIDs of the machines that were deleted by name, and may be there still.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) deleted: BTreeSet<String>,
}

impl PoolSize {
    pub(crate) fn total(&self) -> usize {
        match self {
            PoolSize::Total(size) => *size,
            PoolSize::Zones(it) => it.total(),
        }
    }

    /// The size of a pool for which this one was decided. Sizes of zones hold as long as the pool has the same zones and
    /// its bounds allow the sum; then the nearest allowed number is spread over its zones.
    pub(crate) fn within_bounds(decided: Option<&PoolSize>, pool: &PoolSpec) -> PoolSize {
        let total = decided.map(PoolSize::total);
        let size = size_within(total, pool.minimum, pool.maximum);
        match decided {
            Some(PoolSize::Zones(it)) if total == Some(size) && it.are_those_of(&pool.zones) => {
                PoolSize::Zones(it.clone())
            }
            _ => PoolSize::Total(size),
        }
    }

    /// Number of machines in each of these zones.
    pub(crate) fn zone_targets(&self, zones: &[String]) -> Vec<usize> {
        match self {
            PoolSize::Total(size) => spread(*size, zones.len()),
            PoolSize::Zones(it) => {
                let sizes = zones.iter().map(|zone| it.zones.get(zone));
                sizes.map(|it| it.copied().unwrap_or_default()).collect()
            }
        }
    }

    /// True for the UID of a machine that was deleted by name.
    pub(crate) fn deletes(&self, uid: &str) -> bool {
        matches!(self, PoolSize::Zones(it) if it.deleted.contains(uid))
    }

    /// UIDs of the machines that were deleted by name.
    pub(crate) fn into_deleted(self) -> BTreeSet<String> {
        match self {
            PoolSize::Total(_) => BTreeSet::new(),
            PoolSize::Zones(it) => it.deleted,
        }
    }
}

impl ZoneSizes {
    fn total(&self) -> usize {
        let sizes = self.zones.values();
        sizes.fold(0, |sum, it| sum.saturating_add(*it))
    }

    fn are_those_of(&self, zones: &[String]) -> bool {
        self.zones.len() == zones.len() && zones.iter().all(|it| self.zones.contains_key(it))
    }
}

/// Number of machines of a pool with these bounds, for which another number was decided before.
pub(crate) fn size_within(decided: Option<usize>, minimum: usize, maximum: usize) -> usize {
    decided
        .unwrap_or(minimum)
        .clamp(minimum, maximum.max(minimum))
}
