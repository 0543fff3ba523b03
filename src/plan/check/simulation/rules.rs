//! Invariants of every plan and of its effects.

use super::World;
use crate::state::action::{Action, Desired, Payload};
use crate::state::desired::machine_content::MachineContent;
use crate::state::desired::{self, PoolSize, instancetypes};
use crate::state::facts::{Facts, MachinePhase, MachineSleep, ObjectStatus, ObservedMachine};
use crate::state::hash::Hash;
use crate::state::key::{ObjectKey, ObjectKind};
use crate::state::observed::Observed;
use crate::state::plan::{Item, ItemState, Plan};
use crate::state::{names, record};
use crate::validate::{Network, PoolSpec, ValidShoot};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// Maximum number of machines of a pool.
pub(crate) fn most(facts: &Facts, pool: &PoolSpec) -> usize {
    let size = desired::size(facts, pool);
    size + pool.surge.rounded_up(size)
}

fn floor(facts: &Facts, pool: &PoolSpec) -> usize {
    let size = desired::size(facts, pool);
    size - pool.unavailable.rounded_down(size).min(size)
}

fn due(plan: &Plan) -> impl Iterator<Item = &Action> {
    plan.items.iter().filter_map(|item| match &item.state {
        ItemState::Due(action) => Some(action),
        _ => None,
    })
}

/// Pool, zone and name of the machine that an action creates.
fn makes(action: &Action) -> Option<(&Arc<str>, usize, &Arc<str>)> {
    match action {
        Action::Apply(Desired {
            key,
            payload: Payload::Machine { pool, zone, .. },
            ..
        }) => Some((pool, *zone, &key.name)),
        _ => None,
    }
}

fn removes(action: &Action) -> Option<&ObjectKey> {
    match action {
        Action::Delete(it) | Action::Drain(it) => Some(&it.key),
        Action::Apply(_) => None,
    }
}

/// The machine that an action takes out of service, for ever or for a restart.
fn stops(action: &Action) -> Option<&ObjectKey> {
    match action {
        Action::Apply(Desired {
            key,
            payload: Payload::Halt(_),
            ..
        }) => Some(key),
        other => removes(other),
    }
}

/// Its node takes pods.
fn serves(machine: &ObservedMachine) -> bool {
    machine.phase == MachinePhase::Ready && machine.sleep == MachineSleep::Awake
}

