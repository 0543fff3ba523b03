//! Plans that are wrong on purpose: each must be noticed, or the search proves nothing.

use super::{Planner, plan, search};
use crate::state::action::Action;
use crate::state::facts::{Fact, Facts, Import, Look, Machine, Object};
use crate::state::hash::Hash;
use crate::state::key::{Key, Kind};
use crate::state::observed::Observed;
use crate::state::plan::{Item, Plan, State};
use crate::validate::ValidShoot;
use std::sync::Arc;

/// Each with an invariant that must notice it; others may too.
const MUTANTS: [(&str, Planner); 19] = [
    ("image before machine", imports_are_taken_for_done),
    ("a successor can come", imports_are_taken_for_done),
    ("removed after the last user", users_are_not_seen),
    (
        "removed after the last user",
        types_of_machines_are_not_seen,
    ),
    ("user data stays", machines_need_no_user_data),
    ("user data is there", user_data_is_taken_for_there),
    ("total", leaving_machines_are_not_seen),
    ("names", leaving_machines_are_not_seen),
    ("available", machines_that_come_count_as_ready),
    ("once", what_is_sent_is_not_seen),
    ("ids are unique", ids_are_those_of_the_kind),
    ("progress never goes back", imports_flicker),
    ("undoes nothing that is done", needs_undo_what_is_done),
    ("the first plan has every item", ids_are_titles),
    ("exactly what is desired", old_pools_are_not_seen),
    ("hosts are emptied", evacuations_are_not_seen),
    ("ends", what_is_blocked_is_waited_for),
    ("not stuck without a fault", nothing_is_drained),
    ("nothing is due after that", the_record_is_always_due),
];

#[test]
fn every_plan_that_is_wrong_on_purpose_is_noticed() {
    let is_noticed = |(name, planner): &(&str, Planner)| {
        (1..=60).any(|seed| search(*planner, seed..=seed).broken.has(name))
    };
    let unnoticed = MUTANTS.iter().filter(|it| !is_noticed(it));
    let unnoticed: Vec<_> = unnoticed.map(|it| it.0).collect();
    assert!(unnoticed.is_empty(), "{unnoticed:?} noticed nothing");
}

fn mistaken(shoot: &ValidShoot, observed: &Observed, changes: impl Fn(&mut Facts)) -> Plan {
    let mut observed = observed.clone();
    changes(Arc::make_mut(&mut observed.facts));
    plan(shoot, &observed)
}

fn told(shoot: &ValidShoot, observed: &Observed, changes: impl Fn(&mut Item)) -> Plan {
    let mut plan = plan(shoot, observed);
    plan.items.iter_mut().for_each(changes);
    plan
}

fn machines(facts: &mut Facts) -> impl Iterator<Item = &mut Machine> {
    facts.machines.values_mut().flat_map(|it| it.values_mut())
}

fn imports_are_taken_for_done(shoot: &ValidShoot, observed: &Observed) -> Plan {
    mistaken(shoot, observed, |facts| {
        let imports = facts.objects.values_mut();
        imports
            .filter(|it| matches!(it.fact, Fact::Image(_)))
            .for_each(|it| {
                it.fact = Fact::Image(Import {
                    done: true,
                    ..Import::default()
                });
            });
    })
}

fn imports_flicker(shoot: &ValidShoot, observed: &Observed) -> Plan {
    let is_odd = observed.now.as_secs() % 2 == 1;
    mistaken(shoot, observed, |facts| {
        let objects = facts.objects.values_mut();
        for it in objects.filter(|it| is_odd && matches!(it.fact, Fact::Image(_))) {
            it.fact = Fact::Image(Import::default());
        }
    })
}

fn users_are_not_seen(shoot: &ValidShoot, observed: &Observed) -> Plan {
    mistaken(shoot, observed, |facts| {
        machines(facts).for_each(|it| (it.image, it.networks) = (None, [].into()));
    })
}

fn evacuations_are_not_seen(shoot: &ValidShoot, observed: &Observed) -> Plan {
    mistaken(shoot, observed, |facts| {
        machines(facts).for_each(|it| it.evacuating = false);
    })
}

