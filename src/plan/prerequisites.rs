//! Items of prerequisites: objects of others that machines use, looked up and never changed.

use crate::plan::planner::Planner;
use crate::plan::pool::zone_distribution;
use crate::state::desired;
use crate::state::desired::instancetypes::{self, ResolvedType};
use crate::state::facts::Facts;
use crate::state::failure::{ErrorClass, Failure};
use crate::state::plan::{Dependency, ItemState};
use crate::state::prerequisite::{Lookup, of};
use crate::validate::{PoolSpec, ValidShoot};

/// Adds an item for each prerequisite, except those that the shoot owns.
pub(crate) fn add(planner: &mut Planner, shoot: &ValidShoot) -> Vec<Dependency> {
    let observed = planner.observed;
    let facts = &observed.facts;
    let all = of(shoot, &facts.namespace).into_iter();
    let found: Vec<Dependency> = all
        .filter_map(|prerequisite| {
            let is_missing = match instancetypes::resolve(shoot, facts, &prerequisite) {
                ResolvedType::Owned(_) | ResolvedType::Retained => return None,
                ResolvedType::NotFound => true,
                // Without a lookup, it is assumed to exist.
                ResolvedType::External(_) => {
                    facts.prerequisites.get(&prerequisite) == Some(&Lookup::NotFound)
                }
            };
            let state = match is_missing {
                true => ItemState::Failed(Failure::new(
                    ErrorClass::Missing,
                    prerequisite.missing(&facts.namespace),
                )),
                false => ItemState::Done,
            };
            let id = format!("relied/{prerequisite}").into();
            Some(planner.add(id, format!("Check {prerequisite}"), [], state))
        })
        .collect();
    let apart = shoot.pools.iter().filter(|it| is_apart(it));
    let hosts = apart.map(|pool| {
        let state = match hosts_missing(pool, &observed.facts) {
            Some(message) => ItemState::Failed(Failure::new(ErrorClass::Missing, message)),
            None => ItemState::Done,
        };
        let title = format!("Check hosts for machines of pool {}", pool.name);
        planner.add(format!("hosts/{}", pool.name).into(), title, [], state)
    });
    found.into_iter().chain(hosts.collect::<Vec<_>>()).collect()
}

fn is_apart(pool: &PoolSpec) -> bool {
    let affinity = pool.worker.affinity.as_ref();
    let preset = affinity.and_then(|it| it.pod_anti_affinity_preset.as_deref());
    preset == Some("hard")
}

/// Reports the first zone with too few hosts for a new pool. None if nodes cannot be read.
fn hosts_missing(pool: &PoolSpec, facts: &Facts) -> Option<String> {
    if facts.hosts.is_empty() || facts.machines.contains_key(pool.name.as_str()) {
        return None;
    }
    let size = desired::size(facts, pool);
    let surge = pool.surge.rounded_up(size);
    let targets = zone_distribution::spread(size, pool.zones.len());
    pool.zones.iter().zip(targets).find_map(|(zone, machines)| {
        let hosts = facts.hosts.get(zone.as_str()).map_or(0, |it| it.count);
        // During a rolling update, a zone has at most twice its target.
        let most = machines + surge.min(machines);
        (hosts < most).then(|| {
            format!(
                "each machine of pool {} needs a separate host: zone {zone} has {hosts}, but up to {most} are needed ({machines}, plus {} during a rolling update)",
                pool.name,
                most - machines
            )
        })
    })
}
