//! A provider cluster and the shoot in it, as far as plans observe them.

use super::super::rng::Dice;
use super::writes::{EtcdWrite, Write};
use crate::plan::etcd::check::world::World as EtcdWorld;
use crate::plan::pool::token;
use crate::state::action::Action;
use crate::state::desired;
use crate::state::facts::{
    EtcdRole, Facts, MachinePhase, ObjectStatus, ObservedNode, ObservedObject, ObservedRecord,
    ShootApi,
};
use crate::state::failure::{ErrorClass, Failure};
use crate::state::hash::Hash;
use crate::state::key::{ClusterSide, ObjectKey, ObjectKind};
use crate::state::names::{control_plane, part};
use crate::state::observed::Observed;
use crate::state::record::rotation::RotationRecord;
use crate::validate::ValidShoot;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

/// Seconds since 1970.
pub(crate) const NOW: i64 = 1_767_225_600;

pub(crate) struct World<'a> {
    pub(crate) dice: Dice,
    pub(crate) shoot: &'a ValidShoot,
    /// Everything that exists, whether the run observes it or not.
    pub(crate) truth: Facts,
    /// Actions sent in this run and not answered yet.
    pub(crate) sent: BTreeMap<ObjectKey, Action>,
    /// Keys of the actions that were answered.
    pub(crate) answered: BTreeSet<ObjectKey>,
    /// Actions on this object are refused.
    pub(crate) refuses: Option<ObjectKey>,
    refused: HashMap<ObjectKey, (Action, Failure)>,
    /// The run is connected to the shoot's API server.
    pub(crate) looks_inside: bool,
    /// Bootstrap tokens may expire.
    pub(crate) tokens_expire: bool,
    /// The provider has a load balancer.
    pub(crate) has_balancer: bool,
    /// Time since the run began.
    pub(crate) now: Duration,
    /// Members of etcd.
    pub(crate) etcd: EtcdWorld,
    /// Last version issued.
    pub(crate) clock: u64,
}

