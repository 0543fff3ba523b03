//! Requests: processed late and in parts, answered later still, lost or rejected.

use super::World;
use crate::render::instancetype;
use crate::state::action::{Action, DeleteTarget, Desired, MachineResize, Payload, ZoneFailure};
use crate::state::desired;
use crate::state::facts::{
    Evacuation, ImageImport, MachinePhase, MachineSleep, ObjectStatus, ObservedMachine,
    ObservedObject, ObservedRecord,
};
use crate::state::failure::{ErrorClass, Failure};
use crate::state::key::{ObjectKey, ObjectKind};
use crate::state::record::rotation::RotationRecord;
use std::sync::Arc;

/// A write in flight.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) action: Action,
    /// Number of parts processed: user data before its machine.
    landed: usize,
}

impl Request {
    fn parts(&self) -> usize {
        // A machine that is halted is marked first, and a migration begins before it ends.
        let has_two = |it: &Desired| {
            matches!(
                it.payload,
                Payload::Machine { .. } | Payload::Halt(_) | Payload::Migrate { .. }
            )
        };
        match &self.action {
            Action::Apply(it) if has_two(it) => 2,
            _ => 1,
        }
    }
}

impl World<'_> {
    pub(crate) fn send(&mut self, action: Action) {
        self.observed
            .sent
            .insert(action.key().clone(), action.clone());
        self.requests.push(Request { action, landed: 0 });
    }

    /// Advances one of the requests in flight.
    pub(crate) fn post(&mut self, faults: bool) {
        if self.requests.is_empty() {
            return;
        }
        let index = self.dice.roll(self.requests.len());
        let request = &self.requests[index];
        let is_open = request.landed < request.parts();
        if faults && self.dice.one_in(15) {
            self.hurt = true;
            let request = self.requests.remove(index);
            self.observed.sent.remove(request.action.key());
        } else if is_open && (faults && self.dice.one_in(40) || self.refuses(index)) {
            self.hurt = true;
            let Request { action, .. } = self.requests.remove(index);
            self.observed.sent.remove(action.key());
            let failure = Failure::new(ErrorClass::Refused, "denied by the webhook");
            self.observed
                .refused
                .insert(action.key().clone(), (action, failure));
        } else if request.landed < request.parts() {
            self.land(index);
        } else {
            let Request { action, .. } = self.requests.remove(index);
            self.answer(&action);
        }
    }

    fn refuses(&self, index: usize) -> bool {
        match &self.requests[index].action {
            Action::Apply(Desired {
                payload: Payload::Machine { pool, zone, .. },
                ..
            }) => self.closed == Some((pool.clone(), *zone)),
            _ => false,
        }
    }

    /// The requests end with the run; some were processed.
    pub(crate) fn cut_off(&mut self) {
        while !self.requests.is_empty() {
            if self.requests[0].landed < self.requests[0].parts() && self.dice.one_in(2) {
                self.land(0);
            }
            self.requests.remove(0);
        }
    }

    fn land(&mut self, index: usize) {
        let request = self.requests[index].clone();
        self.requests[index].landed += 1;
        match &request.action {
            Action::Apply(wanted) => self.applied(wanted, request.landed),
            Action::Delete(target) if target.key.kind == ObjectKind::Machine => self.leaves(target),
            Action::Delete(target) => self.deleted(target),
            Action::Drain(target) => self.drain_machine(target),
        }
    }

    fn answer(&mut self, action: &Action) {
        self.observed.sent.remove(action.key());
        if let Action::Drain(target) = action
            && let Some(it) = self.target(target)
            && it.phase == MachinePhase::Draining
        {
            it.phase = MachinePhase::Drained;
        }
        if let Action::Delete(DeleteTarget {
            zone_failure: Some(ZoneFailure {
                pool, hash, zone, ..
            }),
            ..
        }) = action
        {
            let key = (pool.clone(), *hash);
            let counts = self.observed.zone_failures.entry(key).or_default();
            counts.resize(counts.len().max(zone + 1), 0);
            counts[*zone] += 1;
            self.hurt = true;
        }
    }

    fn applied(&mut self, wanted: &Desired, landed: usize) {
        let ObjectKey { kind, name, .. } = &wanted.key;
        match (&wanted.payload, kind) {
            (Payload::Machine { pool, zone, .. }, _) if landed > 0 => {
                self.made(wanted, pool, *zone)
            }
            (Payload::Machine { .. } | Payload::UserData { .. }, _) => {
                let key = ObjectKey::provider(ObjectKind::UserData, name.clone());
                if !self.observed.facts.objects.contains_key(&key) {
                    self.put(key, wanted, ObjectStatus::None);
                }
            }
            (Payload::Metadata { pool, uid }, _) => self.relabeled(wanted, pool, uid),
            (Payload::Halt(halt), _) => {
                if let Some(it) = self.machine(name, &halt.uid) {
                    it.sleep = match landed {
                        0 if it.sleep == MachineSleep::Awake => MachineSleep::Entering,
                        0 => it.sleep,
                        _ => MachineSleep::Halted,
                    };
                    if landed > 0 {
                        it.status = "Stopping".into();
                    }
                }
            }
            (Payload::Migrate { uid }, _) if landed > 0 => self.migrated(name, uid),
            // It has begun.
            (Payload::Migrate { .. }, _) => {}
            (Payload::CancelEvacuation { uid }, _) => {
                let is_possible = self.dice.one_in(2);
                if let Some(it) = self.machine(name, uid) {
                    it.evacuation = (!is_possible).then_some(Evacuation::Replacement);
                }
            }
            (Payload::Start { uid, resize }, _) => self.started(name, uid, resize.as_ref()),
            (Payload::Plain, ObjectKind::Record) => self.recorded(wanted),
            (Payload::Plain, ObjectKind::ImageVolume) => {
                let known = self.observed.facts.objects.contains_key(&wanted.key);
                if !known {
                    self.put(
                        wanted.key.clone(),
                        wanted,
                        ObjectStatus::Image(ImageImport::default()),
                    );
                }
            }
            (Payload::Plain, _) => self.put(wanted.key.clone(), wanted, ObjectStatus::None),
            (
                Payload::Objects(_)
                | Payload::Manifests(_)
                | Payload::Issue(_)
                | Payload::Decision(_)
                | Payload::Repair(_)
                | Payload::EtcdRecord(_)
                | Payload::Rotation(_)
                | Payload::Hibernation(_)
                | Payload::Etcd(_)
                | Payload::Token { .. },
                _,
            ) => {
                unreachable!("this simulation has no control plane")
            }
        }
    }

    /// Not every machine can be migrated.
    fn migrated(&mut self, name: &Arc<str>, uid: &Arc<str>) {
        let is_possible = self.dice.one_in(2);
        if let Some(it) = self.machine(name, uid) {
            match is_possible {
                true => it.evacuation = None,
                false => it.instance.replace = Some("it cannot be migrated".into()),
            }
        }
    }

    fn put(&mut self, key: ObjectKey, wanted: &Desired, fact: ObjectStatus) {
        let version = self.next();
        // A replaced object keeps its uid.
        let there = self.observed.facts.objects.get(&key);
        let uid = there.map_or(version.clone(), |it| it.uid.clone());
        let object = ObservedObject {
            uid,
            version,
            hash: wanted.hash,
            leaving: false,
            status: fact,
        };
        self.facts().objects.insert(key, object);
    }

    fn recorded(&mut self, wanted: &Desired) {
        let Some(shoot) = self.shoot else { return };
        let version = self.next();
        let facts = self.facts();
        let sizes = shoot.pools.iter();
        let sizes = sizes.map(|it| (it.name.as_str().into(), desired::pool_size(facts, it)));
        let sizes = sizes.collect();
        let there = facts.record.as_ref();
        facts.record = Some(ObservedRecord {
            name: wanted.key.name.clone(),
            uid: there.map_or(version.clone(), |it| it.uid.clone()),
            version,
            hash: wanted.hash,
            sizes,
            hibernation: Default::default(),
            cluster_ip: None,
            expiry: None,
            etcd: None,
            rotation: RotationRecord::default(),
            operation: None,
            repairs: [].into(),
            last_backup: None,
            leaving: false,
        });
    }

    fn made(&mut self, wanted: &Desired, pool: &Arc<str>, zone: usize) {
        let Some(shoot) = self.shoot else { return };
        let Payload::Machine { ordinal, .. } = wanted.payload else {
            return;
        };
        let name = wanted.key.name.clone();
        let uid = self.next();
        let now = self.observed.now;
        let facts = self.facts();
        let wants = shoot.pools.iter().find(|it| *it.name == **pool);
        let wants = wants.expect("only pools of the manifest get machines");
        let golden = desired::image_volume(shoot, facts, wants, zone);
        let attachments = desired::attachments(shoot, facts);
        let content = super::content(shoot, facts, wants);
        let machine = ObservedMachine {
            version: uid.clone(),
            born: uid.parse().expect("a number"),
            uid,
            hash: wanted.hash,
            content: Some(content),
            zone,
            ordinal,
            phase: MachinePhase::Provisioning,
            runs: false,
            sleep: Default::default(),
            halted_at: None,
            evacuation: None,
            since: now,
            unschedulable_since: None,
            image: golden.map(|it| it.name),
            networks: attachments.into_iter().map(|it| it.reference).collect(),
            types: instancetype::of_machine(shoot, facts, wants),
            metadata: desired::pool_metadata(wants).into(),
            status: "Provisioning".into(),
            cause: None,
            placement: Default::default(),
            instance: Default::default(),
        };
        let all = facts.machines.entry(pool.clone()).or_default();
        let is_fresh = all.insert(name.clone(), machine).is_none();
        let total = all.len();
        let most = super::rules::most(facts, wants);
        let planned = self.planned.get(&wants.name).copied().unwrap_or_default();
        let most = most.max(planned);
        self.must("names", is_fresh, || name.to_string());
        self.must("total", total <= most, || format!("{total} of {most}"));
    }

    fn relabeled(&mut self, wanted: &Desired, pool: &Arc<str>, uid: &Arc<str>) {
        let Some(shoot) = self.shoot else { return };
        let version = self.next();
        let wants = shoot.pools.iter().find(|it| *it.name == **pool);
        let wants = wants.expect("only pools of the manifest have labels");
        let all = self.facts().machines.get_mut(pool);
        if let Some(it) = all.and_then(|it| it.get_mut(&wanted.key.name))
            && it.uid == *uid
        {
            it.metadata = desired::pool_metadata(wants).into();
            it.version = version;
        }
    }

    fn started(&mut self, name: &Arc<str>, uid: &Arc<str>, resize: Option<&MachineResize>) {
        let shoot = self.shoot;
        let facts = self.observed.facts.clone();
        let Some(it) = self.machine(name, uid) else {
            return;
        };
        let mut smaller = None;
        if let Some((shoot, resize)) = shoot.zip(resize) {
            let wants = shoot.pools.iter().find(|it| *it.name == *resize.pool);
            let wants = wants.expect("only pools of the manifest are resized");
            let content = super::content(shoot, &facts, wants);
            let before = it.content.replace(content.clone());
            smaller = before.filter(|it| it.disks > content.disks);
            it.image = desired::image_volume(shoot, &facts, wants, it.zone).map(|it| it.name);
        }
        it.sleep = MachineSleep::Awake;
        it.status = "Starting".into();
        // An old node may still count as ready.
        if it.phase == MachinePhase::Ready {
            it.phase = MachinePhase::NotReady;
        }
        self.must("disks never become smaller", smaller.is_none(), || {
            format!("{name}: {smaller:?}")
        });
    }

    fn target(&mut self, target: &DeleteTarget) -> Option<&mut ObservedMachine> {
        self.machine(&target.key.name, &target.uid)
    }

    fn machine(&mut self, name: &Arc<str>, uid: &Arc<str>) -> Option<&mut ObservedMachine> {
        let mut pools = self.facts().machines.values_mut();
        let machine = pools.find_map(|it| it.get_mut(name));
        machine.filter(|it| it.uid == *uid)
    }

    /// A removal because of "not ready" checks readiness again first.
    fn leaves(&mut self, target: &DeleteTarget) {
        if let Some(it) = self.target(target)
            && !(target.unless_ready && it.phase == MachinePhase::Ready)
        {
            it.phase = MachinePhase::Deleting;
        }
    }

    fn drain_machine(&mut self, target: &DeleteTarget) {
        if let Some(it) = self.target(target)
            && !(target.unless_ready && it.phase == MachinePhase::Ready)
            && !matches!(it.phase, MachinePhase::Drained | MachinePhase::Deleting)
        {
            it.phase = MachinePhase::Draining;
        }
    }

    fn deleted(&mut self, target: &DeleteTarget) {
        self.check_is_unused(&target.key);
        let at_once = self.dice.one_in(2);
        let key = &target.key;
        let facts = self.facts();
        if key.kind == ObjectKind::Record {
            facts.record = facts.record.take().filter(|_| !at_once);
            facts.record.iter_mut().for_each(|it| it.leaving = true);
        } else if let Some(it) = facts.objects.get_mut(key)
            && it.uid == target.uid
        {
            it.leaving = true;
            facts.objects.retain(|it, _| it != key || !at_once);
        } else {
            let foreign = &mut facts.foreign;
            foreign.retain(|_, it| it.uid != target.uid);
        }
    }
}
