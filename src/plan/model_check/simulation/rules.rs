//! Invariants of every plan and of its effects.

use super::Simulation;
use crate::plan::item::{Action, Content, Item, Key, Kind, Plan, State, Wanted};
use crate::plan::observed::{Fact, Facts, Look, Machine, Observed};
use crate::plan::spread::spread;
use crate::plan::{Hash, desired, names, record, types};
use crate::validate::{Network, Pool, ValidShoot};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// Maximum number of machines of a pool.
pub(super) fn max_machines(facts: &Facts, pool: &Pool) -> usize {
    let size = desired::size(facts, pool);
    size + pool.surge.rounded_up(size)
}

fn min_ready(facts: &Facts, pool: &Pool) -> usize {
    let size = desired::size(facts, pool);
    size - pool.unavailable.rounded_down(size).min(size)
}

fn due(plan: &Plan) -> impl Iterator<Item = &Action> {
    plan.items.iter().filter_map(|it| match &it.state {
        State::Due(action) => Some(action),
        _ => None,
    })
}

/// Pool, zone and name of the machine that an action creates.
fn created_machine(action: &Action) -> Option<(&Arc<str>, usize, &Arc<str>)> {
    match action {
        Action::Apply(Wanted {
            key,
            content: Content::Machine { pool, zone, .. },
            ..
        }) => Some((pool, *zone, &key.name)),
        _ => None,
    }
}

fn removed_key(action: &Action) -> Option<&Key> {
    match action {
        Action::Delete(it) | Action::Drain(it) => Some(&it.key),
        Action::Apply(_) => None,
    }
}