impl World<'_> {
    /// Checks a plan by itself and against the observed objects.
    pub(crate) fn check_plan(&mut self, plan: &Plan) {
        let ids: HashSet<_> = plan.items.iter().map(|it| &it.id).collect();
        self.must("ids are unique", ids.len() == plan.items.len(), || {
            show_ids(plan)
        });
        let keys: HashSet<_> = due(plan).map(Action::key).collect();
        let once = keys.len() == due(plan).count();
        let once = once && !keys.iter().any(|it| self.observed.sent.contains_key(it));
        self.must("once", once, || show_ids(plan));
        self.check_unused(plan);
        let Some(shoot) = self.shoot else { return };
        for pool in &shoot.pools {
            self.check_bounds(plan, pool);
            self.check_prerequisites(plan, shoot, pool);
        }
    }

    /// All actions due in one plan may be performed together, in addition to those in flight.
    fn check_bounds(&mut self, plan: &Plan, pool: &PoolSpec) {
        let observed = &self.observed;
        let facts = &observed.facts;
        let there: BTreeMap<_, _> = observed.pool(&pool.name).collect();
        let coming = observed.sent.values().filter_map(makes);
        let coming = coming.filter(|it| **it.0 == *pool.name && !there.contains_key(it.2));
        let created: Vec<_> = due(plan).filter_map(makes).collect();
        let created = created.iter().filter(|it| **it.0 == *pool.name);
        let total = there.len() + coming.count() + created.clone().count();
        let holds = created.clone().next().is_none() || total <= most(facts, pool);
        let fresh = created.clone().all(|it| !there.contains_key(it.2));
        let is_going = |machine: &(&&Arc<str>, &&ObservedMachine)| {
            let key = ObjectKey::provider(ObjectKind::Machine, (**machine.0).clone());
            observed.sent.get(&key).and_then(stops).is_some()
        };
        let serving = there.iter().filter(|it| serves(it.1));
        let serving: Vec<_> = serving.filter(|it| !is_going(it)).collect();
        let going: HashSet<_> = due(plan).filter_map(stops).map(|it| &it.name).collect();
        let going = serving.iter().filter(|it| going.contains(*it.0)).count();
        let left = serving.len() - going;
        let available = going == 0 || left >= floor(facts, pool);
        let show = format!("pool {}: total {total}, {left} left", pool.name);
        self.must("total", holds, || show.clone());
        self.must("names", fresh, || show.clone());
        self.must("available", available, || show.clone());
    }

    /// No machine is created, and no ready machine removed, before everything a machine depends on exists.
    fn check_prerequisites(&mut self, plan: &Plan, shoot: &ValidShoot, pool: &PoolSpec) {
        let facts = &self.observed.facts;
        let content = super::content(shoot, facts, pool);
        let ready = |zone: usize| has_needs(shoot, facts, pool, zone.min(pool.zones.len() - 1));
        let mut created = due(plan).filter_map(makes);
        let made = created.all(|(of, zone, _)| **of != *pool.name || ready(zone));
        let mut drained = due(plan).filter(|it| matches!(it, Action::Drain(_)));
        let succeeded = drained.all(|action| {
            let machines = facts.machines.get(pool.name.as_str());
            let machine = machines.and_then(|it| it.get(&action.key().name));
            let is_old = |it: &&ObservedMachine| {
                it.content.as_ref() != Some(&content) || it.evacuation.is_some()
            };
            let serves = machine.filter(|it| it.phase == MachinePhase::Ready && is_old(it));
            serves.is_none_or(|it| ready(it.zone))
        });
        self.must("image before machine", made, || show_ids(plan));
        self.must("a successor can be created", succeeded, || show_ids(plan));
    }

    fn check_unused(&mut self, plan: &Plan) {
        let deleted = due(plan).filter(|it| matches!(it, Action::Delete(_)));
        let deleted: Vec<ObjectKey> = deleted.map(|it| it.key().clone()).collect();
        let made: HashSet<_> = due(plan).filter_map(makes).map(|it| it.2.clone()).collect();
        for key in deleted {
            let is_made = key.kind == ObjectKind::UserData && made.contains(&key.name);
            self.must("user data stays", !is_made, || key.to_string());
            self.check_is_unused(&key);
        }
    }

    /// An object that is deleted is not in use.
    pub(crate) fn check_is_unused(&mut self, key: &ObjectKey) {
        let facts = &self.observed.facts;
        let mut machines = facts.machines.values().flatten();
        let network = format!("{}/{}", facts.namespace, key.name);
        let (name, used) = match key.kind {
            ObjectKind::ImageVolume => (
                "removed after the last user",
                machines.any(|it| it.1.image.as_ref() == Some(&key.name)),
            ),
            ObjectKind::NetworkAttachmentDefinition => (
                "removed after the last user",
                machines.any(|machine| machine.1.networks.iter().any(|it| **it == *network)),
            ),
            ObjectKind::Instancetype => (
                "removed after the last user",
                machines.any(|machine| machine.1.types.iter().any(|it| **it == key.to_string())),
            ),
            ObjectKind::UserData => {
                let is_made = |it: (_, _, &Arc<str>)| *it.2 == key.name;
                let mut coming = self.observed.sent.values().filter_map(makes);
                (
                    "user data stays",
                    machines.any(|it| *it.0 == key.name) || coming.any(is_made),
                )
            }
            ObjectKind::Record => (
                "the record is deleted last",
                machines.next().is_some() || !facts.objects.is_empty() || !facts.foreign.is_empty(),
            ),
            _ => return,
        };
        self.must(name, !used, || key.to_string());
    }

    /// A shared object that changes back to not done affects no other item.
    pub(crate) fn check_flicker(&mut self, before: &Plan) {
        let shared = |key: &ObjectKey| {
            matches!(
                key.kind,
                ObjectKind::ImageVolume
                    | ObjectKind::NetworkAttachmentDefinition
                    | ObjectKind::Instancetype
            )
        };
        let (Some(shoot), Some(key)) = (self.shoot, self.random_object(shared)) else {
            return;
        };
        let mut observed = self.observed.clone();
        let objects = &mut Arc::make_mut(&mut observed.facts).objects;
        let it = objects.get_mut(&key).expect("it was chosen from these");
        match &mut it.status {
            ObjectStatus::Image(import) => import.done = false,
            _ => it.hash.0 ^= 1,
        }
        let after = (self.planner)(shoot, &observed);
        let is_done = |it: &&Item| it.state == ItemState::Done;
        let still: HashSet<_> = after
            .items
            .iter()
            .filter(is_done)
            .map(|it| &it.id)
            .collect();
        let own = [
            format!("image/{}", key.name),
            format!("instancetype/{}", key.name),
            network_id(shoot, &key.name),
        ];
        let mut done = before.items.iter().filter(is_done);
        let holds = done.all(|it| still.contains(&it.id) || own.contains(&it.id.to_string()));
        self.must("keeps done items done", holds, || key.to_string());
    }

    /// A converged cluster contains exactly the desired objects.
    pub(crate) fn check_goal(&mut self) {
        let observed = &self.observed;
        let same = match self.shoot {
            Some(shoot) => goal(shoot, observed) == present(&observed.facts),
            None => {
                let facts = &observed.facts;
                facts.machines.is_empty()
                    && facts.objects.is_empty()
                    && facts.foreign.is_empty()
                    && facts.record.is_none()
            }
        };
        let show = || format!("{:#?}", present(&self.observed.facts));
        let show = show();
        self.must("matches the desired state", same, || show);
        let facts = &self.observed.facts;
        let has_data = |name: &Arc<str>| {
            let key = ObjectKey::provider(ObjectKind::UserData, name.clone());
            let data = facts.objects.get(&key);
            data.is_some_and(|it| !it.leaving)
        };
        let all = facts.machines.values().flatten().all(|it| has_data(it.0));
        self.must("user data exists", all, String::new);
        let mut machines = self.observed.facts.machines.values().flatten();
        let stays = machines.find(|it| it.1.evacuation.is_some());
        let stays = stays.map(|it| it.0.to_string());
        let holds = stays.is_none();
        self.must("hosts are drained", holds, || stays.unwrap_or_default());
        self.check_sizes();
    }

    /// Decided sizes are within the bounds of their pools, and machines that were deleted by name are gone.
    fn check_sizes(&mut self) {
        let Some(shoot) = self.shoot else { return };
        for pool in &shoot.pools {
            let facts = &self.observed.facts;
            let size = desired::pool_size(facts, pool);
            let total = size.total();
            let is_within = (pool.minimum..=pool.maximum).contains(&total);
            let zones: usize = size.zone_targets(&pool.zones).iter().sum();
            let machines = facts.machines.get(pool.name.as_str());
            let mut machines = machines.into_iter().flat_map(|it| it.values());
            let is_gone = !machines.any(|it| size.deletes(&it.uid));
            let show = format!("pool {}: {size:?}", pool.name);
            self.must(
                "sizes are within the bounds",
                is_within && zones == total,
                || show.clone(),
            );
            self.must("deleted machines go", is_gone, || show.clone());
        }
    }
}

