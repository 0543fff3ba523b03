//! Deliberately broken planners: each must be detected, or the search proves nothing.

use super::{Planner, plan, search};
use crate::model::Amount;
use crate::state::action::Action;
use crate::state::desired::PoolSize;
use crate::state::facts::{
    Facts, ImageImport, MachinePhase, MachineSleep, ObjectStatus, ObservedMachine, ObservedObject,
};
use crate::state::hash::Hash;
use crate::state::key::{ObjectKey, ObjectKind};
use crate::state::observed::Observed;
use crate::state::plan::{Item, ItemId, ItemKind, ItemState, MachineStep, Plan};
use crate::validate::ValidShoot;
use std::sync::Arc;

/// Each with an invariant that must detect it; others may detect it too.
const MUTANTS: [(&str, Planner); 23] = [
    ("image before machine", imports_count_as_done),
    ("a successor can be created", imports_count_as_done),
    ("removed after the last user", users_are_ignored),
    ("removed after the last user", types_of_machines_are_ignored),
    ("user data stays", machines_need_no_user_data),
    ("user data exists", user_data_counts_as_existing),
    ("total", leaving_machines_are_ignored),
    ("names", leaving_machines_are_ignored),
    ("available", provisioning_machines_count_as_ready),
    ("available", all_machines_restart_at_once),
    ("available", halted_machines_count_as_ready),
    ("disks never become smaller", sizes_of_disks_are_ignored),
    ("once", sent_actions_are_ignored),
    ("ids are unique", ids_are_kinds),
    ("progress never decreases", imports_flicker),
    ("keeps done items done", needs_undo_done_items),
    ("the first plan has every item", ids_are_titles),
    ("matches the desired state", old_pools_are_ignored),
    ("hosts are drained", evacuations_are_ignored),
    ("deleted machines go", deletions_are_ignored),
    ("ends", blocked_items_wait),
    ("not stuck without a fault", nothing_is_drained),
    ("nothing is due afterwards", the_record_is_always_due),
];

#[test]
#[ignore = "second tier: a minute without optimization; it tests the checker, not the planner"]
fn every_broken_planner_is_detected() {
    let is_noticed = |(name, planner): &(&str, Planner)| {
        (1..=60).any(|seed| search(*planner, seed..=seed).broken.has(name))
    };
    let unnoticed = MUTANTS.iter().filter(|it| !is_noticed(it));
    let unnoticed: Vec<_> = unnoticed.map(|it| it.0).collect();
    assert!(unnoticed.is_empty(), "{unnoticed:?} noticed nothing");
}

fn with_facts(shoot: &ValidShoot, observed: &Observed, changes: impl Fn(&mut Facts)) -> Plan {
    let mut observed = observed.clone();
    changes(Arc::make_mut(&mut observed.facts));
    plan(shoot, &observed)
}

fn with_items(shoot: &ValidShoot, observed: &Observed, changes: impl Fn(&mut Item)) -> Plan {
    let mut plan = plan(shoot, observed);
    plan.items.iter_mut().for_each(changes);
    plan
}

fn machines(facts: &mut Facts) -> impl Iterator<Item = &mut ObservedMachine> {
    facts.machines.values_mut().flat_map(|it| it.values_mut())
}

fn imports_count_as_done(shoot: &ValidShoot, observed: &Observed) -> Plan {
    with_facts(shoot, observed, |facts| {
        let imports = facts.objects.values_mut();
        imports
            .filter(|it| matches!(it.status, ObjectStatus::Image(_)))
            .for_each(|object| {
                object.status = ObjectStatus::Image(ImageImport {
                    done: true,
                    ..ImageImport::default()
                });
            });
    })
}

fn imports_flicker(shoot: &ValidShoot, observed: &Observed) -> Plan {
    let is_odd = observed.now.as_secs() % 2 == 1;
    with_facts(shoot, observed, |facts| {
        let objects = facts.objects.values_mut();
        for it in objects.filter(|it| is_odd && matches!(it.status, ObjectStatus::Image(_))) {
            it.status = ObjectStatus::Image(ImageImport::default());
        }
    })
}

fn users_are_ignored(shoot: &ValidShoot, observed: &Observed) -> Plan {
    with_facts(shoot, observed, |facts| {
        machines(facts).for_each(|it| (it.image, it.networks) = (None, [].into()));
    })
}

fn evacuations_are_ignored(shoot: &ValidShoot, observed: &Observed) -> Plan {
    with_facts(shoot, observed, |facts| {
        machines(facts).for_each(|it| it.evacuation = None);
    })
}

fn deletions_are_ignored(shoot: &ValidShoot, observed: &Observed) -> Plan {
    with_facts(shoot, observed, |facts| {
        let record = facts.record.iter_mut();
        for size in record.flat_map(|it| it.sizes.values_mut()) {
            if let PoolSize::Zones(zones) = size {
                zones.deleted.clear();
            }
        }
    })
}

fn machines_need_no_user_data(shoot: &ValidShoot, observed: &Observed) -> Plan {
    with_items(shoot, observed, |item| {
        if let ItemState::Due(Action::Delete(target)) = &mut item.state
            && target.key.kind == ObjectKind::Machine
        {
            target.key.kind = ObjectKind::UserData;
        }
    })
}

