//! The changes of a plan, in the order of its items.

use super::field_diff;
use super::reasons::DeletionReasons;
use super::types::{Change, ChangeVerb, FieldChange};
use crate::load::LastApplied;
use crate::plan::preview::first_apply;
use crate::state::action::{Action, Desired, Payload};
use crate::state::desired;
use crate::state::facts::{Evacuation, Facts, ObservedMachine};
use crate::state::hash::Hash;
use crate::state::key::{ClusterSide, ObjectKey, ObjectKind};
use crate::state::plan::{Item, ItemKind, ItemState, MachineItem, MachineStep, Plan};
use crate::validate::{PoolSpec, ValidShoot};
use serde_json::Value;
use std::sync::Arc;

/// The reason of machines that only the limits of the rolling update hold back.
const LATER: &str = "later in the rolling update";

pub(super) fn changes(
    shoot: &ValidShoot,
    facts: &Facts,
    plan: &Plan,
    last: Option<&LastApplied>,
) -> Vec<Change> {
    let view = View {
        shoot,
        facts,
        plan,
        last,
        reasons: DeletionReasons::new(shoot, facts, last),
        objects: first_apply(shoot, facts)
            .into_iter()
            .map(|it| it.1)
            .collect(),
    };
    plan.items.iter().flat_map(|it| view.changes(it)).collect()
}

struct View<'a> {
    shoot: &'a ValidShoot,
    facts: &'a Facts,
    plan: &'a Plan,
    last: Option<&'a LastApplied>,
    reasons: DeletionReasons<'a>,
    /// The objects of a first apply, for the fields of objects without an action.
    objects: Vec<Value>,
}

/// True for a machine that takes new CAs in place.
fn takes_roots(item: &Item) -> bool {
    matches!(&item.kind, ItemKind::Machine(slot) if slot.step == MachineStep::TakeRoots)
}

