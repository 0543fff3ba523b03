//! What a pool should be.

use super::zone_distribution::spread;
use crate::state::hash::Hash;
use crate::state::observed::Observed;
use crate::state::plan::Need;
use crate::state::{desired, names};
use crate::validate::{Pool, ValidShoot};
use std::sync::Arc;
use std::time::Duration;

/// So many machines may fail in a zone, and it is given up for this run.
pub(crate) const PATIENCE: u32 = 3;
/// Of a pool that is no longer in the manifest; as Gardener has it.
const DRAIN_LIMIT: Duration = Duration::from_secs(2 * 60 * 60);

/// What a pool should be.
pub(crate) struct Wants {
    pub(crate) id: Arc<str>,
    pub(crate) pool: Arc<str>,
    pub(crate) hash: Hash,
    /// Machines wanted in each zone.
    pub(crate) targets: Vec<usize>,
    pub(crate) zones: Vec<String>,
    pub(crate) surge: usize,
    pub(crate) unavailable: usize,
    /// What a machine of each zone needs before it can be made.
    pub(crate) needs: Vec<Arc<[Need]>>,
    /// Labels and annotations that its machines should show; none where none are wanted.
    pub(crate) metadata: Option<String>,
    pub(crate) creation_limit: Duration,
    /// How long emptying a machine may take.
    pub(crate) drain_limit: Duration,
}

impl Wants {
    pub(crate) fn of(
        shoot: &ValidShoot,
        observed: &Observed,
        pool: &Pool,
        hash: Hash,
        needs: &[Arc<[Need]>],
    ) -> Wants {
        let size = desired::size(&observed.facts, pool);
        Wants {
            id: shoot.id.as_str().into(),
            pool: pool.name.as_str().into(),
            hash,
            targets: spread(size, pool.zones.len()),
            zones: pool.zones.clone(),
            surge: pool.surge.rounded_up(size),
            unavailable: pool.unavailable.rounded_down(size),
            needs: needs.to_vec(),
            metadata: Some(desired::pool_metadata(pool)),
            creation_limit: pool.creation_timeout,
            drain_limit: pool.drain_timeout,
        }
    }

    /// A pool that is no longer in the manifest.
    pub(crate) fn none(id: &str, pool: &Arc<str>) -> Wants {
        Wants {
            id: id.into(),
            pool: pool.clone(),
            hash: Hash::default(),
            targets: Vec::new(),
            zones: Vec::new(),
            surge: 0,
            unavailable: 0,
            needs: Vec::new(),
            metadata: None,
            creation_limit: Duration::MAX,
            drain_limit: DRAIN_LIMIT,
        }
    }

    /// A zone that is not the pool's needs whatever any of them needs.
    pub(crate) fn needs(&self, zone: usize) -> Arc<[Need]> {
        self.needs
            .get(zone)
            .or(self.needs.first())
            .cloned()
            .unwrap_or_default()
    }

    pub(crate) fn name(&self, zone: usize, ordinal: u32) -> Arc<str> {
        names::machine(&self.id, &self.pool, zone, self.hash, ordinal).into()
    }

    pub(crate) fn zone(&self, zone: usize) -> String {
        self.zones
            .get(zone)
            .cloned()
            .unwrap_or_else(|| format!("number {}", zone + 1))
    }
}
