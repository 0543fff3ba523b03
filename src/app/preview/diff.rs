//! The changes of a plan, in the order of its items.

use super::field_diff;
use super::types::{Change, ChangeVerb, FieldChange};
use crate::load::LastApplied;
use crate::plan::preview::first_apply;
use crate::state::action::{Action, Desired, Payload};
use crate::state::facts::{Facts, ObservedMachine};
use crate::state::key::{ClusterSide, ObjectKey, ObjectKind};
use crate::state::plan::{CREATE_MACHINE, Item, ItemState, Plan};
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
    /// The objects of a first apply, for the fields of objects without an action.
    objects: Vec<Value>,
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
            Action::Apply(it) if matches!(it.payload, Payload::Metadata { .. }) => {
                ChangeVerb::Change
            }
            Action::Apply(_) if exists => ChangeVerb::Change,
            Action::Apply(_) => ChangeVerb::Create,
            Action::Delete(_) | Action::Drain(_) => ChangeVerb::Delete,
        };
        let mut change = self.of(verb, key.kind, Some(&key.name), item);
        change.fields = match (verb, key.kind) {
            (ChangeVerb::Change, ObjectKind::Record) => self
                .last
                .map(|it| field_diff::manifest_fields(self.shoot, it))
                .unwrap_or_default(),
            (ChangeVerb::Change, ObjectKind::Machine) => {
                field_diff::metadata_fields(self.shoot, self.facts, action)
            }
            (ChangeVerb::Create, _) => field_diff::created_fields(self.shoot, self.facts, action),
            _ => Vec::new(),
        };
        change
    }

    /// The change of a blocked item. It has no action yet, so that its id and title decide.
    fn blocked(&self, item: &Item) -> Option<Change> {
        let (verb, kind, name) = match item.id.0.split_once('/')? {
            ("machine", _) => (
                ChangeVerb::Create,
                ObjectKind::Machine,
                machine_named(&item.title),
            ),
            ("image", name) => (ChangeVerb::Create, ObjectKind::ImageVolume, Some(name)),
            ("network", name) => (
                ChangeVerb::Create,
                ObjectKind::NetworkAttachmentDefinition,
                Some(name),
            ),
            ("instancetype", name) => (ChangeVerb::Create, ObjectKind::Instancetype, Some(name)),
            ("preference", name) => (ChangeVerb::Create, ObjectKind::Preference, Some(name)),
            ("certificate", part) => (ChangeVerb::Create, ObjectKind::Secret, Some(part)),
            // Objects inside the shoot are compared once they are observed.
            ("control-plane" | "system" | "bundle", name) if self.facts.record.is_none() => {
                (ChangeVerb::Create, ObjectKind::Component, Some(name))
            }
            ("control-plane", name) => (ChangeVerb::Change, ObjectKind::Component, Some(name)),
            ("remove", uid) => {
                let (kind, name) = self.with_uid(uid)?;
                // It is deleted with its machine.
                if kind == ObjectKind::UserData {
                    return None;
                }
                (ChangeVerb::Delete, kind, Some(name))
            }
            _ => return None,
        };
        let mut change = self.of(verb, kind, name, item);
        change.waits = Some(match (verb, kind, name) {
            (ChangeVerb::Create, ObjectKind::Machine, None) => LATER.to_owned(),
            _ => self.waits(item),
        });
        if verb == ChangeVerb::Create {
            change.fields = self.fields(&change);
        }
        Some(change)
    }

    fn fields(&self, change: &Change) -> Vec<FieldChange> {
        let object = self.objects.iter().find(|it| {
            it["kind"] == change.kind && it["metadata"]["name"].as_str() == change.name.as_deref()
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
            (ChangeVerb::Create, ObjectKind::ImageVolume) => {
                item.title.strip_prefix("Import ").map(str::to_owned)
            }
            (ChangeVerb::Create, ObjectKind::Machine) => self.pool(pool.as_deref()).map(about),
            (ChangeVerb::Delete, ObjectKind::Machine) => {
                let machine = self.machines().find(|it| Some(&**it.1) == name);
                let evacuating = machine.is_some_and(|it| it.2.evacuating);
                evacuating.then(|| "its node is being drained".to_owned())
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

    /// Pool and zone of a machine: from its item `machine/POOL/zK/I`, or from the observed machine.
    fn place(&self, item: &Item, name: Option<&str>) -> Option<(String, usize)> {
        if let Some(place) = item.id.0.strip_prefix("machine/") {
            let mut parts = place.split('/');
            let pool = parts.next()?.to_owned();
            let zone: usize = parts.next()?.strip_prefix('z')?.parse().ok()?;
            return Some((pool, zone.checked_sub(1)?));
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
        pools.flat_map(|(pool, it)| it.iter().map(move |(name, it)| (pool, name, it)))
    }

    fn with_uid(&self, uid: &str) -> Option<(ObjectKind, &str)> {
        if let Some((_, name, _)) = self.machines().find(|it| *it.2.uid == *uid) {
            return Some((ObjectKind::Machine, name));
        }
        let (key, _) = self.facts.objects.iter().find(|it| *it.1.uid == *uid)?;
        Some((key.kind, &key.name))
    }

    /// The last unfinished dependency, which depends on the others.
    fn waits(&self, item: &Item) -> String {
        let mut needs = item.needs.iter().map(|it| self.plan.item(*it));
        let Some(need) = needs.rfind(|it| it.state != ItemState::Done) else {
            return LATER.to_owned();
        };
        match need.id.0.split('/').next() {
            Some("record") => "after the record".to_owned(),
            Some("image") => {
                let image = need.title.strip_prefix("Import ").unwrap_or(&need.title);
                let image = image.split(" (").next().unwrap_or(image);
                format!("after {image}")
            }
            Some("network") => {
                let network = need.title.split(' ').next_back().unwrap_or_default();
                format!("after network {network}")
            }
            Some("instancetype" | "preference") => {
                let type_ = need.title.strip_prefix("Apply ").unwrap_or(&need.title);
                format!("after {type_}")
            }
            Some("machine") => "once new machines are ready".to_owned(),
            Some("certificate") => "after its certificates".to_owned(),
            Some("control-plane") => {
                let name = need.id.0.rsplit('/').next().unwrap_or_default();
                format!("after {name}")
            }
            Some("system" | "bundle" | "reach") => "once the API server answers".to_owned(),
            Some("remove") => "once no machine uses it".to_owned(),
            _ => format!("after: {}", need.title),
        }
    }
}

/// The name in `Create machine NAME in zone ZONE`. Some machines have no name yet.
fn machine_named(title: &str) -> Option<&str> {
    let rest = title.strip_prefix(CREATE_MACHINE)?;
    rest.split_whitespace().next()
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
