//! The effect of an edit on a finished cluster.

use crate::plan::hibernation;
use crate::plan::plan;
use crate::plan::preview::first_apply;
use crate::state::key::{ClusterSide, ObjectKind};
use crate::state::names;
use crate::state::observed::Observed;
use crate::state::plan::{ItemKind, ItemState, MachineStep};
use crate::validate::ValidShoot;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Kinds whose pods are replaced when their template changes.
const WORKLOADS: [&str; 3] = ["Deployment", "StatefulSet", "DaemonSet"];

/// Objects by cluster, kind, namespace and name.
type Objects = BTreeMap<(ClusterSide, String), Value>;

/// A cluster before an edit.
pub(super) struct Before {
    observed: Observed,
    objects: Objects,
    new_machines: Vec<String>,
    management: Vec<String>,
}

impl Before {
    pub(super) fn new(shoot: &ValidShoot, observed: Observed) -> Before {
        let all = first_apply(shoot, &observed.facts);
        Before {
            new_machines: new_machines(&all),
            management: management(shoot),
            objects: objects(shoot, all),
            observed,
        }
    }

    /// Describes what apply does after an edit, in words.
    pub(super) fn effect(&self, after: &ValidShoot) -> String {
        let all = first_apply(after, &self.observed.facts);
        let mut effects = machines(after, &self.observed);
        effects.extend(hibernation(after, &self.observed));
        if effects.is_empty() && new_machines(&all) != self.new_machines {
            effects.push("applies to new machines".to_owned());
        }
        if effects.is_empty() && management(after) != self.management {
            effects.push("applies when machines are next replaced".to_owned());
        }
        let (old, new) = (&self.objects, objects(after, all));
        let keys: BTreeSet<_> = old.keys().chain(new.keys()).collect();
        let (mut restarted, mut is_changed) = (BTreeSet::new(), false);
        for key in keys {
            match (old.get(key), new.get(key)) {
                (one, other) if one == other => {}
                (Some(one), Some(other)) if template(one) != template(other) => {
                    let component = &other["metadata"]["labels"][names::COMPONENT];
                    restarted.insert(component.as_str().unwrap_or_default().to_owned());
                }
                _ => is_changed = true,
            }
        }
        if !restarted.is_empty() {
            let all: Vec<String> = restarted.into_iter().collect();
            effects.push(format!("restarts {}", all.join(", ")));
        }
        if effects.is_empty() && is_changed {
            effects.push("changes in place".to_owned());
        }
        if effects.is_empty() {
            effects.push("changes nothing in the cluster".to_owned());
        }
        effects.join("; ")
    }
}

/// The pod template of a workload.
fn template(object: &Value) -> Option<&Value> {
    let kind = object["kind"].as_str()?;
    WORKLOADS
        .contains(&kind)
        .then(|| &object["spec"]["template"])
}

/// The objects of a first apply, without the record, certificates and machines.
fn objects(shoot: &ValidShoot, all: Vec<(ClusterSide, Value)>) -> Objects {
    let all = all.into_iter().filter(|(side, object)| {
        let role = &object["metadata"]["labels"][names::COMPONENT];
        let is_machine = object["kind"] == "VirtualMachine" || role == names::role::USER_DATA;
        let is_record = *side == ClusterSide::Provider
            && object["kind"] == "ConfigMap"
            && object["metadata"]["name"] == shoot.id.as_str();
        !(is_machine || is_record || role == names::role::TOKEN)
    });
    all.map(|(side, object)| {
        let metadata = &object["metadata"];
        let key = format!(
            "{} {} {}",
            object["kind"], metadata["namespace"], metadata["name"]
        );
        ((side, key), object)
    })
    .collect()
}

/// Effects on machines, from the plan.
fn machines(after: &ValidShoot, observed: &Observed) -> Vec<String> {
    let plan = plan(after, observed);
    let (mut created, mut labeled) = (BTreeSet::new(), BTreeSet::new());
    let mut is_resized = false;
    // By pool.
    let mut deleted: BTreeMap<String, usize> = BTreeMap::new();
    for item in plan.items.iter().filter(|it| it.state != ItemState::Done) {
        match &item.kind {
            ItemKind::Machine(slot) if slot.step == MachineStep::Create => {
                created.insert(slot.pool.to_string());
            }
            ItemKind::Machine(slot) if slot.step == MachineStep::Resize => is_resized = true,
            ItemKind::Machine(slot) => {
                labeled.insert(slot.pool.to_string());
            }
            ItemKind::Deletion { key, .. } if key.kind == ObjectKind::Machine => {
                let mut pools = observed.facts.machines.iter();
                let pool = pools.find(|it| it.1.contains_key(&key.name));
                if let Some((pool, _)) = pool {
                    *deleted.entry(pool.to_string()).or_default() += 1;
                }
            }
            _ => {}
        }
    }
    let mut effects = Vec::new();
    let (replaced, moved): (Vec<&String>, Vec<&String>) = created
        .iter()
        .filter(|it| deleted.contains_key(*it))
        .partition(|it| deleted[*it] == observed.facts.machines[it.as_str()].len());
    if !replaced.is_empty() {
        let is_all = replaced.len() == after.pools.len() && after.pools.len() > 1;
        let whose = if is_all { "all pools" } else { "the pool" };
        effects.push(format!("replaces the machines of {whose}"));
    }
    if !moved.is_empty() {
        effects.push("moves machines to other zones".to_owned());
    }
    if created.iter().any(|it| !deleted.contains_key(it)) {
        effects.push("adds machines".to_owned());
    }
    if deleted.keys().any(|it| !created.contains(it)) {
        effects.push("removes machines".to_owned());
    }
    if is_resized {
        effects.push("restarts the machines of the pool with their disks".to_owned());
    }
    if !labeled.is_empty() {
        effects.push("changes machines and nodes in place".to_owned());
    }
    effects
}

/// The effect on hibernation, from the plan.
fn hibernation(after: &ValidShoot, observed: &Observed) -> Option<String> {
    let plan = plan(after, observed);
    let is_open = |name: &str| {
        let kind = hibernation::item(name);
        let mut items = plan.items.iter();
        items.any(|it| it.kind == kind && it.state != ItemState::Done)
    };
    match (is_open("complete"), is_open("decision")) {
        (true, _) => Some("hibernates the cluster".to_owned()),
        (false, true) => Some("applies at its times".to_owned()),
        (false, false) => None,
    }
}

/// Objects of new machines, as texts.
fn new_machines(all: &[(ClusterSide, Value)]) -> Vec<String> {
    let objects = all.iter().map(|it| &it.1);
    let objects = objects.filter(|it| {
        let role = &it["metadata"]["labels"][names::COMPONENT];
        it["kind"] == "VirtualMachine" || role == names::role::USER_DATA
    });
    objects.map(Value::to_string).collect()
}

/// Settings of each pool that are not part of a machine.
fn management(shoot: &ValidShoot) -> Vec<String> {
    let pools = shoot.pools.iter();
    pools
        .map(|it| {
            let (surge, unavailable) = (&it.surge, &it.unavailable);
            let times = (it.creation_timeout, it.drain_timeout);
            format!("{surge:?} {unavailable:?} {times:?}")
        })
        .collect()
}
