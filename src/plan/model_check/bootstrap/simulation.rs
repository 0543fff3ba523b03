//! A provider cluster and the shoot in it, as far as plans observe them.

use super::super::rng::Rng;
use super::writes::Write;
use crate::plan::item::{Action, Key, Kind, Side};
use crate::plan::names::control_plane;
use crate::plan::observed::{Fact, Facts, Inside, Look, Node, Object, Observed, Record};
use crate::plan::{Hash, desired, token};
use crate::validate::ValidShoot;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Seconds since 1970.
pub(super) const NOW: i64 = 1_767_225_600;

pub(super) struct Simulation<'a> {
    pub(super) rng: Rng,
    pub(super) shoot: &'a ValidShoot,
    /// Everything that exists, whether the run observes it or not.
    pub(super) actual: Facts,
    /// Actions sent in this run and not answered yet.
    pub(super) sent: BTreeMap<Key, Action>,
    /// The run is connected to the shoot's API server.
    pub(super) is_connected: bool,
    /// Bootstrap tokens may expire.
    pub(super) tokens_expire: bool,
    /// Last version issued.
    pub(super) clock: u64,
}

/// Subjects that change without kvshoot.
enum Subject {
    Connection,
    Object(Key),
    /// A machine by its pool and name.
    Machine(Arc<str>, Arc<str>),
}

