//! What must hold of every plan, and of what comes of it.

use super::World;
use crate::plan::pool::zone_distribution::spread;
use crate::state::action::{Action, Content, Wanted};
use crate::state::desired::{self, instancetypes};
use crate::state::facts::{Fact, Facts, Look, Machine};
use crate::state::hash::Hash;
use crate::state::key::{Key, Kind};
use crate::state::observed::Observed;
use crate::state::plan::{Item, Plan, State};
use crate::state::{names, record};
use crate::validate::{Network, Pool, ValidShoot};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// Machines that there may be at most.
pub(crate) fn most(facts: &Facts, pool: &Pool) -> usize {
    let size = desired::size(facts, pool);
    size + pool.surge.rounded_up(size)
}

fn floor(facts: &Facts, pool: &Pool) -> usize {
    let size = desired::size(facts, pool);
    size - pool.unavailable.rounded_down(size).min(size)
}

fn due(plan: &Plan) -> impl Iterator<Item = &Action> {
    plan.items.iter().filter_map(|it| match &it.state {
        State::Due(action) => Some(action),
        _ => None,
    })
}

/// What it makes: pool, zone, name.
fn makes(action: &Action) -> Option<(&Arc<str>, usize, &Arc<str>)> {
    match action {
        Action::Apply(Wanted {
            key,
            content: Content::Machine { pool, zone, .. },
            ..
        }) => Some((pool, *zone, &key.name)),
        _ => None,
    }
}

fn removes(action: &Action) -> Option<&Key> {
    match action {
        Action::Delete(it) | Action::Drain(it) => Some(&it.key),
        Action::Apply(_) => None,
    }
}