/// Pool, zone, content, readiness and metadata of a machine.
type Row = (Arc<str>, usize, Option<MachineContent>, bool, Arc<str>);

/// Everything that exists, without randomly chosen names.
#[derive(Debug, PartialEq)]
struct Present {
    /// Sorted.
    machines: Vec<Row>,
    objects: BTreeMap<ObjectKey, (Hash, bool)>,
    user_data: usize,
    record: Option<(Hash, BTreeMap<Arc<str>, PoolSize>)>,
}

fn present(facts: &Facts) -> Present {
    let pools = facts.machines.iter();
    let machines = pools.flat_map(|(pool, all)| all.values().map(move |it| (pool, it)));
    let machines = machines.map(|(pool, machine)| {
        (
            pool.clone(),
            machine.zone,
            machine.content.clone(),
            serves(machine),
            machine.metadata.clone(),
        )
    });
    let mut machines: Vec<_> = machines.collect();
    machines.sort();
    let objects = facts.objects.iter();
    let objects = objects.filter(|it| it.0.kind != ObjectKind::UserData);
    let objects =
        objects.map(|(key, it)| (key.clone(), (it.hash, !it.leaving && is_done(&it.status))));
    let user_data = facts.objects.keys();
    let user_data = user_data
        .filter(|it| it.kind == ObjectKind::UserData)
        .count();
    let record = facts.record.as_ref().filter(|it| !it.leaving);
    Present {
        machines,
        objects: objects.collect(),
        user_data,
        record: record.map(|it| (it.hash, it.sizes.clone())),
    }
}

