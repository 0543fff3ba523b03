//! A pool's machines: one item for each place, one for each machine that must go.

mod place;
mod removal;
mod seen;

use super::item::{Need, Plan};
use super::observed::Observed;
use super::roll;
use super::spread::spread;
use super::{Hash, desired, names};
use crate::validate::{Pool, ValidShoot};
use seen::look;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

pub(super) use removal::gone;

/// So many machines may fail in a zone, and it is given up for this run.
const PATIENCE: u32 = 3;

/// Of a pool that is no longer in the manifest; as Gardener has it.
const DRAIN_LIMIT: Duration = Duration::from_secs(2 * 60 * 60);

/// Who still needs what machines use.
#[derive(Default)]
pub(super) struct Users {
    /// Items that must be gone before what they use may go, by the name of that.
    pub(super) leaving: HashMap<Arc<str>, Vec<Need>>,
    /// Names of machines that stay, or are being made.
    pub(super) staying: HashSet<Arc<str>>,
    /// Places that machines may still come to, by all of their names but the ordinal.
    pub(super) places: HashMap<Arc<str>, Arc<[Need]>>,
}

/// What a pool should be.
pub(super) struct Wants {
    id: Arc<str>,
    pool: Arc<str>,
    hash: Hash,
    /// Machines wanted in each zone.
    targets: Vec<usize>,
    zones: Vec<String>,
    surge: usize,
    unavailable: usize,
    /// What a machine of each zone needs before it can be made.
    needs: Vec<Arc<[Need]>>,
    /// Labels and annotations that its machines should show; none where none are wanted.
    metadata: Option<String>,
    creation_limit: Duration,
    /// How long emptying a machine may take.
    drain_limit: Duration,
}

impl Wants {
    pub(super) fn of(
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
    pub(super) fn none(id: &str, pool: &Arc<str>) -> Wants {
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
    fn needs(&self, zone: usize) -> Arc<[Need]> {
        self.needs
            .get(zone)
            .or(self.needs.first())
            .cloned()
            .unwrap_or_default()
    }

    fn name(&self, zone: usize, ordinal: u32) -> Arc<str> {
        names::machine(&self.id, &self.pool, zone, self.hash, ordinal).into()
    }

    fn zone(&self, zone: usize) -> String {
        self.zones
            .get(zone)
            .cloned()
            .unwrap_or_else(|| format!("number {}", zone + 1))
    }
}

pub(super) fn add(plan: &mut Plan, observed: &Observed, wants: &Wants, users: &mut Users) {
    let mut seen = look(plan, observed, wants);
    let pool = roll::Pool {
        hash: wants.hash,
        targets: &wants.targets,
        surge: wants.surge,
        unavailable: wants.unavailable,
        setbacks: &seen.setbacks,
        patience: PATIENCE,
        haunted: &haunted(observed, wants),
    };
    let moves = roll::roll(&pool, &seen.judged);
    seen.chosen.extend(&moves.remove);
    seen.create = moves.create;

    let mut places = Vec::new();
    let mut late = HashSet::new();
    for zone in 0..wants.targets.len() {
        places.extend(place::add(plan, observed, wants, &seen, &mut late, zone));
    }
    let places: Arc<[Need]> = places.into();
    let made = seen.create.iter().map(|it| wants.name(it.0, it.1));
    users
        .staying
        .extend(made.chain(seen.coming.iter().cloned()));
    let series = (0..wants.targets.len()).map(|zone| series(&wants.name(zone, 0)).into());
    users.places.extend(series.map(|it| (it, places.clone())));
    removal::add(plan, observed, wants, &seen, &late, &places, users);
}

/// Places in the series of this hash that disks of machines still have that are gone, or nodes: a machine would be taken
/// for one that has joined, and lose its bootstrap token before it used it.
fn haunted(observed: &Observed, wants: &Wants) -> Vec<(usize, u32)> {
    let of = |machine: &str| {
        let ordinal = names::ordinal(machine)?;
        let zone = (0..wants.targets.len()).find(|it| *wants.name(*it, ordinal) == *machine)?;
        Some((zone, ordinal))
    };
    let facts = &observed.facts;
    let names = facts.disks.iter().chain(facts.nodes.keys());
    names.filter_map(|it| of(it)).collect()
}

/// A machine's name without its ordinal.
pub(super) fn series(name: &str) -> &str {
    name.rsplit_once('-').map_or(name, |it| it.0)
}

#[cfg(test)]
mod tests {
    use crate::plan::observed::{Facts, Observed};
    use crate::plan::plan;
    use crate::plan::testing::node;
    use crate::validate::testing::{SHOOT, valid_for_tests};
    use std::sync::Arc;

    /// Machines that are to be made.
    fn made(facts: &Facts) -> Vec<String> {
        let observed = Observed {
            facts: Arc::new(facts.clone()),
            ..Observed::default()
        };
        let items = plan(&valid_for_tests(SHOOT), &observed).items.into_iter();
        let name = |title: String| title.split(' ').nth(2).map(str::to_owned);
        let made = items.filter(|it| it.title.starts_with("Create machine"));
        made.filter_map(|it| name(it.title)).collect()
    }

    #[test]
    fn a_name_is_not_given_again_while_a_disk_or_a_node_has_it() {
        let name: Arc<str> = made(&Facts::default()).remove(0).into();
        let next = name.strip_suffix("-0").expect("the first");
        let next = format!("{next}-1");

        let mut facts = Facts::default();
        facts.disks.insert(name.clone());
        assert_eq!(made(&facts)[0], next);

        let mut facts = Facts::default();
        facts.nodes.insert(name, node());
        assert_eq!(made(&facts)[0], next);
    }
}
