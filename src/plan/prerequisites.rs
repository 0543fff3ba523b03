//! Items for what machines are made from and others keep: looked for, and never changed.

use crate::plan::planner::Planner;
use crate::plan::pool::zone_distribution;
use crate::state::desired;
use crate::state::desired::instancetypes::{self, Meant};
use crate::state::facts::Facts;
use crate::state::failure::{Class, Failure};
use crate::state::plan::{Need, State};
use crate::state::prerequisite::{Found, of};
use crate::validate::{Pool, ValidShoot};

/// What the shoot keeps itself is not looked for here.
pub(crate) fn add(planner: &mut Planner, shoot: &ValidShoot) -> Vec<Need> {
    let observed = planner.observed;
    let facts = &observed.facts;
    let all = of(shoot, &facts.namespace).into_iter();
    let found: Vec<Need> = all
        .filter_map(|it| {
            let is_missing = match instancetypes::meant(shoot, facts, &it) {
                Meant::Ours(_) | Meant::Kept => return None,
                Meant::Nothing => true,
                // What nobody looked for is taken to be there.
                Meant::Theirs(_) => facts.relied.get(&it) == Some(&Found::Nothing),
            };
            let state = match is_missing {
                true => State::Failed(Failure::new(Class::Missing, it.missing(&facts.namespace))),
                false => State::Done,
            };
            let id = format!("relied/{it}").into();
            Some(planner.add(id, format!("Find {it}"), [], state))
        })
        .collect();
    let apart = shoot.pools.iter().filter(|it| is_apart(it));
    let hosts = apart.map(|pool| {
        let state = match hosts_missing(pool, &observed.facts) {
            Some(message) => State::Failed(Failure::new(Class::Missing, message)),
            None => State::Done,
        };
        let title = format!("Find a host for each machine of pool {}", pool.name);
        planner.add(format!("hosts/{}", pool.name).into(), title, [], state)
    });
    found.into_iter().chain(hosts.collect::<Vec<_>>()).collect()
}

fn is_apart(pool: &Pool) -> bool {
    let affinity = pool.worker.affinity.as_ref();
    let preset = affinity.and_then(|it| it.pod_anti_affinity_preset.as_deref());
    preset == Some("hard")
}

/// The first zone that has too few hosts for a pool that is not there yet. Where nodes may not be read, nothing is known.
fn hosts_missing(pool: &Pool, facts: &Facts) -> Option<String> {
    if facts.hosts.is_empty() || facts.machines.contains_key(pool.name.as_str()) {
        return None;
    }
    let size = desired::size(facts, pool);
    let surge = pool.surge.rounded_up(size);
    let targets = zone_distribution::spread(size, pool.zones.len());
    pool.zones.iter().zip(targets).find_map(|(zone, machines)| {
        let hosts = facts.hosts.get(zone.as_str()).map_or(0, |it| it.count);
        // While it rolls, a zone has at most twice what it should have.
        let most = machines + surge.min(machines);
        (hosts < most).then(|| {
            format!(
                "each machine of pool {} needs a host of its own: zone {zone} has {hosts}, and {most} may be needed ({machines}, and {} while it rolls)",
                pool.name,
                most - machines
            )
        })
    })
}