fn goal(shoot: &ValidShoot, observed: &Observed) -> Present {
    let facts = &observed.facts;
    let (mut machines, mut objects, mut sizes) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
    for pool in &shoot.pools {
        let content = super::content(shoot, facts, pool);
        sizes.insert(pool.name.as_str().into(), desired::pool_size(facts, pool));
        for (zone, count) in desired::zone_targets(facts, pool).into_iter().enumerate() {
            let metadata = desired::pool_metadata(pool).into();
            let machine = (
                pool.name.as_str().into(),
                zone,
                Some(content.clone()),
                true,
                metadata,
            );
            machines.extend((0..count).map(|_| machine.clone()));
            let golden = desired::image_volume(shoot, facts, pool, zone);
            objects.extend(golden.map(|volume| {
                (
                    ObjectKey::provider(ObjectKind::ImageVolume, volume.name),
                    (volume.hash, true),
                )
            }));
        }
    }
    for network in &shoot.networks {
        if let Network::Tenant { name, config, .. } = network {
            let key = ObjectKey::provider(
                ObjectKind::NetworkAttachmentDefinition,
                names::tenant_network(&shoot.id, name),
            );
            objects.insert(key, (desired::config_hash(config), true));
        }
    }
    objects.extend(types(shoot, facts));
    machines.sort();
    let user_data = machines.len();
    let record = Some((record::wanted(shoot, facts).hash, sizes));
    Present {
        machines,
        objects,
        user_data,
        record,
    }
}

/// Types that pools name, and types that existing machines were created with and that do not require a replacement.
fn types(shoot: &ValidShoot, facts: &Facts) -> impl Iterator<Item = (ObjectKey, (Hash, bool))> {
    let machines = facts.machines.values().flatten();
    let made_by: HashSet<&str> = machines
        .flat_map(|machine| machine.1.types.iter().map(|it| &**it))
        .collect();
    let there = facts.objects.iter();
    let used = there.filter(|it| made_by.contains(&*it.0.to_string()));
    let mut all: BTreeMap<ObjectKey, Hash> = used.map(|(key, it)| (key.clone(), it.hash)).collect();
    all.extend(instancetypes::wanted_of(shoot, facts));
    all.into_iter().map(|(key, hash)| (key, (hash, true)))
}

fn is_done(fact: &ObjectStatus) -> bool {
    match fact {
        ObjectStatus::Image(import) => import.done,
        _ => true,
    }
}

fn has_needs(shoot: &ValidShoot, facts: &Facts, pool: &PoolSpec, zone: usize) -> bool {
    let has = |kind, name: &str, hash| {
        let object = facts.objects.get(&ObjectKey::provider(kind, name));
        object.is_some_and(|it| !it.leaving && it.hash == hash && is_done(&it.status))
    };
    let golden = desired::image_volume(shoot, facts, pool, zone);
    let mut networks = shoot.networks.iter();
    let network = |network: &Network| match network {
        Network::Tenant { name, config, .. } => {
            let name = names::tenant_network(&shoot.id, name);
            has(
                ObjectKind::NetworkAttachmentDefinition,
                &name,
                desired::config_hash(config),
            )
        }
        Network::Shared { .. } => true,
    };
    facts.record.as_ref().is_some_and(|it| !it.leaving)
        && golden.is_none_or(|it| has(ObjectKind::ImageVolume, &it.name, it.hash))
        && networks.all(network)
        && instancetypes::wanted_of(shoot, facts)
            .iter()
            .all(|(key, hash)| has(key.kind, &key.name, *hash))
}

/// The plan's id of the network with this object name.
fn network_id(shoot: &ValidShoot, object: &str) -> String {
    let name = object.strip_prefix(&format!("{}-", shoot.id));
    format!("network/{}", name.unwrap_or(object))
}

/// Titles and states of the items that are not done.
pub(super) fn show_open(plan: &Plan) -> String {
    let open = plan.items.iter().filter(|it| it.state != ItemState::Done);
    let shown = open.map(|it| format!("{}: {:?}", it.title, it.state));
    shown.collect::<Vec<_>>().join("\n    ")
}

fn show_ids(plan: &Plan) -> String {
    let shown = plan
        .items
        .iter()
        .map(|it| format!("{} {:?}", it.id, it.state));
    shown.collect::<Vec<_>>().join("\n    ")
}