/// Subjects that change without kvshoot.
enum Thing {
    Connection,
    Etcd,
    Object(ObjectKey),
    /// A machine by its pool and name.
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
            answered: BTreeSet::new(),
            refuses: None,
            refused: HashMap::new(),
            looks_inside: false,
            tokens_expire: false,
            has_balancer: true,
            now: Duration::ZERO,
            clock: 0,
            etcd: EtcdWorld::default(),
        }
    }

    /// Returns what a run observes.
    pub(crate) fn observed(&self) -> Observed {
        let mut facts = self.truth.clone();
        facts.shoot_api = ShootApi::Reachable;
        if self.etcd.set.is_some() {
            self.observe_etcd(&mut facts);
        }
        if !self.looks_inside {
            facts.shoot_api = ShootApi::Absent;
            facts
                .objects
                .retain(|it, _| it.side == ClusterSide::Provider);
            facts.nodes.clear();
        }
        for (name, machine) in facts.machines.values_mut().flatten() {
            let serves = self.truth.nodes.get(name).is_some_and(|it| it.serves);
            if machine.runs && (serves || !self.looks_inside) {
                machine.phase = MachinePhase::Ready;
            }
        }
        Observed {
            now: self.now,
            facts: facts.into(),
            sent: HashMap::from_iter(self.sent.clone()),
            refused: self.refused.clone(),
            ..Observed::default()
        }
    }

    fn observe_etcd(&self, facts: &mut Facts) {
        let etcd = self.etcd.observe(self.now);
        for (kind, part, role) in [
            (
                ObjectKind::StatefulSet,
                part::ETCD,
                etcd.stateful_set.clone().map(EtcdRole::Server),
            ),
            (
                ObjectKind::Deployment,
                part::API_SERVER,
                etcd.client.clone().map(EtcdRole::Client),
            ),
        ] {
            let key = ObjectKey::provider(kind, control_plane(&self.shoot.id, part));
            let object = facts.objects.get_mut(&key);
            if let Some(ObjectStatus::Rollout(rollout)) = object.map(|it| &mut it.status) {
                rollout.etcd = role;
            }
        }
        facts.etcd = Some(Arc::new(etcd));
    }

    pub(crate) fn next(&mut self) -> Arc<str> {
        self.clock += 1;
        self.clock.to_string().into()
    }

    pub(crate) fn send(&mut self, action: Action) -> Result<(), String> {
        let key = action.key().clone();
        match self.sent.insert(key.clone(), action) {
            None => Ok(()),
            Some(_) => Err(format!("{key} is sent twice at once")),
        }
    }

    /// Completes one of the actions sent.
    pub(crate) fn answer(&mut self) -> Result<(), String> {
        let keys: Vec<ObjectKey> = self.sent.keys().cloned().collect();
        if keys.is_empty() {
            return Ok(());
        }
        let key = &keys[self.dice.roll(keys.len())];
        let action = self.sent.remove(key).expect("it is one of these");
        self.answered.insert(key.clone());
        if self.refuses.as_ref() == Some(key) {
            let failure = Failure::new(ErrorClass::Foreign, "it belongs to another shoot");
            self.refused.insert(key.clone(), (action, failure));
            return Ok(());
        }
        self.land(&action, usize::MAX)
    }

    /// Interrupts the run: its actions are done in part, and the next run does not know them.
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

    /// Performs one change without kvshoot; false if none is possible.
    pub(crate) fn moves(&mut self) -> bool {
        let count = self.things().len();
        let first = self.dice.roll(count);
        (0..count).any(|offset| {
            let things = self.things();
            self.step_subject(&things[(first + offset) % things.len()])
        })
    }

    /// Performs all changes without kvshoot.
    pub(crate) fn settle(&mut self) {
        while self.moves() {}
    }

    /// All subjects that may change.
    fn things(&self) -> Vec<Thing> {
        let mut keys: Vec<ObjectKey> = self.truth.objects.keys().cloned().collect();
        keys.sort();
        let pools = self.truth.machines.iter();
        let machines = pools.flat_map(|(pool, all)| {
            let names = all.keys();
            names.map(|it| Thing::Machine(pool.clone(), it.clone()))
        });
        let objects = keys.into_iter().map(Thing::Object);
        machines
            .chain(objects)
            .chain([Thing::Connection, Thing::Etcd])
            .collect()
    }

    fn step_subject(&mut self, thing: &Thing) -> bool {
        match thing {
            Thing::Connection => self.connect(),
            Thing::Etcd => self.step_etcd(),
            Thing::Object(key) if key.kind == ObjectKind::BootstrapToken => self.expire_token(key),
            Thing::Object(key) => self.step_object(key),
            Thing::Machine(pool, name) => self.step_machine(pool, name),
        }
    }

    fn step_etcd(&mut self) -> bool {
        let moves = self.etcd.moves();
        if let Some(change) = moves.first() {
            self.etcd.make(change);
        }
        !moves.is_empty()
    }

    fn expire_token(&mut self, key: &ObjectKey) -> bool {
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
        let key = ObjectKey::provider(ObjectKind::Deployment, name);
        let object = self.truth.objects.get(&key);
        object.is_some_and(|it| matches!(&it.status, ObjectStatus::Rollout(it) if it.why.is_none()))
    }

    fn step_object(&mut self, key: &ObjectKey) -> bool {
        let has_node = self.truth.nodes.values().any(|it| it.serves);
        let runs =
            key.side == ClusterSide::Provider || key.kind == ObjectKind::DaemonSet || has_node;
        let Some(ObservedObject { status: fact, .. }) = self.truth.objects.get_mut(key) else {
            return false;
        };
        match fact {
            ObjectStatus::Image(import) if !import.done => import.done = true,
            ObjectStatus::Rollout(rollout) if runs && rollout.why.is_some() => rollout.why = None,
            ObjectStatus::Answer(why) if has_node && why.is_some() => *why = None,
            ObjectStatus::Service(service)
                if self.has_balancer
                    && service.ingress.is_none()
                    && (key.name.ends_with("-external")
                        || key.name.ends_with("/ingress-nginx-controller")) =>
            {
                service.ingress = Some("192.0.2.80".into());
            }
            _ => return false,
        }
        true
    }

    /// The machine boots, joins with its token, and is ready once its node has been initialized.
    fn step_machine(&mut self, pool: &Arc<str>, name: &Arc<str>) -> bool {
        let there = |key: &ObjectKey| self.truth.objects.contains_key(key);
        let has_data = there(&ObjectKey::provider(ObjectKind::UserData, name.clone()));
        let joins = has_data
            && there(&token::key(name))
            && self.has_rolled_out("kube-apiserver")
            && self.has_rolled_out("kube-controller-manager");
        let is_known = self.has_rolled_out("cloud-controller-manager");
        let uid = self.next();
        let machines = self.truth.machines.get_mut(pool);
        let machine = machines.and_then(|it| it.get_mut(name));
        let machine = machine.expect("it was chosen from these");
        if !machine.runs {
            machine.runs = true;
            machine.status = "Running".into();
            return true;
        }
        match self.truth.nodes.get_mut(name) {
            None if joins => {
                let node = ObservedNode {
                    version: uid.clone(),
                    uid,
                    created: None,
                    serves: false,
                    why: "not initialized by the cloud controller manager yet".into(),
                    conditions: Default::default(),
                    is_ours: true,
                    taints: [].into(),
                    metadata: "".into(),
                    roots: "".into(),
                    info: Default::default(),
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

    /// The metadata of a machine of this pool and of its node.
    pub(crate) fn metadata(&self, pool: &str) -> Arc<str> {
        let mut pools = self.shoot.pools.iter();
        let pool = pools.find(|it| it.name == pool);
        desired::pool_metadata(pool.expect("pools come from the manifest")).into()
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
                    return Err(format!("machine {name} is created twice"));
                }
            }
            Write::Node { name, metadata } => {
                let node = self.truth.nodes.get_mut(&name);
                node.expect("nodes are not deleted").metadata = metadata;
            }
            Write::Etcd(write) => self.write_etcd(write),
            Write::Gone { key, uid } => {
                self.truth
                    .objects
                    .retain(|there, it| (there, &it.uid) != (&key, &uid));
            }
        }
        Ok(())
    }

    fn put(&mut self, key: ObjectKey, hash: Hash, fact: ObjectStatus) -> Result<(), String> {
        if self.truth.objects.contains_key(&key) {
            // Left over from an interrupted run.
            // That of etcd is sealed after the first start.
            if key.kind == ObjectKind::StatefulSet {
                self.truth.objects.get_mut(&key).expect("it is there").hash = hash;
                return Ok(());
            }
            let is_kept = matches!(key.kind, ObjectKind::UserData | ObjectKind::BootstrapToken);
            return match is_kept {
                true => Ok(()),
                false => Err(format!("{key} is written twice")),
            };
        }
        let uid = self.next();
        let object = ObservedObject {
            version: uid.clone(),
            uid,
            hash,
            leaving: false,
            status: fact,
        };
        self.truth.objects.insert(key, object);
        Ok(())
    }

    fn write_etcd(&mut self, write: EtcdWrite) {
        match write {
            EtcdWrite::Shape(shape) => self.etcd.write(&shape),
            EtcdWrite::Client(members) => self.etcd.client = Some((members, members)),
            EtcdWrite::Restart(ordinal) => self.etcd.delete_pod(ordinal),
            EtcdWrite::Record(etcd) => {
                self.etcd.record = Some(etcd.clone());
                if let Some(record) = &mut self.truth.record {
                    record.etcd = Some(etcd);
                }
            }
        }
    }

    fn recorded(&mut self, name: Arc<str>, hash: Hash) {
        let pools = self.shoot.pools.iter();
        let sizes = pools.map(|it| (it.name.as_str().into(), desired::pool_size(&self.truth, it)));
        let sizes = sizes.collect();
        let uid = self.next();
        self.truth.record = Some(ObservedRecord {
            name,
            version: uid.clone(),
            uid,
            hash,
            sizes,
            cluster_ip: None,
            expiry: None,
            etcd: self.etcd.record.clone(),
            rotation: RotationRecord::default(),
            hibernation: Default::default(),
            operation: None,
            repairs: [].into(),
            last_backup: None,
            leaving: false,
        });
    }
}
