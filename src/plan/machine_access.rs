//! Item of the permission to attach volumes to the machines of the shoot.

use crate::plan::component;
use crate::plan::planner::Planner;
use crate::render::control_plane::csi;
use crate::state::desired::{self, NetworkAttachment};
use crate::state::facts::Facts;
use crate::state::hash::Hash;
use crate::state::key::ClusterSide;
use crate::state::names::{self, MachineName};
use crate::state::plan::Dependency;
use crate::state::site::Site;
use crate::validate::{PoolSpec, ValidShoot};
use std::collections::BTreeSet;

/// Adds the Role with the names of the machines: it exists before a new machine does.
pub(crate) fn add(
    planner: &mut Planner,
    shoot: &ValidShoot,
    attachments: &[NetworkAttachment],
    record: Dependency,
) -> Dependency {
    let observed = planner.observed;
    let site = Site::of(shoot, &observed.facts);
    let machines = machine_names(shoot, &observed.facts, attachments);
    let component = csi::machine_access(&site, &machines);
    component::add(planner, component, ClusterSide::Provider, &site, [record])
}

/// Names of the machines that exist, and those that machines of the desired pools get: as many as each pool may have at
/// once. So the Role changes when a rolling update begins and when it has ended, and not with each machine.
fn machine_names(
    shoot: &ValidShoot,
    facts: &Facts,
    attachments: &[NetworkAttachment],
) -> BTreeSet<String> {
    let pools = shoot.pools.iter();
    let mut all: BTreeSet<String> = pools
        .flat_map(|pool| names_of_pool(shoot, facts, attachments, pool))
        .collect();
    let existing = facts.machines.values().flat_map(|it| it.keys());
    all.extend(existing.map(|it| it.to_string()));
    all
}

fn names_of_pool(
    shoot: &ValidShoot,
    facts: &Facts,
    attachments: &[NetworkAttachment],
    pool: &PoolSpec,
) -> Vec<String> {
    let size = desired::size(facts, pool);
    let surge = pool.surge.rounded_up(size);
    let rotation = facts.record.as_ref().map(|it| &it.rotation);
    let wanted = desired::pool_hash(shoot, pool, attachments, rotation);
    let machines = facts.machines.get(pool.name.as_str());
    let existing = machines.into_iter().flat_map(|it| it.keys());
    let mut tags: BTreeSet<u64> = existing
        .filter_map(|it| Some(MachineName::parse(&shoot.id, it)?.hash(None).tag()))
        .collect();
    tags.insert(wanted.tag());
    let zones = desired::zone_targets(facts, pool);
    let mut names = Vec::new();
    for (zone, target) in zones.into_iter().enumerate() {
        for tag in &tags {
            let ordinals = 0..u32::try_from(target + surge).unwrap_or(u32::MAX);
            names.extend(ordinals.map(|ordinal| {
                names::machine(&shoot.id, &pool.name, zone, Hash::of_tag(*tag), ordinal)
            }));
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::facts::MachinePhase;
    use crate::state::testing::machine;
    use crate::validate::testing::{SHOOT, valid_for_tests};

    fn names(facts: &Facts) -> BTreeSet<String> {
        machine_names(&valid_for_tests(SHOOT), facts, &[])
    }

    fn with(machines: &[&str]) -> Facts {
        let mut facts = Facts::default();
        let shoot = valid_for_tests(SHOOT);
        let pool = shoot.pools[0].name.as_str();
        let machines = machines
            .iter()
            .map(|it| ((*it).into(), machine(MachinePhase::Ready)));
        facts.machines.insert(pool.into(), machines.collect());
        facts
    }

    #[test]
    fn the_names_of_the_machines_are_known_before_they_exist() {
        let shoot = valid_for_tests(SHOOT);
        let pool = &shoot.pools[0];
        let none = names(&Facts::default());
        let hash = desired::pool_hash(&shoot, pool, &[], None);
        let first = names::machine(&shoot.id, &pool.name, 0, hash, 0);
        assert!(none.contains(&first), "{none:?}");
        assert_eq!(names(&with(&[&first])), none);
    }

    #[test]
    fn names_stay_until_the_last_machine_of_an_old_hash_is_gone() {
        let shoot = valid_for_tests(SHOOT);
        let pool = shoot.pools[0].name.as_str();
        let old = |ordinal| names::machine(&shoot.id, pool, 0, Hash::of_tag(0xabcde), ordinal);
        let (zero, one) = (old(0), old(1));
        let both = names(&with(&[&zero, &one]));
        assert!(names(&with(&[&zero])).contains(&zero));
        assert!(both.contains(&zero) && both.contains(&one));
        assert!(!names(&with(&[])).contains(&zero));
    }

    #[test]
    fn a_machine_with_another_name_is_named_as_long_as_it_exists() {
        let shoot = valid_for_tests(SHOOT);
        let other = format!("{}-gone-z9-00000-77", shoot.id);
        assert!(names(&with(&[&other])).contains(&other));
        assert!(!names(&with(&[])).contains(&other));
    }
}
