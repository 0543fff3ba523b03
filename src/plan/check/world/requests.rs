//! What is sent: it lands later, in parts, and its answer comes later still; or it is lost, or refused.

use super::World;
use crate::render::instancetype;
use crate::state::action::{Action, Content, Setback, Target, Wanted};
use crate::state::desired;
use crate::state::facts::{Fact, Import, Look, Machine, Object, Record};
use crate::state::failure::{Class, Failure};
use crate::state::key::{Key, Kind};
use std::sync::Arc;

/// A write on its way.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) action: Action,
    /// Parts that happened: user data before its machine.
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

impl World<'_> {
    pub(crate) fn send(&mut self, action: Action) {
        self.observed
            .sent
            .insert(action.key().clone(), action.clone());
        self.requests.push(Request { action, landed: 0 });
    }

    /// One of those on their way comes nearer to its end.
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
            let failure = Failure::new(Class::Refused, "the webhook says no");
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
            }) => self.closed == Some((pool.clone(), *zone)),
            _ => false,
        }
    }

    /// With the run, its requests end: some happened just so.
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
            Action::Delete(target) if target.key.kind == Kind::Machine => self.leaves(target),
            Action::Delete(target) => self.deleted(target),
            Action::Drain(target) => self.leaves_when_drained(target),
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
            self.hurt = true;
        }
    }

    fn applied(&mut self, wanted: &Wanted, landed: usize) {
        let Key { kind, name, .. } = &wanted.key;
        match (&wanted.content, kind) {
            (Content::Machine { pool, zone, .. }, _) if landed > 0 => {
                self.made(wanted, pool, *zone)
            }
            (Content::Machine { .. } | Content::UserData { .. }, _) => {
                let key = Key::provider(Kind::UserData, name.clone());
                if !self.observed.facts.objects.contains_key(&key) {
                    self.put(key, wanted, Fact::None);
                }
            }
            (Content::Metadata { pool, uid }, _) => self.relabeled(wanted, pool, uid),
            (Content::Plain, Kind::Record) => self.recorded(wanted),
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
                unreachable!("this world has no control plane")
            }
        }
    }

    fn put(&mut self, key: Key, wanted: &Wanted, fact: Fact) {
        let version = self.next();
        // What is replaced stays the same object.
        let there = self.observed.facts.objects.get(&key);
        let uid = there.map_or(version.clone(), |it| it.uid.clone());
        let object = Object {
            uid,
            version,
            hash: wanted.hash,
            leaving: false,
            fact,
        };
        self.facts().objects.insert(key, object);
    }

    fn recorded(&mut self, wanted: &Wanted) {
        let Some(shoot) = self.shoot else { return };
        let version = self.next();
        let facts = self.facts();
        let sizes = shoot.pools.iter();
        let sizes = sizes.map(|it| (it.name.as_str().into(), desired::size(facts, it)));
        let sizes = sizes.collect();
        let there = facts.record.as_ref();
        facts.record = Some(Record {
            name: wanted.key.name.clone(),
            uid: there.map_or(version.clone(), |it| it.uid.clone()),
            version,
            hash: wanted.hash,
            sizes,
            cluster_ip: None,
            expiry: None,
            leaving: false,
        });
    }

    fn made(&mut self, wanted: &Wanted, pool: &Arc<str>, zone: usize) {
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
            types: instancetype::of_machine(shoot, facts, wants),
            metadata: desired::pool_metadata(wants).into(),
            status: "Provisioning".into(),
            cause: None,
        };
        let all = facts.machines.entry(pool.clone()).or_default();
        let is_fresh = all.insert(name.clone(), machine).is_none();
        let total = all.len();
        let most = super::rules::most(facts, wants);
        self.must("names", is_fresh, || name.to_string());
        self.must("total", total <= most, || format!("{total} of {most}"));
    }

    fn relabeled(&mut self, wanted: &Wanted, pool: &Arc<str>, uid: &Arc<str>) {
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

    pub(crate) fn machine(&mut self, target: &Target) -> Option<&mut Machine> {
        let mut pools = self.facts().machines.values_mut();
        let machine = pools.find_map(|it| it.get_mut(&target.key.name));
        machine.filter(|it| it.uid == target.uid)
    }

    /// A removal that rests on "not ready" looks again first.
    fn leaves(&mut self, target: &Target) {
        if let Some(it) = self.machine(target)
            && !(target.unless_ready && it.look == Look::Ready)
        {
            it.look = Look::Deleting;
        }
    }

    fn leaves_when_drained(&mut self, target: &Target) {
        if let Some(it) = self.machine(target)
            && !(target.unless_ready && it.look == Look::Ready)
            && !matches!(it.look, Look::Drained | Look::Deleting)
        {
            it.look = Look::Draining;
        }
    }

    fn deleted(&mut self, target: &Target) {
        self.check_is_unused(&target.key);
        let at_once = self.dice.one_in(2);
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