fn user_data_counts_as_existing(shoot: &ValidShoot, observed: &Observed) -> Plan {
    with_facts(shoot, observed, |facts| {
        let names: Vec<_> = facts
            .machines
            .values()
            .flat_map(|it| it.keys())
            .cloned()
            .collect();
        for name in names {
            let object = ObservedObject {
                uid: name.clone(),
                version: "0".into(),
                hash: Hash::default(),
                leaving: false,
                status: ObjectStatus::None,
            };
            let key = ObjectKey::provider(ObjectKind::UserData, name);
            facts.objects.insert(key, object);
        }
    })
}

fn types_of_machines_are_ignored(shoot: &ValidShoot, observed: &Observed) -> Plan {
    with_facts(shoot, observed, |facts| {
        machines(facts).for_each(|it| it.types = [].into());
    })
}

fn leaving_machines_are_ignored(shoot: &ValidShoot, observed: &Observed) -> Plan {
    with_facts(shoot, observed, |facts| {
        let pools = facts.machines.values_mut();
        pools.for_each(|machines| machines.retain(|_, it| it.phase != MachinePhase::Deleting));
    })
}

fn provisioning_machines_count_as_ready(shoot: &ValidShoot, observed: &Observed) -> Plan {
    with_facts(shoot, observed, |facts| {
        let coming = machines(facts).filter(|it| it.phase == MachinePhase::Provisioning);
        coming.for_each(|it| it.phase = MachinePhase::Ready);
    })
}

fn all_machines_restart_at_once(shoot: &ValidShoot, observed: &Observed) -> Plan {
    let mut without_bounds = shoot.clone();
    for pool in &mut without_bounds.pools {
        pool.unavailable = Amount::Number(9);
    }
    let all = plan(&without_bounds, observed);
    with_items(shoot, observed, |item| {
        let is_restart =
            matches!(&item.kind, ItemKind::Machine(it) if it.step == MachineStep::Resize);
        let other = all.items.iter().find(|it| it.id == item.id);
        if is_restart && let Some(other) = other {
            item.state = other.state.clone();
        }
    })
}

fn halted_machines_count_as_ready(shoot: &ValidShoot, observed: &Observed) -> Plan {
    with_facts(shoot, observed, |facts| {
        let halted = machines(facts).filter(|it| it.sleep != MachineSleep::Awake);
        halted.for_each(|it| {
            (it.phase, it.sleep) = (MachinePhase::Ready, MachineSleep::Awake);
        });
    })
}

fn sizes_of_disks_are_ignored(shoot: &ValidShoot, observed: &Observed) -> Plan {
    with_facts(shoot, observed, |facts| {
        let contents = machines(facts).filter_map(|it| it.content.as_mut());
        contents.for_each(|it| it.disks = [1].into());
    })
}

fn sent_actions_are_ignored(shoot: &ValidShoot, observed: &Observed) -> Plan {
    let mut observed = observed.clone();
    observed.sent.clear();
    plan(shoot, &observed)
}

fn ids_are_kinds(shoot: &ValidShoot, observed: &Observed) -> Plan {
    // Items that are not done are counted by id, so only done ones are changed.
    let is_done = |it: &Item| it.state == ItemState::Done;
    with_items(shoot, observed, |item| {
        if !is_done(item) {
            return;
        }
        let kind = item.id.0.split('/').next().unwrap_or_default();
        item.id.0 = kind.into();
    })
}

/// Treats done items like due ones when a dependency is not done.
fn needs_undo_done_items(shoot: &ValidShoot, observed: &Observed) -> Plan {
    let mut plan = plan(shoot, observed);
    for index in 0..plan.items.len() {
        let Item { needs, state, .. } = &plan.items[index];
        if *state == ItemState::Done && !needs.iter().all(|it| plan.is_done(*it)) {
            plan.items[index].state = ItemState::Blocked;
        }
    }
    plan
}

fn ids_are_titles(shoot: &ValidShoot, observed: &Observed) -> Plan {
    with_items(shoot, observed, |item| {
        item.id = ItemId(item.title.as_str().into());
    })
}

fn old_pools_are_ignored(shoot: &ValidShoot, observed: &Observed) -> Plan {
    with_facts(shoot, observed, |facts| {
        let is_wanted = |name: &str| shoot.pools.iter().any(|it| it.name == name);
        facts.machines.retain(|pool, _| is_wanted(pool));
    })
}

fn blocked_items_wait(shoot: &ValidShoot, observed: &Observed) -> Plan {
    with_items(shoot, observed, |item| {
        if item.state == ItemState::Blocked {
            item.state = ItemState::Waiting("a dependency is not done".into());
        }
    })
}

fn nothing_is_drained(shoot: &ValidShoot, observed: &Observed) -> Plan {
    with_items(shoot, observed, |item| {
        if matches!(item.state, ItemState::Due(Action::Drain(_))) {
            item.state = ItemState::Blocked;
        }
    })
}

/// Gives the record another hash.
fn the_record_is_always_due(shoot: &ValidShoot, observed: &Observed) -> Plan {
    let fresh = observed.now.is_zero();
    with_facts(shoot, observed, |facts| {
        if let Some(it) = &mut facts.record
            && fresh
        {
            it.hash = Hash(0);
        }
    })
}