fn machines_need_no_user_data(shoot: &ValidShoot, observed: &Observed) -> Plan {
    told(shoot, observed, |it| {
        if let State::Due(Action::Delete(target)) = &mut it.state
            && target.key.kind == Kind::Machine
        {
            target.key.kind = Kind::UserData;
        }
    })
}

fn user_data_is_taken_for_there(shoot: &ValidShoot, observed: &Observed) -> Plan {
    mistaken(shoot, observed, |facts| {
        let names: Vec<_> = facts
            .machines
            .values()
            .flat_map(|it| it.keys())
            .cloned()
            .collect();
        for name in names {
            let object = Object {
                uid: name.clone(),
                version: "0".into(),
                hash: Hash::default(),
                leaving: false,
                fact: Fact::None,
            };
            let key = Key::provider(Kind::UserData, name);
            facts.objects.insert(key, object);
        }
    })
}

fn types_of_machines_are_not_seen(shoot: &ValidShoot, observed: &Observed) -> Plan {
    mistaken(shoot, observed, |facts| {
        machines(facts).for_each(|it| it.types = [].into());
    })
}

fn leaving_machines_are_not_seen(shoot: &ValidShoot, observed: &Observed) -> Plan {
    mistaken(shoot, observed, |facts| {
        let pools = facts.machines.values_mut();
        pools.for_each(|it| it.retain(|_, it| it.look != Look::Deleting));
    })
}

fn machines_that_come_count_as_ready(shoot: &ValidShoot, observed: &Observed) -> Plan {
    mistaken(shoot, observed, |facts| {
        let coming = machines(facts).filter(|it| it.look == Look::Coming);
        coming.for_each(|it| it.look = Look::Ready);
    })
}

fn what_is_sent_is_not_seen(shoot: &ValidShoot, observed: &Observed) -> Plan {
    let mut observed = observed.clone();
    observed.sent.clear();
    plan(shoot, &observed)
}

fn ids_are_those_of_the_kind(shoot: &ValidShoot, observed: &Observed) -> Plan {
    // What is open is counted by the item, so progress takes these only.
    let is_done = |it: &Item| it.state == State::Done;
    told(shoot, observed, |it| {
        if !is_done(it) {
            return;
        }
        let kind = it.id.0.split('/').next().unwrap_or_default();
        it.id.0 = kind.into();
    })
}

/// What is done is held back like what is due.
fn needs_undo_what_is_done(shoot: &ValidShoot, observed: &Observed) -> Plan {
    let mut plan = plan(shoot, observed);
    for index in 0..plan.items.len() {
        let Item { needs, state, .. } = &plan.items[index];
        if *state == State::Done && !needs.iter().all(|it| plan.is_done(*it)) {
            plan.items[index].state = State::Blocked;
        }
    }
    plan
}

fn ids_are_titles(shoot: &ValidShoot, observed: &Observed) -> Plan {
    told(shoot, observed, |it| it.id = it.title.clone().into())
}

fn old_pools_are_not_seen(shoot: &ValidShoot, observed: &Observed) -> Plan {
    mistaken(shoot, observed, |facts| {
        let is_wanted = |name: &str| shoot.pools.iter().any(|it| it.name == name);
        facts.machines.retain(|pool, _| is_wanted(pool));
    })
}

fn what_is_blocked_is_waited_for(shoot: &ValidShoot, observed: &Observed) -> Plan {
    told(shoot, observed, |it| {
        if it.state == State::Blocked {
            it.state = State::Waiting("what it needs".into());
        }
    })
}

fn nothing_is_drained(shoot: &ValidShoot, observed: &Observed) -> Plan {
    told(shoot, observed, |it| {
        if matches!(it.state, State::Due(Action::Drain(_))) {
            it.state = State::Blocked;
        }
    })
}

/// Its hash is that of something else.
fn the_record_is_always_due(shoot: &ValidShoot, observed: &Observed) -> Plan {
    let fresh = observed.now.is_zero();
    mistaken(shoot, observed, |facts| {
        if let Some(it) = &mut facts.record
            && fresh
        {
            it.hash = Hash(0);
        }
    })
}
