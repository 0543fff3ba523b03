//! A pool's machines: one item for each place, one for each machine that must go.

pub(crate) mod capacity;
pub(crate) mod consumers;
pub(crate) mod node;
mod pool_state;
pub(crate) mod removal;
pub(crate) mod rolling_update;
mod slot;
pub(crate) mod target;
pub(crate) mod token;
pub(crate) mod zone_distribution;

use crate::plan::planner::Planner;
use crate::state::names;
use crate::state::observed::Observed;
use crate::state::plan::Need;
use consumers::{Users, series};
use pool_state::look;
use std::collections::HashSet;
use std::sync::Arc;
use target::{PATIENCE, Wants};

pub(crate) fn add(planner: &mut Planner, wants: &Wants, users: &mut Users) {
    let observed = planner.observed;
    let mut seen = look(planner, wants);
    let pool = rolling_update::Pool {
        hash: wants.hash,
        targets: &wants.targets,
        surge: wants.surge,
        unavailable: wants.unavailable,
        setbacks: &seen.setbacks,
        patience: PATIENCE,
        haunted: &haunted(observed, wants),
    };
    let moves = rolling_update::roll(&pool, &seen.judged);
    seen.chosen.extend(&moves.remove);
    seen.create = moves.create;

    let mut places = Vec::new();
    let mut late = HashSet::new();
    for zone in 0..wants.targets.len() {
        places.extend(slot::add(planner, wants, &seen, &mut late, zone));
    }
    let places: Arc<[Need]> = places.into();
    let made = seen.create.iter().map(|it| wants.name(it.0, it.1));
    users
        .staying
        .extend(made.chain(seen.coming.iter().cloned()));
    let series = (0..wants.targets.len()).map(|zone| series(&wants.name(zone, 0)).into());
    users.places.extend(series.map(|it| (it, places.clone())));
    removal::add(planner, wants, &seen, &late, &places, users);
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

#[cfg(test)]
mod tests {
    use crate::plan::plan;
    use crate::state::facts::Facts;
    use crate::state::observed::Observed;
    use crate::state::testing::node;
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
        let made = items.filter(|it| it.title.starts_with("Make machine"));
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