impl Simulation<'_> {
    /// Checks a plan by itself and against the observed objects.
    pub(super) fn check_plan(&mut self, plan: &Plan) {
        let ids: HashSet<_> = plan.items.iter().map(|it| &it.id).collect();
        self.require("ids are unique", ids.len() == plan.items.len(), || {
            show_ids(plan)
        });
        let keys: HashSet<_> = due(plan).map(Action::key).collect();
        let once = keys.len() == due(plan).count();
        let once = once && !keys.iter().any(|it| self.observed.sent.contains_key(it));
        self.require("once", once, || show_ids(plan));
        self.check_unused(plan);
        let Some(shoot) = self.shoot else { return };
        for pool in &shoot.pools {
            self.check_bounds(plan, pool);
            self.check_prerequisites(plan, shoot, pool);
        }
    }

    /// All actions due in one plan may be performed together, in addition to those in flight.
    fn check_bounds(&mut self, plan: &Plan, pool: &Pool) {
        let observed = &self.observed;
        let facts = &observed.facts;
        let existing: BTreeMap<_, _> = observed.pool(&pool.name).collect();
        let coming = observed.sent.values().filter_map(created_machine);
        let coming = coming.filter(|it| **it.0 == *pool.name && !existing.contains_key(it.2));
        let created: Vec<_> = due(plan).filter_map(created_machine).collect();
        let created = created.iter().filter(|it| **it.0 == *pool.name);
        let total = existing.len() + coming.count() + created.clone().count();
        let holds = created.clone().next().is_none() || total <= max_machines(facts, pool);
        let fresh = created.clone().all(|it| !existing.contains_key(it.2));
        let is_being_removed = |it: &(&&Arc<str>, &&Machine)| {
            let key = Key::provider(Kind::Machine, (**it.0).clone());
            observed.sent.get(&key).and_then(removed_key).is_some()
        };
        let serving = existing.iter().filter(|it| it.1.look == Look::Ready);
        let serving: Vec<_> = serving.filter(|it| !is_being_removed(it)).collect();
        let removed: HashSet<_> = due(plan)
            .filter_map(removed_key)
            .map(|it| &it.name)
            .collect();
        let removed = serving.iter().filter(|it| removed.contains(*it.0)).count();
        let left = serving.len() - removed;
        let available = removed == 0 || left >= min_ready(facts, pool);
        let show = format!("pool {}: total {total}, {left} left", pool.name);
        self.require("total", holds, || show.clone());
        self.require("names", fresh, || show.clone());
        self.require("available", available, || show.clone());
    }

    /// No machine is created, and no ready machine removed, before everything a machine depends on exists.
    fn check_prerequisites(&mut self, plan: &Plan, shoot: &ValidShoot, pool: &Pool) {
        let facts = &self.observed.facts;
        let hash = desired::pool_hash(shoot, pool, &desired::attachments(shoot, facts));
        let ready =
            |zone: usize| has_prerequisites(shoot, facts, pool, zone.min(pool.zones.len() - 1));
        let mut created = due(plan).filter_map(created_machine);
        let can_create = created.all(|(of, zone, _)| **of != *pool.name || ready(zone));
        let mut drained = due(plan).filter(|it| matches!(it, Action::Drain(_)));
        let succeeded = drained.all(|action| {
            let machines = facts.machines.get(pool.name.as_str());
            let machine = machines.and_then(|it| it.get(&action.key().name));
            let is_old = |it: &&Machine| it.hash != hash || it.evacuating;
            let serves = machine.filter(|it| it.look == Look::Ready && is_old(it));
            serves.is_none_or(|it| ready(it.zone))
        });
        self.require("image before machine", can_create, || show_ids(plan));
        self.require("a successor can be created", succeeded, || show_ids(plan));
    }

    fn check_unused(&mut self, plan: &Plan) {
        let deleted = due(plan).filter(|it| matches!(it, Action::Delete(_)));
        let deleted: Vec<Key> = deleted.map(|it| it.key().clone()).collect();
        let created_names: HashSet<_> = due(plan)
            .filter_map(created_machine)
            .map(|it| it.2.clone())
            .collect();
        for key in deleted {
            let is_created = key.kind == Kind::UserData && created_names.contains(&key.name);
            self.require("user data stays", !is_created, || key.to_string());
            self.check_is_unused(&key);
        }
    }

    /// An object that is deleted is not in use.
    pub(super) fn check_is_unused(&mut self, key: &Key) {
        let facts = &self.observed.facts;
        let mut machines = facts.machines.values().flatten();
        let network = format!("{}/{}", facts.namespace, key.name);
        let (name, used) = match key.kind {
            Kind::Image => (
                "removed after the last user",
                machines.any(|it| it.1.image.as_ref() == Some(&key.name)),
            ),
            Kind::Network => (
                "removed after the last user",
                machines.any(|(_, machine)| machine.networks.iter().any(|it| **it == *network)),
            ),
            Kind::Instancetype => (
                "removed after the last user",
                machines.any(|(_, machine)| machine.types.iter().any(|it| **it == key.to_string())),
            ),
            Kind::UserData => {
                let is_created = |it: (_, _, &Arc<str>)| *it.2 == key.name;
                let mut coming = self.observed.sent.values().filter_map(created_machine);
                (
                    "user data stays",
                    machines.any(|it| *it.0 == key.name) || coming.any(is_created),
                )
            }
            Kind::Record => (
                "the record is deleted last",
                machines.next().is_some() || !facts.objects.is_empty() || !facts.foreign.is_empty(),
            ),
            _ => return,
        };
        self.require(name, !used, || key.to_string());
    }

    /// A shared object that changes back to not done affects no other item.
    pub(super) fn check_flicker(&mut self, before: &Plan) {
        let shared = |it: &Key| matches!(it.kind, Kind::Image | Kind::Network | Kind::Instancetype);
        let (Some(shoot), Some(key)) = (self.shoot, self.random_object(shared)) else {
            return;
        };
        let mut observed = self.observed.clone();
        let objects = &mut Arc::make_mut(&mut observed.facts).objects;
        let it = objects.get_mut(&key).expect("it was chosen from these");
        match &mut it.fact {
            Fact::Image(import) => import.done = false,
            _ => it.hash.0 ^= 1,
        }
        let after = (self.planner)(shoot, &observed);
        let is_done = |it: &&Item| it.state == State::Done;
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
        self.require("keeps done items done", holds, || key.to_string());
    }

    /// A converged cluster contains exactly the desired objects.
    pub(super) fn check_goal(&mut self) {
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
        self.require("matches the desired state", same, || show);
        let facts = &self.observed.facts;
        let has_data = |name: &Arc<str>| {
            let key = Key::provider(Kind::UserData, name.clone());
            let data = facts.objects.get(&key);
            data.is_some_and(|it| !it.leaving)
        };
        let all = facts.machines.values().flatten().all(|it| has_data(it.0));
        self.require("user data exists", all, String::new);
        let mut machines = self.observed.facts.machines.values().flatten();
        let stays = machines.find(|it| it.1.evacuating);
        let stays = stays.map(|it| it.0.to_string());
        let holds = stays.is_none();
        self.require("hosts are drained", holds, || stays.unwrap_or_default());
    }
}

/// Pool, zone, hash, readiness and metadata of a machine.
type Row = (Arc<str>, usize, Hash, bool, Arc<str>);

