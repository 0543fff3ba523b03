//! Desired state of a pool.

use super::repair::RepairSettings;
use crate::state::desired::PoolHashes;
use crate::state::desired::machine_content::MachineContent;
use crate::state::hash::Hash;
use crate::state::observed::Observed;
use crate::state::plan::Dependency;
use crate::state::record::rotation::Credential;
use crate::state::{desired, names};
use crate::validate::{PoolSpec, ValidShoot};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// Number of failed machines after which a zone is given up for this run.
pub(crate) const ZONE_FAILURE_LIMIT: u32 = 3;
/// Drain timeout of a pool that is no longer in the manifest; Gardener's default.
const DRAIN_LIMIT: Duration = Duration::from_secs(2 * 60 * 60);

/// Time that machines have from the beginning of a step of the rotation: they look every minute, and first the control plane
/// has to follow the step.
const ROOTS_LIMIT: Duration = Duration::from_secs(15 * 60);

/// Desired state of a pool.
pub(crate) struct PoolTarget {
    pub(crate) id: Arc<str>,
    pub(crate) pool: Arc<str>,
    pub(crate) hash: Hash,
    /// None if the pool is removed.
    pub(crate) content: Option<MachineContent>,
    /// Machines of another size, or whose disks become larger, are restarted instead of replaced, and machines take new CAs
    /// while they run.
    pub(crate) is_updated_in_place: bool,
    /// Until when machines take new CAs themselves; those that have not done so are replaced.
    pub(crate) roots_limit: Duration,
    /// For each disk of a machine, whether it can become larger.
    pub(crate) expandable: Vec<bool>,
    /// Target number of machines in each zone.
    pub(crate) targets: Vec<usize>,
    pub(crate) zones: Vec<String>,
    pub(crate) surge: usize,
    pub(crate) unavailable: usize,
    /// Dependencies of a new machine, by zone; in a pool that is removed, those of its removal.
    pub(crate) needs: Vec<Arc<[Dependency]>>,
    /// Labels and annotations of its machines, as canonical JSON. None if the pool is removed.
    pub(crate) metadata: Option<String>,
    pub(crate) creation_limit: Duration,
    /// Time that a machine waits for a host before it fails.
    pub(crate) scheduling_limit: Duration,
    /// CPU and memory of a machine, in words.
    pub(crate) machine_size: String,
    /// The disks of a machine with their sizes, in words.
    pub(crate) disks_in_words: Vec<String>,
    /// Time limit for draining a machine.
    pub(crate) drain_limit: Duration,
    /// None if the pool is removed.
    pub(crate) repair: Option<RepairSettings>,
    /// UIDs of machines that are removed although the pool may have as many.
    pub(crate) deleted: BTreeSet<String>,
}

impl PoolTarget {
    pub(crate) fn of(
        shoot: &ValidShoot,
        observed: &Observed,
        pool: &PoolSpec,
        hashes: PoolHashes,
        needs: &[Arc<[Dependency]>],
    ) -> PoolTarget {
        let size = desired::size(&observed.facts, pool);
        PoolTarget {
            id: shoot.id.as_str().into(),
            pool: pool.name.as_str().into(),
            hash: hashes.all,
            content: Some(hashes.content),
            is_updated_in_place: pool.is_updated_in_place,
            roots_limit: roots_limit(observed),
            expandable: desired::expandable_disks(&observed.facts, pool),
            targets: desired::zone_targets(&observed.facts, pool),
            zones: pool.zones.clone(),
            surge: pool.surge.rounded_up(size),
            unavailable: pool.unavailable.rounded_down(size),
            needs: needs.to_vec(),
            metadata: Some(desired::pool_metadata(pool)),
            creation_limit: pool.creation_timeout,
            // An autoscaler of the provider cluster may add a host; before the machine is replaced, which does not help.
            scheduling_limit: pool.creation_timeout / 2,
            machine_size: pool.machine_type.in_words(),
            disks_in_words: desired::disks_in_words(pool),
            drain_limit: pool.drain_timeout,
            repair: Some(RepairSettings {
                timeout: pool.health.timeout,
                conditions: pool.health.conditions.clone(),
                is_disabled: pool.health.is_disabled,
            }),
            deleted: desired::pool_size(&observed.facts, pool).into_deleted(),
        }
    }

    /// A pool that is no longer in the manifest. `successors` is done before a ready machine of it is removed.
    pub(crate) fn none(id: &str, pool: &Arc<str>, successors: Arc<[Dependency]>) -> PoolTarget {
        PoolTarget {
            id: id.into(),
            pool: pool.clone(),
            hash: Hash::default(),
            content: None,
            is_updated_in_place: false,
            roots_limit: Duration::ZERO,
            expandable: Vec::new(),
            targets: Vec::new(),
            zones: Vec::new(),
            surge: 0,
            unavailable: 0,
            needs: vec![successors],
            metadata: None,
            creation_limit: Duration::MAX,
            scheduling_limit: Duration::MAX,
            machine_size: String::new(),
            disks_in_words: Vec::new(),
            drain_limit: DRAIN_LIMIT,
            repair: None,
            deleted: BTreeSet::new(),
        }
    }

    /// A zone outside the pool has the dependencies of the first zone.
    pub(crate) fn needs(&self, zone: usize) -> Arc<[Dependency]> {
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

/// By the clock of the run, as [`Observed::now`].
fn roots_limit(observed: &Observed) -> Duration {
    let facts = &observed.facts;
    let record = facts.record.as_ref();
    let rotation = record.and_then(|it| it.rotation.rotations.get(&Credential::Ca));
    let seconds = |it: i64| Duration::from_secs(u64::try_from(it).unwrap_or_default());
    let end = rotation.and_then(|it| it.since).map(|since| {
        let end = seconds(since) + ROOTS_LIMIT;
        end.saturating_sub(seconds(facts.time))
    });
    // A step that began in the future, by a clock that was wrong, has no more time than any other.
    end.unwrap_or_default().min(observed.now + ROOTS_LIMIT)
}