impl World<'_> {
    /// All that must hold of a plan by itself and of what is there.
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
            self.check_needs(plan, shoot, pool);
        }
    }

    /// All that is due in one plan may be done together, beside what is on its way.
    fn check_bounds(&mut self, plan: &Plan, pool: &Pool) {
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
        let is_going = |it: &(&&Arc<str>, &&Machine)| {
            let key = Key::provider(Kind::Machine, (**it.0).clone());
            observed.sent.get(&key).and_then(removes).is_some()
        };
        let serving = there.iter().filter(|it| it.1.look == Look::Ready);
        let serving: Vec<_> = serving.filter(|it| !is_going(it)).collect();
        let going: HashSet<_> = due(plan).filter_map(removes).map(|it| &it.name).collect();
        let going = serving.iter().filter(|it| going.contains(*it.0)).count();
        let left = serving.len() - going;
        let available = going == 0 || left >= floor(facts, pool);
        let show = format!("pool {}: total {total}, {left} left", pool.name);
        self.must("total", holds, || show.clone());
        self.must("names", fresh, || show.clone());
        self.must("available", available, || show.clone());
    }

    /// Nothing is made, and nothing that serves goes, before all that a machine needs is there.
    fn check_needs(&mut self, plan: &Plan, shoot: &ValidShoot, pool: &Pool) {
        let facts = &self.observed.facts;
        let hash = desired::pool_hash(shoot, pool, &desired::attachments(shoot, facts));
        let ready = |zone: usize| has_needs(shoot, facts, pool, zone.min(pool.zones.len() - 1));
        let mut created = due(plan).filter_map(makes);
        let made = created.all(|(of, zone, _)| **of != *pool.name || ready(zone));
        let mut drained = due(plan).filter(|it| matches!(it, Action::Drain(_)));
        let succeeded = drained.all(|action| {
            let machines = facts.machines.get(pool.name.as_str());
            let machine = machines.and_then(|it| it.get(&action.key().name));
            let is_old = |it: &&Machine| it.hash != hash || it.evacuating;
            let serves = machine.filter(|it| it.look == Look::Ready && is_old(it));
            serves.is_none_or(|it| ready(it.zone))
        });
        self.must("image before machine", made, || show_ids(plan));
        self.must("a successor can come", succeeded, || show_ids(plan));
    }

    fn check_unused(&mut self, plan: &Plan) {
        let deleted = due(plan).filter(|it| matches!(it, Action::Delete(_)));
        let deleted: Vec<Key> = deleted.map(|it| it.key().clone()).collect();
        let made: HashSet<_> = due(plan).filter_map(makes).map(|it| it.2.clone()).collect();
        for key in deleted {
            let is_made = key.kind == Kind::UserData && made.contains(&key.name);
            self.must("user data stays", !is_made, || key.to_string());
            self.check_is_unused(&key);
        }
    }

    /// What is deleted is used by nobody.
    pub(crate) fn check_is_unused(&mut self, key: &Key) {
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
                machines.any(|it| it.1.networks.iter().any(|it| **it == *network)),
            ),
            Kind::Instancetype => (
                "removed after the last user",
                machines.any(|it| it.1.types.iter().any(|it| **it == key.to_string())),
            ),
            Kind::UserData => {
                let is_made = |it: (_, _, &Arc<str>)| *it.2 == key.name;
                let mut coming = self.observed.sent.values().filter_map(makes);
                (
                    "user data stays",
                    machines.any(|it| *it.0 == key.name) || coming.any(is_made),
                )
            }
            Kind::Record => (
                "the record goes last",
                machines.next().is_some() || !facts.objects.is_empty() || !facts.foreign.is_empty(),
            ),
            _ => return,
        };
        self.must(name, !used, || key.to_string());
    }

    /// Something shared that comes undone undoes nothing else.
    pub(crate) fn check_flicker(&mut self, before: &Plan) {
        let shared = |it: &Key| matches!(it.kind, Kind::Image | Kind::Network | Kind::Instancetype);
        let (Some(shoot), Some(key)) = (self.shoot, self.some_object(shared)) else {
            return;
        };
        let mut observed = self.observed.clone();
        let objects = &mut Arc::make_mut(&mut observed.facts).objects;
        let it = objects.get_mut(&key).expect("it was chosen of these");
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
        self.must("undoes nothing that is done", holds, || key.to_string());
    }

    /// Converged means: this, and nothing else.
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
        self.must("exactly what is desired", same, || show);
        let facts = &self.observed.facts;
        let has_data = |name: &Arc<str>| {
            let key = Key::provider(Kind::UserData, name.clone());
            let data = facts.objects.get(&key);
            data.is_some_and(|it| !it.leaving)
        };
        let all = facts.machines.values().flatten().all(|it| has_data(it.0));
        self.must("user data is there", all, String::new);
        let mut machines = self.observed.facts.machines.values().flatten();
        let stays = machines.find(|it| it.1.evacuating);
        let stays = stays.map(|it| it.0.to_string());
        let holds = stays.is_none();
        self.must("hosts are emptied", holds, || stays.unwrap_or_default());
    }
}

/// Pool, zone, hash, whether it is ready, and metadata of a machine.
type Row = (Arc<str>, usize, Hash, bool, Arc<str>);

/// All that is there, without names that chance gave.
#[derive(Debug, PartialEq)]
struct Present {
    /// In order.
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

/// Those that pools name, and beside them those that machines were made by which nobody has to replace.
fn types(shoot: &ValidShoot, facts: &Facts) -> impl Iterator<Item = (Key, (Hash, bool))> {
    let machines = facts.machines.values().flatten();
    let made_by: HashSet<&str> = machines
        .flat_map(|it| it.1.types.iter().map(|it| &**it))
        .collect();
    let there = facts.objects.iter();
    let used = there.filter(|it| made_by.contains(&*it.0.to_string()));
    let mut all: BTreeMap<Key, Hash> = used.map(|(key, it)| (key.clone(), it.hash)).collect();
    all.extend(instancetypes::wanted_of(shoot, facts));
    all.into_iter().map(|(key, hash)| (key, (hash, true)))
}

fn is_done(fact: &Fact) -> bool {
    match fact {
        Fact::Image(import) => import.done,
        _ => true,
    }
}

fn has_needs(shoot: &ValidShoot, facts: &Facts, pool: &Pool, zone: usize) -> bool {
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
        && instancetypes::wanted_of(shoot, facts)
            .iter()
            .all(|(key, hash)| has(key.kind, &key.name, *hash))
}

/// As the plan calls the network of that object.
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
