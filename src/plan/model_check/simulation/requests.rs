//! Requests: processed late and in parts, answered later still, lost or rejected.

use super::Simulation;
use crate::plan::item::{Action, Class, Content, Failure, Key, Kind, Setback, Target, Wanted};
use crate::plan::observed::{Fact, Import, Look, Machine, Object, Record};
use crate::plan::{desired, types};
use std::sync::Arc;

/// A write in flight.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) action: Action,
    /// Number of parts processed: user data before its machine.
    landed: usize,
}

impl Request {
    fn parts(&self) -> usize {
        let is_machine = |it: &Wanted| matches!(it.content, Content::Machine { .. });
        match &self.action {
            Action::Apply(it) if is_machine(it) => 2,
            _ => 1,
        }
    }
}

impl Simulation<'_> {
    pub(super) fn send(&mut self, action: Action) {
        self.observed
            .sent
            .insert(action.key().clone(), action.clone());
        self.requests.push(Request { action, landed: 0 });
    }

    /// Advances one of the requests in flight.
    pub(super) fn advance_request(&mut self, faults: bool) {
        if self.requests.is_empty() {
            return;
        }
        let index = self.rng.below(self.requests.len());
        let request = &self.requests[index];
        let is_open = request.landed < request.parts();
        if faults && self.rng.one_in(15) {
            self.had_fault = true;
            let request = self.requests.remove(index);
            self.observed.sent.remove(request.action.key());
        } else if is_open && (faults && self.rng.one_in(40) || self.refuses(index)) {
            self.had_fault = true;
            let Request { action, .. } = self.requests.remove(index);
            self.observed.sent.remove(action.key());
            let failure = Failure::new(Class::Refused, "denied by the webhook");
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
            Action::Apply(Wanted {
                content: Content::Machine { pool, zone, .. },
                ..
            }) => self.refusing_zone == Some((pool.clone(), *zone)),
            _ => false,
        }
    }

    /// The requests end with the run; some were processed.
    pub(super) fn cut_off(&mut self) {
        while !self.requests.is_empty() {
            if self.requests[0].landed < self.requests[0].parts() && self.rng.one_in(2) {
                self.land(0);
            }
            self.requests.remove(0);
        }
    }

    fn land(&mut self, index: usize) {
        let request = self.requests[index].clone();
        self.requests[index].landed += 1;
        match &request.action {
            Action::Apply(wanted) => self.apply(wanted, request.landed),
            Action::Delete(target) if target.key.kind == Kind::Machine => {
                self.delete_machine(target)
            }
            Action::Delete(target) => self.delete(target),
            Action::Drain(target) => self.drain_machine(target),
        }
    }

    fn answer(&mut self, action: &Action) {
        self.observed.sent.remove(action.key());
        if let Action::Drain(target) = action
            && let Some(it) = self.machine(target)
            && it.look == Look::Draining
        {
            it.look = Look::Drained;
        }
        if let Action::Delete(Target {
            setback: Some(Setback {
                pool, hash, zone, ..
            }),
            ..
        }) = action
        {
            let key = (pool.clone(), *hash);
            let counts = self.observed.setbacks.entry(key).or_default();
            counts.resize(counts.len().max(zone + 1), 0);
            counts[*zone] += 1;
            self.had_fault = true;
        }
    }

    fn apply(&mut self, wanted: &Wanted, landed: usize) {
        let Key { kind, name, .. } = &wanted.key;
        match (&wanted.content, kind) {
            (Content::Machine { pool, zone, .. }, _) if landed > 0 => {
                self.create_machine(wanted, pool, *zone)
            }
            (Content::Machine { .. } | Content::UserData { .. }, _) => {
                let key = Key::provider(Kind::UserData, name.clone());
                if !self.observed.facts.objects.contains_key(&key) {
                    self.put(key, wanted, Fact::None);
                }
            }
            (Content::Metadata { pool, uid }, _) => self.relabel(wanted, pool, uid),
            (Content::Plain, Kind::Record) => self.write_record(wanted),
            (Content::Plain, Kind::Image) => {
                let known = self.observed.facts.objects.contains_key(&wanted.key);
                if !known {
                    self.put(wanted.key.clone(), wanted, Fact::Image(Import::default()));
                }
            }
            (Content::Plain, _) => self.put(wanted.key.clone(), wanted, Fact::None),
            (
                Content::Objects(_)
                | Content::Bundle(_)
                | Content::Issue(_)
                | Content::Token { .. },
                _,
            ) => {
                unreachable!("this simulation has no control plane")
            }
        }
    }

    fn put(&mut self, key: Key, wanted: &Wanted, fact: Fact) {
        let version = self.next();
        // A replaced object keeps its uid.
        let existing = self.observed.facts.objects.get(&key);
        let uid = existing.map_or(version.clone(), |it| it.uid.clone());
        let object = Object {
            uid,
            version,
            hash: wanted.hash,
            leaving: false,
            fact,
        };
        self.facts().objects.insert(key, object);
    }

    fn write_record(&mut self, wanted: &Wanted) {
        let Some(shoot) = self.shoot else { return };
        let version = self.next();
        let facts = self.facts();
        let sizes = shoot.pools.iter();
        let sizes = sizes.map(|it| (it.name.as_str().into(), desired::size(facts, it)));
        let sizes = sizes.collect();
        let existing = facts.record.as_ref();
        facts.record = Some(Record {
            name: wanted.key.name.clone(),
            uid: existing.map_or(version.clone(), |it| it.uid.clone()),
            version,
            hash: wanted.hash,
            sizes,
            cluster_ip: None,
            expiry: None,
            leaving: false,
        });
    }

    fn create_machine(&mut self, wanted: &Wanted, pool: &Arc<str>, zone: usize) {
        let Some(shoot) = self.shoot else { return };
        let Content::Machine { ordinal, .. } = wanted.content else {
            return;
        };
        let name = wanted.key.name.clone();
        let uid = self.next();
        let now = self.observed.now;
        let facts = self.facts();
        let wants = shoot.pools.iter().find(|it| *it.name == **pool);
        let wants = wants.expect("only pools of the manifest get machines");
        let golden = desired::golden(shoot, facts, wants, zone);
        let attachments = desired::attachments(shoot, facts);
        let machine = Machine {
            version: uid.clone(),
            born: uid.parse().expect("a number"),
            uid,
            hash: wanted.hash,
            zone,
            ordinal,
            look: Look::Coming,
            runs: false,
            evacuating: false,
            since: now,
            image: golden.map(|it| it.name),
            networks: attachments.into_iter().map(|it| it.reference).collect(),
            types: types::of_machine(shoot, facts, wants),
            metadata: desired::pool_metadata(wants).into(),
            status: "Provisioning".into(),
            cause: None,
        };
        let all = facts.machines.entry(pool.clone()).or_default();
        let is_fresh = all.insert(name.clone(), machine).is_none();
        let total = all.len();
        let most = super::rules::max_machines(facts, wants);
        self.require("names", is_fresh, || name.to_string());
        self.require("total", total <= most, || format!("{total} of {most}"));
    }

    fn relabel(&mut self, wanted: &Wanted, pool: &Arc<str>, uid: &Arc<str>) {
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

    pub(super) fn machine(&mut self, target: &Target) -> Option<&mut Machine> {
        let mut pools = self.facts().machines.values_mut();
        let machine = pools.find_map(|it| it.get_mut(&target.key.name));
        machine.filter(|it| it.uid == target.uid)
    }

    /// A removal because of "not ready" checks readiness again first.
    fn delete_machine(&mut self, target: &Target) {
        if let Some(it) = self.machine(target)
            && !(target.unless_ready && it.look == Look::Ready)
        {
            it.look = Look::Deleting;
        }
    }

    fn drain_machine(&mut self, target: &Target) {
        if let Some(it) = self.machine(target)
            && !(target.unless_ready && it.look == Look::Ready)
            && !matches!(it.look, Look::Drained | Look::Deleting)
        {
            it.look = Look::Draining;
        }
    }

    fn delete(&mut self, target: &Target) {
        self.check_is_unused(&target.key);
        let at_once = self.rng.one_in(2);
        let key = &target.key;
        let facts = self.facts();
        if key.kind == Kind::Record {
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
