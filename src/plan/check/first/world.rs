//! A provider cluster and the cluster that is made in it, as far as plans look at them.

use super::super::dice::Dice;
use super::writes::Write;
use crate::plan::pool::token;
use crate::state::action::Action;
use crate::state::desired;
use crate::state::facts::{Fact, Facts, Inside, Look, Node, Object, Record};
use crate::state::hash::Hash;
use crate::state::key::{Key, Kind, Side};
use crate::state::names::control_plane;
use crate::state::observed::Observed;
use crate::validate::ValidShoot;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Seconds since 1970.
pub(crate) const NOW: i64 = 1_767_225_600;

pub(crate) struct World<'a> {
    pub(crate) dice: Dice,
    pub(crate) shoot: &'a ValidShoot,
    /// All that is there, whether the run looks at it or not.
    pub(crate) truth: Facts,
    /// Sent in this run, and not answered.
    pub(crate) sent: BTreeMap<Key, Action>,
    /// This run has reached the shoot's API server.
    pub(crate) looks_inside: bool,
    /// Tokens do not live long.
    pub(crate) tokens_expire: bool,
    /// The last number that was given.
    pub(crate) clock: u64,
}

/// What may move by itself.
enum Thing {
    Connection,
    Object(Key),
    /// Its pool, and its name.
    Machine(Arc<str>, Arc<str>),
}