impl<'a> Simulation<'a> {
    pub(super) fn new(seed: u64, shoot: &'a ValidShoot) -> Simulation<'a> {
        Simulation {
            rng: Rng::new(seed),
            shoot,
            actual: Facts {
                namespace: "clusters".into(),
                time: NOW,
                ..Facts::default()
            },
            sent: BTreeMap::new(),
            is_connected: false,
            tokens_expire: false,
            clock: 0,
        }
    }

    /// Returns what a run observes.
    pub(super) fn observed(&self) -> Observed {
        let mut facts = self.actual.clone();
        facts.inside = Inside::Observed;
        if !self.is_connected {
            facts.inside = Inside::Absent;
            facts.objects.retain(|it, _| it.side == Side::Provider);
            facts.nodes.clear();
        }
        for (name, machine) in facts.machines.values_mut().flatten() {
            let serves = self.actual.nodes.get(name).is_some_and(|it| it.serves);
            if machine.runs && (serves || !self.is_connected) {
                machine.look = Look::Ready;
            }
        }
        Observed {
            facts: facts.into(),
            sent: HashMap::from_iter(self.sent.clone()),
            ..Observed::default()
        }
    }

    pub(super) fn next(&mut self) -> Arc<str> {
        self.clock += 1;
        self.clock.to_string().into()
    }

    pub(super) fn send(&mut self, action: Action) -> Result<(), String> {
        let key = action.key().clone();
        match self.sent.insert(key.clone(), action) {
            None => Ok(()),
            Some(_) => Err(format!("{key} is sent while it is on its way")),
        }
    }

    /// Completes one of the actions sent.
    pub(super) fn answer(&mut self) -> Result<(), String> {
        let keys: Vec<Key> = self.sent.keys().cloned().collect();
        if keys.is_empty() {
            return Ok(());
        }
        let key = &keys[self.rng.below(keys.len())];
        let action = self.sent.remove(key).expect("it is one of these");
        self.land(&action, usize::MAX)
    }

    /// Interrupts the run: its actions are done in part, and the next run does not know them.
    pub(super) fn cut_off(&mut self) -> Result<(), String> {
        for action in std::mem::take(&mut self.sent).values() {
            let parts = self.rng.below(5);
            self.land(action, parts)?;
        }
        self.is_connected = false;
        Ok(())
    }

    fn land(&mut self, action: &Action, parts: usize) -> Result<(), String> {
        for write in self.writes(action)?.into_iter().take(parts) {
            self.write(write)?;
        }
        Ok(())
    }

    /// Performs one change without kvshoot; false if none is possible.
    pub(super) fn step(&mut self) -> bool {
        let count = self.subjects().len();
        let first = self.rng.below(count);
        (0..count).any(|it| {
            let things = self.subjects();
            self.step_subject(&things[(first + it) % things.len()])
        })
    }

    /// Performs all changes without kvshoot.
    pub(super) fn settle(&mut self) {
        while self.step() {}
    }

    /// All subjects that may change.
    fn subjects(&self) -> Vec<Subject> {
        let mut keys: Vec<Key> = self.actual.objects.keys().cloned().collect();
        keys.sort();
        let pools = self.actual.machines.iter();
        let machines = pools.flat_map(|(pool, all)| {
            let names = all.keys();
            names.map(|it| Subject::Machine(pool.clone(), it.clone()))
        });
        let objects = keys.into_iter().map(Subject::Object);
        machines
            .chain(objects)
            .chain([Subject::Connection])
            .collect()
    }

    fn step_subject(&mut self, thing: &Subject) -> bool {
        match thing {
            Subject::Connection => self.connect(),
            Subject::Object(key) if key.kind == Kind::Token => self.expire_token(key),
            Subject::Object(key) => self.step_object(key),
            Subject::Machine(pool, name) => self.step_machine(pool, name),
        }
    }

    fn expire_token(&mut self, key: &Key) -> bool {
        let expires = self.tokens_expire && self.rng.one_in(8);
        expires && self.actual.objects.remove(key).is_some()
    }

    pub(super) fn connect(&mut self) -> bool {
        let is_new = !self.is_connected && self.has_rolled_out("kube-apiserver");
        self.is_connected |= is_new;
        is_new
    }

    fn has_rolled_out(&self, part: &str) -> bool {
        let name = control_plane(&self.shoot.id, part);
        let key = Key::provider(Kind::Deployment, name);
        let object = self.actual.objects.get(&key);
        object.is_some_and(|it| matches!(&it.fact, Fact::Rollout(it) if it.why.is_none()))
    }

    fn step_object(&mut self, key: &Key) -> bool {
        let has_node = self.actual.nodes.values().any(|it| it.serves);
        let runs = key.side == Side::Provider || key.kind == Kind::DaemonSet || has_node;
        let Some(Object { fact, .. }) = self.actual.objects.get_mut(key) else {
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

    /// The machine boots, joins with its token, and is ready once its node has been initialized.
    fn step_machine(&mut self, pool: &Arc<str>, name: &Arc<str>) -> bool {
        let existing = |key: &Key| self.actual.objects.contains_key(key);
        let has_data = existing(&Key::provider(Kind::UserData, name.clone()));
        let joins = has_data
            && existing(&token::key(name))
            && self.has_rolled_out("kube-apiserver")
            && self.has_rolled_out("kube-controller-manager");
        let is_known = self.has_rolled_out("cloud-controller-manager");
        let uid = self.next();
        let machines = self.actual.machines.get_mut(pool);
        let machine = machines.and_then(|it| it.get_mut(name));
        let machine = machine.expect("it was chosen from these");
        if !machine.runs {
            machine.runs = true;
            machine.status = "Running".into();
            return true;
        }
        match self.actual.nodes.get_mut(name) {
            None if joins => {
                let node = Node {
                    version: uid.clone(),
                    uid,
                    serves: false,
                    why: "not initialized by the cloud controller manager yet".into(),
                    is_ours: true,
                    taints: [].into(),
                    metadata: "".into(),
                };
                self.actual.nodes.insert(name.clone(), node);
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

    /// The metadata of a machine of this pool and of its node.
    pub(super) fn metadata(&self, pool: &str) -> Arc<str> {
        let mut pools = self.shoot.pools.iter();
        let pool = pools.find(|it| it.name == pool);
        desired::pool_metadata(pool.expect("pools come from the manifest")).into()
    }
}

impl Simulation<'_> {
    fn write(&mut self, write: Write) -> Result<(), String> {
        match write {
            Write::Object { key, hash, fact } => self.put(key, hash, fact)?,
            Write::Record { name, hash } => self.write_record(name, hash),
            Write::Machine {
                pool,
                name,
                machine,
            } => {
                let all = self.actual.machines.entry(pool).or_default();
                if all.insert(name.clone(), *machine).is_some() {
                    return Err(format!("machine {name} is created twice"));
                }
            }
            Write::Node { name, metadata } => {
                let node = self.actual.nodes.get_mut(&name);
                node.expect("nodes are not deleted").metadata = metadata;
            }
            Write::Delete { key, uid } => {
                self.actual
                    .objects
                    .retain(|existing, it| (existing, &it.uid) != (&key, &uid));
            }
        }
        Ok(())
    }

    fn put(&mut self, key: Key, hash: Hash, fact: Fact) -> Result<(), String> {
        if self.actual.objects.contains_key(&key) {
            // Left over from an interrupted run.
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
        self.actual.objects.insert(key, object);
        Ok(())
    }

    fn write_record(&mut self, name: Arc<str>, hash: Hash) {
        let pools = self.shoot.pools.iter();
        let sizes = pools.map(|it| (it.name.as_str().into(), desired::size(&self.actual, it)));
        let sizes = sizes.collect();
        let uid = self.next();
        self.actual.record = Some(Record {
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
