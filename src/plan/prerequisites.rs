//! Items of prerequisites: objects of others that machines use, looked up and never changed.

use crate::plan::planner::Planner;
use crate::state::desired;
use crate::state::desired::instancetypes::{self, ResolvedType};
use crate::state::facts::Facts;
use crate::state::failure::{ErrorClass, Failure};
use crate::state::names;
use crate::state::plan::{Dependency, ItemState};
use crate::state::prerequisite::{self, Lookup, Prerequisite, PrerequisiteKind, of};
use crate::validate::{PoolSpec, ValidShoot};
use std::collections::BTreeMap;

/// Adds an item for the PriorityClass of the control plane, if it has one: without it no pod can be created.
pub(crate) fn add_priority_class(planner: &mut Planner, shoot: &ValidShoot) -> Option<Dependency> {
    let prerequisite = prerequisite::priority_class(shoot)?;
    let found = planner.observed.facts.prerequisites.get(&prerequisite);
    let is_missing = found == Some(&Lookup::NotFound);
    Some(add_one(planner, &prerequisite, is_missing))
}

/// Adds an item for each prerequisite of machines, except those that the shoot owns.
pub(crate) fn add(planner: &mut Planner, shoot: &ValidShoot) -> Vec<Dependency> {
    let observed = planner.observed;
    let facts = &observed.facts;
    let all = of(shoot, &facts.namespace).into_iter();
    let all = all.filter(|it| it.prerequisite_kind != PrerequisiteKind::PriorityClass);
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
            Some(add_one(planner, &prerequisite, is_missing))
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

fn add_one(planner: &mut Planner, prerequisite: &Prerequisite, is_missing: bool) -> Dependency {
    let state = match is_missing {
        true => ItemState::Failed(Failure::new(
            ErrorClass::Missing,
            prerequisite.missing(&planner.observed.facts.namespace),
        )),
        false => ItemState::Done,
    };
    let id = format!("relied/{prerequisite}").into();
    planner.add(id, format!("Check {prerequisite}"), [], state)
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
    let targets = desired::zone_targets(facts, pool);
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

/// Zones of pools that lack machines, for which the provider cluster has no node: machines there wait for one. None if
/// nodes cannot be read.
pub(crate) fn zones_without_hosts(shoot: &ValidShoot, facts: &Facts) -> Vec<String> {
    if facts.hosts.is_empty() {
        return Vec::new();
    }
    let lacks = |pool: &&PoolSpec| {
        let machines = facts.machines.get(pool.name.as_str());
        machines.map_or(0, BTreeMap::len) < desired::size(facts, pool)
    };
    let zones = shoot.pools.iter().filter(lacks).flat_map(|pool| {
        let zones = pool.zones.iter();
        // Machines of zone "default" run on nodes without the label.
        let zones = zones.filter(|it| *it != "default" && !facts.hosts.contains_key(it.as_str()));
        zones.map(|zone| (zone.as_str(), pool.name.as_str()))
    });
    zones
        .map(|(zone, pool)| {
            let label = names::ZONE_LABEL;
            format!("zone {zone} of pool {pool} has no host: no node of the provider cluster has the label {label}={zone}")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::zones_without_hosts;
    use crate::plan::{finished, plan};
    use crate::state::facts::{Facts, ZoneHosts};
    use crate::state::key::ClusterSide;
    use crate::state::observed::Observed;
    use crate::state::plan::{ItemKind, ItemState};
    use crate::state::prerequisite::{self, Lookup};
    use crate::validate::testing::{SHOOT, valid_for_tests};

    #[test]
    fn no_pod_is_changed_to_a_priority_class_that_does_not_exist() {
        let mut shoot = valid_for_tests(SHOOT);
        let mut facts = (*finished(&shoot).facts).clone();
        shoot.control_plane.priority_class = Some("high".into());
        let wanted = prerequisite::priority_class(&shoot).expect("it has one");
        let mut items = |lookup: Option<Lookup>| {
            facts.prerequisites = lookup.map(|it| (wanted.clone(), it)).into_iter().collect();
            let observed = Observed {
                facts: facts.clone().into(),
                ..Observed::default()
            };
            plan(&shoot, &observed).items
        };
        let failed = items(Some(Lookup::NotFound));
        let messages: Vec<&str> = failed
            .iter()
            .filter_map(|it| match &it.state {
                ItemState::Failed(failure) => Some(failure.message.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(
            messages,
            ["PriorityClass high not found in the provider cluster"]
        );
        let is_due = |it: &&crate::state::plan::Item| {
            let side = ClusterSide::Provider;
            let is_component =
                matches!(&it.kind, ItemKind::Component { side: of, .. } if *of == side);
            is_component && matches!(it.state, ItemState::Due(_))
        };
        assert_eq!(failed.iter().filter(is_due).count(), 0);
        // A tenant may not read it, and then it is used unseen.
        for lookup in [Some(Lookup::Found("PriorityClass".into())), None] {
            assert_eq!(items(lookup).iter().filter(is_due).count(), 1, "etcd");
        }
    }

    #[test]
    fn a_zone_without_a_node_is_named_before_machines_wait_for_it() {
        let shoot = valid_for_tests(SHOOT);
        let hosts = |zone: &str| Facts {
            hosts: [(zone.into(), ZoneHosts::default())].into(),
            ..Facts::default()
        };
        assert_eq!(
            zones_without_hosts(&shoot, &hosts("europe-west1-c")),
            [""; 0]
        );
        let missing = "zone europe-west1-c of pool cpu has no host: no node of the provider cluster has the label topology.kubernetes.io/zone=europe-west1-c";
        assert_eq!(zones_without_hosts(&shoot, &hosts("elsewhere")), [missing]);
        // Nodes cannot be read.
        assert_eq!(zones_without_hosts(&shoot, &Facts::default()), [""; 0]);
        // Its machines run.
        let mut facts = (*finished(&shoot).facts).clone();
        facts.hosts = hosts("elsewhere").hosts;
        assert_eq!(zones_without_hosts(&shoot, &facts), [""; 0]);
    }
}