impl<'a> World<'a> {
    pub(crate) fn new(seed: u64, shoot: &'a ValidShoot) -> World<'a> {
        World {
            dice: Dice::new(seed),
            shoot,
            truth: Facts {
                namespace: "clusters".into(),
                time: NOW,
                ..Facts::default()
            },
            sent: BTreeMap::new(),
            looks_inside: false,
            tokens_expire: false,
            clock: 0,
        }
    }

    /// What a run sees of it.
    pub(crate) fn observed(&self) -> Observed {
        let mut facts = self.truth.clone();
        facts.inside = Inside::Observed;
        if !self.looks_inside {
            facts.inside = Inside::Absent;
            facts.objects.retain(|it, _| it.side == Side::Provider);
            facts.nodes.clear();
        }
        for (name, machine) in facts.machines.values_mut().flatten() {
            let serves = self.truth.nodes.get(name).is_some_and(|it| it.serves);
            if machine.runs && (serves || !self.looks_inside) {
                machine.look = Look::Ready;
            }
        }
        Observed {
            facts: facts.into(),
            sent: HashMap::from_iter(self.sent.clone()),
            ..Observed::default()
        }
    }

    pub(crate) fn next(&mut self) -> Arc<str> {
        self.clock += 1;
        self.clock.to_string().into()
    }

    pub(crate) fn send(&mut self, action: Action) -> Result<(), String> {
        let key = action.key().clone();
        match self.sent.insert(key.clone(), action) {
            None => Ok(()),
            Some(_) => Err(format!("{key} is sent while it is on its way")),
        }
    }

    /// One of those that were sent is done, and answered.
    pub(crate) fn answer(&mut self) -> Result<(), String> {
        let keys: Vec<Key> = self.sent.keys().cloned().collect();
        if keys.is_empty() {
            return Ok(());
        }
        let key = &keys[self.dice.roll(keys.len())];
        let action = self.sent.remove(key).expect("it is one of these");
        self.land(&action, usize::MAX)
    }

    /// The run ends, and what it sent is done in part; the next one knows nothing of it.
    pub(crate) fn cut_off(&mut self) -> Result<(), String> {
        for action in std::mem::take(&mut self.sent).values() {
            let parts = self.dice.roll(5);
            self.land(action, parts)?;
        }
        self.looks_inside = false;
        Ok(())
    }

    fn land(&mut self, action: &Action, parts: usize) -> Result<(), String> {
        for write in self.writes(action)?.into_iter().take(parts) {
            self.write(write)?;
        }
        Ok(())
    }

    /// Something happens that is not of kvshoot's doing; false when nothing can.
    pub(crate) fn moves(&mut self) -> bool {
        let count = self.things().len();
        let first = self.dice.roll(count);
        (0..count).any(|it| {
            let things = self.things();
            self.thing_moves(&things[(first + it) % things.len()])
        })
    }

    /// Everything happens that can.
    pub(crate) fn settle(&mut self) {
        while self.moves() {}
    }

    /// All that may move.
    fn things(&self) -> Vec<Thing> {
        let mut keys: Vec<Key> = self.truth.objects.keys().cloned().collect();
        keys.sort();
        let pools = self.truth.machines.iter();
        let machines = pools.flat_map(|(pool, all)| {
            let names = all.keys();
            names.map(|it| Thing::Machine(pool.clone(), it.clone()))
        });
        let objects = keys.into_iter().map(Thing::Object);
        machines.chain(objects).chain([Thing::Connection]).collect()
    }

    fn thing_moves(&mut self, thing: &Thing) -> bool {
        match thing {
            Thing::Connection => self.connect(),
            Thing::Object(key) if key.kind == Kind::Token => self.token_expires(key),
            Thing::Object(key) => self.object_moves(key),
            Thing::Machine(pool, name) => self.machine_moves(pool, name),
        }
    }

    fn token_expires(&mut self, key: &Key) -> bool {
        let expires = self.tokens_expire && self.dice.one_in(8);
        expires && self.truth.objects.remove(key).is_some()
    }

    pub(crate) fn connect(&mut self) -> bool {
        let is_new = !self.looks_inside && self.has_rolled_out("kube-apiserver");
        self.looks_inside |= is_new;
        is_new
    }

    fn has_rolled_out(&self, part: &str) -> bool {
        let name = control_plane(&self.shoot.id, part);
        let key = Key::provider(Kind::Deployment, name);
        let object = self.truth.objects.get(&key);
        object.is_some_and(|it| matches!(&it.fact, Fact::Rollout(it) if it.why.is_none()))
    }

    fn object_moves(&mut self, key: &Key) -> bool {
        let has_node = self.truth.nodes.values().any(|it| it.serves);
        let runs = key.side == Side::Provider || key.kind == Kind::DaemonSet || has_node;
        let Some(Object { fact, .. }) = self.truth.objects.get_mut(key) else {
            return false;
        };
        match fact {
            Fact::Image(import) if !import.done => import.done = true,
            Fact::Rollout(rollout) if runs && rollout.why.is_some() => rollout.why = None,
            Fact::Answer(why) if has_node && why.is_some() => *why = None,
            Fact::Service(service)
                if service.ingress.is_none() && key.name.ends_with("-external") =>
            {
                service.ingress = Some("192.0.2.80".into());
            }
            _ => return false,
        }
        true
    }

    /// It boots, joins with its token, and serves once the cloud controller manager knows its node.
    fn machine_moves(&mut self, pool: &Arc<str>, name: &Arc<str>) -> bool {
        let there = |key: &Key| self.truth.objects.contains_key(key);
        let has_data = there(&Key::provider(Kind::UserData, name.clone()));
        let joins = has_data
            && there(&token::key(name))
            && self.has_rolled_out("kube-apiserver")
            && self.has_rolled_out("kube-controller-manager");
        let is_known = self.has_rolled_out("cloud-controller-manager");
        let uid = self.next();
        let machines = self.truth.machines.get_mut(pool);
        let machine = machines.and_then(|it| it.get_mut(name));
        let machine = machine.expect("it was chosen of these");
        if !machine.runs {
            machine.runs = true;
            machine.status = "Running".into();
            return true;
        }
        match self.truth.nodes.get_mut(name) {
            None if joins => {
                let node = Node {
                    version: uid.clone(),
                    uid,
                    serves: false,
                    why: "the cloud controller manager to know it".into(),
                    is_ours: true,
                    taints: [].into(),
                    metadata: "".into(),
                };
                self.truth.nodes.insert(name.clone(), node);
                true
            }
            Some(node) if is_known && !node.serves => {
                node.serves = true;
                node.why = "".into();
                true
            }
            _ => false,
        }
    }

    /// What stands on a machine of this pool, and on its node.
    pub(crate) fn metadata(&self, pool: &str) -> Arc<str> {
        let mut pools = self.shoot.pools.iter();
        let pool = pools.find(|it| it.name == pool);
        desired::pool_metadata(pool.expect("it is of the manifest")).into()
    }
}

impl World<'_> {
    fn write(&mut self, write: Write) -> Result<(), String> {
        match write {
            Write::Object { key, hash, fact } => self.put(key, hash, fact)?,
            Write::Record { name, hash } => self.recorded(name, hash),
            Write::Machine {
                pool,
                name,
                machine,
            } => {
                let all = self.truth.machines.entry(pool).or_default();
                if all.insert(name.clone(), *machine).is_some() {
                    return Err(format!("machine {name} is made twice"));
                }
            }
            Write::Node { name, metadata } => {
                let node = self.truth.nodes.get_mut(&name);
                node.expect("nodes do not go").metadata = metadata;
            }
            Write::Gone { key, uid } => {
                self.truth
                    .objects
                    .retain(|there, it| (there, &it.uid) != (&key, &uid));
            }
        }
        Ok(())
    }

    fn put(&mut self, key: Key, hash: Hash, fact: Fact) -> Result<(), String> {
        if self.truth.objects.contains_key(&key) {
            // Of those that are left of a run that was cut off.
            let is_kept = matches!(key.kind, Kind::UserData | Kind::Token);
            return match is_kept {
                true => Ok(()),
                false => Err(format!("{key} is written twice")),
            };
        }
        let uid = self.next();
        let object = Object {
            version: uid.clone(),
            uid,
            hash,
            leaving: false,
            fact,
        };
        self.truth.objects.insert(key, object);
        Ok(())
    }

    fn recorded(&mut self, name: Arc<str>, hash: Hash) {
        let pools = self.shoot.pools.iter();
        let sizes = pools.map(|it| (it.name.as_str().into(), desired::size(&self.truth, it)));
        let sizes = sizes.collect();
        let uid = self.next();
        self.truth.record = Some(Record {
            name,
            version: uid.clone(),
            uid,
            hash,
            sizes,
            cluster_ip: None,
            expiry: None,
            leaving: false,
        });
    }
}