/// Everything that exists, without randomly chosen names.
#[derive(Debug, PartialEq)]
struct Present {
    /// Sorted.
    machines: Vec<Row>,
    objects: BTreeMap<Key, (Hash, bool)>,
    user_data: usize,
    record: Option<(Hash, BTreeMap<Arc<str>, usize>)>,
}

fn present(facts: &Facts) -> Present {
    let pools = facts.machines.iter();
    let machines = pools.flat_map(|(pool, all)| all.values().map(move |it| (pool, it)));
    let machines = machines.map(|(pool, it)| {
        let is_ready = it.look == Look::Ready;
        (
            pool.clone(),
            it.zone,
            it.hash,
            is_ready,
            it.metadata.clone(),
        )
    });
    let mut machines: Vec<_> = machines.collect();
    machines.sort();
    let objects = facts.objects.iter();
    let objects = objects.filter(|it| it.0.kind != Kind::UserData);
    let objects =
        objects.map(|(key, it)| (key.clone(), (it.hash, !it.leaving && is_done(&it.fact))));
    let user_data = facts.objects.keys();
    let user_data = user_data.filter(|it| it.kind == Kind::UserData).count();
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
    let attachments = desired::attachments(shoot, facts);
    let (mut machines, mut objects, mut sizes) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
    for pool in &shoot.pools {
        let hash = desired::pool_hash(shoot, pool, &attachments);
        let size = desired::size(facts, pool);
        sizes.insert(pool.name.as_str().into(), size);
        for (zone, count) in spread(size, pool.zones.len()).into_iter().enumerate() {
            let metadata = desired::pool_metadata(pool).into();
            let machine = (pool.name.as_str().into(), zone, hash, true, metadata);
            machines.extend((0..count).map(|_| machine.clone()));
            let golden = desired::golden(shoot, facts, pool, zone);
            objects.extend(golden.map(|it| (Key::provider(Kind::Image, it.name), (it.hash, true))));
        }
    }
    for network in &shoot.networks {
        if let Network::Tenant { name, config, .. } = network {
            let key = Key::provider(Kind::Network, names::tenant_network(&shoot.id, name));
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
fn types(shoot: &ValidShoot, facts: &Facts) -> impl Iterator<Item = (Key, (Hash, bool))> {
    let machines = facts.machines.values().flatten();
    let created_with: HashSet<&str> = machines
        .flat_map(|(_, machine)| machine.types.iter().map(|it| &**it))
        .collect();
    let existing = facts.objects.iter();
    let used = existing.filter(|it| created_with.contains(&*it.0.to_string()));
    let mut all: BTreeMap<Key, Hash> = used.map(|(key, it)| (key.clone(), it.hash)).collect();
    all.extend(types::wanted_of(shoot, facts));
    all.into_iter().map(|(key, hash)| (key, (hash, true)))
}

fn is_done(fact: &Fact) -> bool {
    match fact {
        Fact::Image(import) => import.done,
        _ => true,
    }
}

fn has_prerequisites(shoot: &ValidShoot, facts: &Facts, pool: &Pool, zone: usize) -> bool {
    let has = |kind, name: &str, hash| {
        let object = facts.objects.get(&Key::provider(kind, name));
        object.is_some_and(|it| !it.leaving && it.hash == hash && is_done(&it.fact))
    };
    let golden = desired::golden(shoot, facts, pool, zone);
    let mut networks = shoot.networks.iter();
    let network = |it: &Network| match it {
        Network::Tenant { name, config, .. } => {
            let name = names::tenant_network(&shoot.id, name);
            has(Kind::Network, &name, desired::config_hash(config))
        }
        Network::Shared { .. } => true,
    };
    facts.record.as_ref().is_some_and(|it| !it.leaving)
        && golden.is_none_or(|it| has(Kind::Image, &it.name, it.hash))
        && networks.all(network)
        && types::wanted_of(shoot, facts)
            .iter()
            .all(|(key, hash)| has(key.kind, &key.name, *hash))
}

/// The plan's id of the network with this object name.
fn network_id(shoot: &ValidShoot, object: &str) -> String {
    let name = object.strip_prefix(&format!("{}-", shoot.id));
    format!("network/{}", name.unwrap_or(object))
}

fn show_ids(plan: &Plan) -> String {
    let shown = plan
        .items
        .iter()
        .map(|it| format!("{} {:?}", it.id, it.state));
    shown.collect::<Vec<_>>().join("\n    ")
}