impl View<'_> {
    fn changes(&self, item: &Item) -> Vec<Change> {
        match &item.state {
            ItemState::Due(Action::Apply(Desired {
                key,
                payload: Payload::Objects(objects),
                ..
            })) => {
                let of = |it| self.part(item, key.side, it);
                objects.iter().filter_map(of).collect()
            }
            ItemState::Due(action) => vec![self.due(item, action)],
            ItemState::Blocked => self.blocked(item).into_iter().collect(),
            ItemState::Waiting(_) if takes_roots(item) => self.blocked(item).into_iter().collect(),
            ItemState::Done | ItemState::Waiting(_) | ItemState::Failed(_) => Vec::new(),
        }
    }

    /// One object of a component.
    fn part(&self, item: &Item, side: ClusterSide, object: &Value) -> Option<Change> {
        let kind = ObjectKind::generic(object["kind"].as_str()?)?;
        let name = object["metadata"]["name"].as_str()?;
        let name = match (side, object["metadata"]["namespace"].as_str()) {
            (ClusterSide::Shoot, Some(namespace)) => format!("{namespace}/{name}"),
            _ => name.to_owned(),
        };
        let key = ObjectKey {
            side,
            kind,
            name: name.as_str().into(),
        };
        let verb = match self.facts.objects.contains_key(&key) {
            true => ChangeVerb::Change,
            false => ChangeVerb::Create,
        };
        Some(self.of(verb, kind, Some(&name), item))
    }

    fn due(&self, item: &Item, action: &Action) -> Change {
        let key = action.key();
        let exists = match key.kind {
            ObjectKind::Record => self.facts.record.is_some(),
            _ => self.facts.objects.contains_key(key),
        };
        let verb = match action {
            Action::Apply(it)
                if matches!(
                    it.payload,
                    Payload::Metadata { .. }
                        | Payload::Repair(_)
                        | Payload::Halt(_)
                        | Payload::Migrate { .. }
                        | Payload::CancelEvacuation { .. }
                        | Payload::Start { .. }
                ) =>
            {
                ChangeVerb::Change
            }
            Action::Apply(_) if exists => ChangeVerb::Change,
            Action::Apply(_) => ChangeVerb::Create,
            Action::Delete(_) | Action::Drain(_) => ChangeVerb::Delete,
        };
        let mut change = self.of(verb, key.kind, Some(&key.name), item);
        let Action::Apply(desired) = action else {
            return change;
        };
        change.fields = match (verb, key.kind) {
            (ChangeVerb::Change, ObjectKind::Record) => self
                .last
                .map(|it| field_diff::manifest_fields(self.shoot, it))
                .unwrap_or_default(),
            (ChangeVerb::Change, ObjectKind::Machine)
                if matches!(desired.payload, Payload::Metadata { .. }) =>
            {
                field_diff::metadata_fields(self.shoot, self.facts, desired)
            }
            (ChangeVerb::Create, _) => field_diff::created_fields(self.shoot, self.facts, desired),
            _ => Vec::new(),
        };
        change
    }

    /// The change of a blocked item, which has no action yet.
    fn blocked(&self, item: &Item) -> Option<Change> {
        let is_new = self.facts.record.is_none();
        let (verb, kind, name) = match &item.kind {
            ItemKind::Machine(slot) => {
                let machine = slot.machine.as_deref();
                let (verb, kind) = match (slot.step, machine) {
                    (MachineStep::Create, _) | (_, None) => {
                        (ChangeVerb::Create, ObjectKind::Machine)
                    }
                    (MachineStep::LabelNode, _) => (ChangeVerb::Change, ObjectKind::Node),
                    _ => (ChangeVerb::Change, ObjectKind::Machine),
                };
                (verb, kind, machine)
            }
            ItemKind::Image(image) => (
                ChangeVerb::Create,
                ObjectKind::ImageVolume,
                Some(&*image.volume),
            ),
            ItemKind::Network(name) => {
                let kind = ObjectKind::NetworkAttachmentDefinition;
                (ChangeVerb::Create, kind, Some(&**name))
            }
            ItemKind::MachineType { key, .. } => (ChangeVerb::Create, key.kind, Some(&*key.name)),
            ItemKind::Certificate(name) | ItemKind::Manifest(name) => {
                (ChangeVerb::Create, ObjectKind::Secret, Some(&**name))
            }
            // Objects inside the shoot are compared once they are observed.
            ItemKind::Component { name, .. } | ItemKind::AddOn(name) if is_new => {
                (ChangeVerb::Create, ObjectKind::Component, Some(&**name))
            }
            ItemKind::Component {
                side: ClusterSide::Provider,
                name,
            } => (ChangeVerb::Change, ObjectKind::Component, Some(&**name)),
            // It is deleted with its machine.
            ItemKind::Deletion { key, .. } if key.kind == ObjectKind::UserData => return None,
            ItemKind::Deletion { key, .. } => (ChangeVerb::Delete, key.kind, Some(&*key.name)),
            ItemKind::Record
            | ItemKind::Component { .. }
            | ItemKind::AddOn(_)
            | ItemKind::Connection
            | ItemKind::NodeCertificate { .. }
            | ItemKind::Other(_) => return None,
        };
        let mut change = self.of(verb, kind, name, item);
        change.waits = Some(match (verb, kind, name) {
            (ChangeVerb::Create, ObjectKind::Machine, None) => LATER.to_owned(),
            _ => self.waits(item),
        });
        change.fields = match (verb, &item.kind) {
            (ChangeVerb::Create, _) => self.fields(&change),
            (_, ItemKind::Machine(slot)) => self.metadata_fields(slot),
            _ => Vec::new(),
        };
        Some(change)
    }

    /// The new labels, annotations and taints of a machine. Empty if only other objects of it change.
    fn metadata_fields(&self, slot: &MachineItem) -> Vec<FieldChange> {
        let name = slot.machine.as_ref();
        let machine = name.and_then(|name| Some((name, self.facts.machine(name)?)));
        let metadata = self.pool(Some(&slot.pool)).map(desired::pool_metadata);
        let (Some((name, machine)), Some(metadata)) = (machine, metadata) else {
            return Vec::new();
        };
        if *metadata == *machine.metadata {
            return Vec::new();
        }
        let desired = Desired {
            key: ObjectKey::provider(ObjectKind::Machine, name.clone()),
            hash: Hash::of(&metadata),
            payload: Payload::Metadata {
                pool: slot.pool.clone(),
                uid: machine.uid.clone(),
            },
        };
        field_diff::metadata_fields(self.shoot, self.facts, &desired)
    }

    fn fields(&self, change: &Change) -> Vec<FieldChange> {
        let object = self.objects.iter().find(|object| {
            object["kind"] == change.kind
                && object["metadata"]["name"].as_str() == change.name.as_deref()
        });
        object.map(field_diff::of_object).unwrap_or_default()
    }

    fn of(&self, verb: ChangeVerb, kind: ObjectKind, name: Option<&str>, item: &Item) -> Change {
        let place = self
            .place(item, name)
            .filter(|_| kind == ObjectKind::Machine);
        let zone = place
            .as_ref()
            .and_then(|(pool, zone)| self.zone(pool, *zone));
        let pool = place.map(|it| it.0);
        let about = match (verb, kind) {
            (ChangeVerb::Create, ObjectKind::Record) => Some("the record of the shoot".to_owned()),
            (ChangeVerb::Create, ObjectKind::ImageVolume) => match &item.kind {
                ItemKind::Image(it) => Some(format!("{} ({})", it.image, it.size)),
                _ => None,
            },
            (ChangeVerb::Create, ObjectKind::Machine) => self.pool(pool.as_deref()).map(about),
            (ChangeVerb::Change, ObjectKind::Machine) => match &item.kind {
                ItemKind::Machine(slot) if slot.step == MachineStep::Resize => {
                    let machine = self.machines().find(|it| Some(&**it.1) == name);
                    machine.and_then(|it| self.reasons.restart(it.0, it.2))
                }
                _ if takes_roots(item) => {
                    Some("takes the new certificate authority while it runs".to_owned())
                }
                ItemKind::Machine(slot) if slot.step == MachineStep::Evacuate => {
                    let machine = self.machines().find(|it| Some(&**it.1) == name);
                    let is_cancelled =
                        machine.is_some_and(|it| it.2.evacuation == Some(Evacuation::Cancellation));
                    let about = match is_cancelled {
                        true => "stays, because its host is no longer drained",
                        false => "migrated, because its host is being drained",
                    };
                    Some(about.to_owned())
                }
                _ => None,
            },
            (ChangeVerb::Delete, ObjectKind::Machine) => {
                let machine = self.machines().find(|it| Some(&**it.1) == name);
                machine.map(|(pool, _, machine)| self.reasons.of(pool, machine))
            }
            _ => None,
        };
        Change {
            action: verb,
            kind: kind.to_string(),
            name: name.map(|it| self.full_name(kind, it)),
            pool,
            zone,
            title: item.title.clone(),
            waits: None,
            about,
            fields: Vec::new(),
        }
    }

    /// The name of the object. Items of tenant networks and certificates have short names.
    fn full_name(&self, kind: ObjectKind, name: &str) -> String {
        match kind {
            ObjectKind::NetworkAttachmentDefinition | ObjectKind::Secret
                if !name.starts_with(&self.shoot.id) =>
            {
                format!("{}-{name}", self.shoot.id)
            }
            _ => name.to_owned(),
        }
    }

    /// Pool and zone of a machine: from its slot, or from the observed machine.
    fn place(&self, item: &Item, name: Option<&str>) -> Option<(String, usize)> {
        if let ItemKind::Machine(slot) = &item.kind {
            return Some((slot.pool.to_string(), slot.zone));
        }
        let (pool, _, machine) = self.machines().find(|it| Some(&**it.1) == name)?;
        Some((pool.to_string(), machine.zone))
    }

    /// The name of a zone. Removed pools and zones are found in the last applied manifest.
    fn zone(&self, pool: &str, index: usize) -> Option<String> {
        if let Some(zone) = self.pool(Some(pool)).and_then(|it| it.zones.get(index)) {
            return Some(zone.clone());
        }
        let workers = &self.last?.0.spec.provider.workers;
        let worker = workers.iter().find(|it| it.name == pool)?;
        worker.zones.get(index).cloned()
    }

    fn pool(&self, name: Option<&str>) -> Option<&PoolSpec> {
        let pools = &self.shoot.pools;
        pools.iter().find(|it| Some(it.name.as_str()) == name)
    }

    fn machines(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<str>, &ObservedMachine)> {
        let pools = self.facts.machines.iter();
        pools.flat_map(|(pool, machines)| {
            machines
                .iter()
                .map(move |(name, machine)| (pool, name, machine))
        })
    }

    /// The last unfinished dependency, which depends on the others.
    fn waits(&self, item: &Item) -> String {
        let mut needs = item.needs.iter().map(|it| self.plan.item(*it));
        let Some(need) = needs.rfind(|it| it.state != ItemState::Done) else {
            return LATER.to_owned();
        };
        match &need.kind {
            ItemKind::Record | ItemKind::Manifest(_) => "after the record".to_owned(),
            ItemKind::Image(image) => format!("after {}", image.image),
            ItemKind::Network(name) => format!("after network {name}"),
            ItemKind::MachineType { text, .. } => format!("after {text}"),
            ItemKind::Machine(_) => "once new machines are ready".to_owned(),
            ItemKind::Certificate(_) => "after its certificates".to_owned(),
            ItemKind::Component {
                side: ClusterSide::Provider,
                name,
            } => format!("after {name}"),
            ItemKind::Component { .. } | ItemKind::AddOn(_) | ItemKind::Connection => {
                "once the API server answers".to_owned()
            }
            ItemKind::Deletion { .. } => "once no machine uses it".to_owned(),
            ItemKind::NodeCertificate { .. } | ItemKind::Other(_) => {
                format!("after: {}", need.title)
            }
        }
    }
}

fn about(pool: &PoolSpec) -> String {
    let (image, root) = (&pool.image, &pool.root);
    let mut text = format!(
        "type {}, image {} {}, volume {} {}",
        pool.machine_type.name, image.name, image.version, root.size, root.type_
    );
    for data in &pool.data {
        text += &format!(", {} {} {}", data.name, data.volume.size, data.volume.type_);
    }
    text
}

#[cfg(test)]
#[path = "diff_tests.rs"]
mod tests;
