//! All that was heard of one shoot, and the facts that follow from it and from what this run saw before. Pure:
//! the time comes in.

use super::parse::user_resources::Leaving;
use crate::cluster::client::error::Error;
use crate::cluster::client::resources::Source;
use crate::cluster::observe::parse::object;
use crate::cluster::observe::parse::types;
use crate::cluster::observe::parse::types::{Body, Seen, Vm, Volume};
use crate::state::facts::{
    Fact, Facts, Import, Inside, Look, Machine, Node, Object, Record, Rollout,
};
use crate::state::key::{Key, Kind, Side};
use crate::state::store::{self, Store};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

/// A machine that is older than this when the run first sees it has been ready once, or never will be.
const OLD: i64 = 20 * 60;

#[derive(Debug, Default)]
pub(crate) struct World {
    /// Technical ID of the shoot, and name of its record.
    id: Arc<str>,
    /// What does not change in a run: networks of others, storage classes, hosts.
    pub(crate) fixed: Facts,
    stores: BTreeMap<Source, Store<Seen>>,
    past: HashMap<Arc<str>, Past>,
    imports: HashMap<Arc<str>, Sample>,
    /// Restarts of importers when this run first saw them: what failed before may be mended by now.
    restarts: HashMap<Arc<str>, i64>,
    drained: HashSet<Arc<str>>,
    /// What is still on machines that are emptied.
    drains: HashMap<Arc<str>, Arc<str>>,
    causes: HashMap<Key, Arc<str>>,
    guests: Leaving,
}

/// What this run knows of a machine beyond what stands on it.
#[derive(Debug)]
struct Past {
    look: Look,
    since: Duration,
    was_ready: bool,
}

/// How far an import was at a time.
#[derive(Debug, Clone, Copy)]
struct Sample {
    percent: f32,
    at: Duration,
    speed: Option<u64>,
}

impl World {
    pub(crate) fn new(id: &str) -> World {
        World {
            id: id.into(),
            ..World::default()
        }
    }

    pub(crate) fn id(&self) -> &Arc<str> {
        &self.id
    }

    /// `now` is since the run began, `time` by the server's clock.
    pub(crate) fn list(
        &mut self,
        source: Source,
        version: &str,
        items: &[Value],
        now: Duration,
        time: Option<i64>,
    ) -> Result<(), Error> {
        let version = object::version(source.1, version)?;
        let objects = items
            .iter()
            .map(|it| object::seen(source, it))
            .collect::<Result<Vec<_>, _>>()?;
        for object in &objects {
            self.remember(object, now, time);
        }
        self.stores
            .entry(source)
            .or_default()
            .list(version, objects);
        Ok(())
    }

    pub(crate) fn put(
        &mut self,
        source: Source,
        object: &Value,
        now: Duration,
        time: Option<i64>,
    ) -> Result<(), Error> {
        let object = object::seen(source, object)?;
        self.remember(&object, now, time);
        self.stores.entry(source).or_default().put(object);
        Ok(())
    }

    pub(crate) fn gone(&mut self, source: Source, object: &Value) -> Result<(), Error> {
        let object = object::seen(source, object)?;
        let store = self.stores.entry(source).or_default();
        store.gone(object.name, object.uid, object.version);
        Ok(())
    }

    pub(crate) fn gone_by_answer(&mut self, source: Source, name: &Arc<str>, uid: Arc<str>) {
        let store = self.stores.entry(source).or_default();
        store.gone_by_answer(name, uid);
    }

    pub(crate) fn drained(&mut self, uid: Arc<str>) {
        self.drains.remove(&uid);
        self.drained.insert(uid);
    }

    /// What keeps a machine from being empty.
    pub(crate) fn draining(&mut self, uid: Arc<str>, what: Arc<str>) {
        self.drains.insert(uid, what);
    }

    pub(crate) fn tell_causes(&mut self, causes: HashMap<Key, Arc<str>>) {
        self.causes = causes;
    }

    pub(crate) fn get(&self, source: Source, name: &str) -> Option<&store::Object<Seen>> {
        self.stores.get(&source)?.get(name)
    }

    pub(crate) fn facts(&mut self, now: Duration) -> Facts {
        let mut facts = self.fixed.clone();
        facts.record = self.record();
        let shoot = facts.record.as_ref().map(|it| it.uid.clone());
        for ((side, kind), store) in &self.stores {
            for object in store.iter().filter(|_| *kind != Kind::Record) {
                let key = Key {
                    side: *side,
                    kind: *kind,
                    name: object.name.clone(),
                };
                if let Body::Guest(holds) = &object.fact.body {
                    let things = &mut facts.guests.things;
                    if let Some(holds) = holds {
                        things.insert(key, plain(object, Fact::Holds(holds.clone())));
                    }
                    continue;
                }
                if let Body::Node(node) = &object.fact.body {
                    facts
                        .nodes
                        .insert(object.name.clone(), whole_node(object, node));
                    continue;
                }
                if let Body::Disk { owner, machine } = &object.fact.body {
                    let vm = self.get((Side::Provider, Kind::Machine), machine);
                    if vm.is_none_or(|it| it.uid != *owner) {
                        facts.disks.insert(machine.clone());
                    }
                    continue;
                }
                if matches!(object.fact.body, Body::Instance(_)) {
                    continue;
                }
                if object.fact.shoot.is_none() || object.fact.shoot != shoot {
                    facts.foreign.insert(key, plain(object, Fact::None));
                    continue;
                }
                let cause = self.causes.get(&key).cloned();
                match &object.fact.body {
                    Body::Machine(vm) => {
                        let missing = self.missing(&object.name, vm);
                        let serves = vm.ready && missing.is_none();
                        // While nodes are not looked at, nobody is known to have served.
                        if serves && self.fixed.inside == Inside::Observed {
                            served(&mut self.past, &object.uid);
                        }
                        let look = look(object, vm, serves, &self.past, &self.drained);
                        let since = since(&mut self.past, &object.uid, look, now);
                        let pool = facts.machines.entry(vm.pool.clone()).or_default();
                        let cause = self.drains.get(&object.uid).cloned().or(cause);
                        // The node of one that goes may go before it.
                        let cause = cause.or(missing.filter(|_| !object.fact.leaving));
                        let evacuating = self.is_evacuating(object);
                        let machine = machine(object, vm, look, since, cause, evacuating);
                        pool.insert(object.name.clone(), machine);
                    }
                    Body::Volume(volume) => {
                        let sample = self.imports.get(&object.uid);
                        let first = self.restarts.get(&object.uid);
                        let stumbled = first.is_some_and(|it| volume.restarts > *it);
                        let import = import(volume, sample, cause, stumbled);
                        facts
                            .objects
                            .insert(key, plain(object, Fact::Image(import)));
                    }
                    Body::Told(fact) => {
                        let fact = because(fact.clone(), cause);
                        facts.objects.insert(key, plain(object, fact));
                    }
                    Body::Plain
                    | Body::Record { .. }
                    | Body::Node(_)
                    | Body::Guest(_)
                    | Body::Disk { .. }
                    | Body::Instance(_) => {
                        facts.objects.insert(key, plain(object, Fact::None));
                    }
                }
            }
        }
        self.guests.look(&mut facts, now);
        facts
    }

    /// What a machine that runs misses to be a node that serves. Nothing is known of that while the shoot's API
    /// server is not looked at.
    fn missing(&self, name: &str, vm: &Vm) -> Option<Arc<str>> {
        if !vm.ready || self.fixed.inside != Inside::Observed {
            return None;
        }
        match self.get((Side::Shoot, Kind::Node), name) {
            Some(node) => match &node.fact.body {
                Body::Node(node) => node.why.clone(),
                _ => None,
            },
            None => Some("its node to join the shoot; the VM runs, and its serial console tells how far it is".into()),
        }
    }

    /// By its instance; that of an earlier machine of its name says nothing.
    fn is_evacuating(&self, machine: &store::Object<Seen>) -> bool {
        let instance = self.get((Side::Provider, Kind::Instance), &machine.name);
        matches!(
            instance.map(|it| &it.fact.body),
            Some(Body::Instance(it)) if it.evacuating && it.owner == machine.uid
        )
    }

    fn record(&self) -> Option<Record> {
        let record = self.get((Side::Provider, Kind::Record), &self.id)?;
        let Body::Record {
            sizes,
            cluster_ip,
            expiry,
        } = &record.fact.body
        else {
            return None;
        };
        Some(Record {
            name: record.name.clone(),
            uid: record.uid.clone(),
            version: record.version.text().clone(),
            hash: record.fact.hash,
            sizes: sizes.clone(),
            cluster_ip: cluster_ip.clone(),
            expiry: expiry.clone(),
            leaving: record.fact.leaving,
        })
    }

    fn remember(&mut self, object: &store::Object<Seen>, now: Duration, time: Option<i64>) {
        match &object.fact.body {
            Body::Machine(vm) => {
                let born = i64::try_from(vm.born).unwrap_or(i64::MAX);
                self.past.entry(object.uid.clone()).or_insert_with(|| Past {
                    look: Look::Coming,
                    since: now,
                    was_ready: time.is_some_and(|it| it.saturating_sub(born) > OLD),
                });
            }
            Body::Volume(volume) => {
                let first = self.restarts.entry(object.uid.clone());
                first.or_insert(volume.restarts);
                self.sample(&object.uid, volume, now);
            }
            Body::Plain | Body::Record { .. } | Body::Told(_) => {}
            Body::Node(_) | Body::Guest(_) | Body::Disk { .. } | Body::Instance(_) => {}
        }
    }

    fn sample(&mut self, uid: &Arc<str>, volume: &Volume, now: Duration) {
        let Some(percent) = volume.percent else {
            return;
        };
        let before = self.imports.get(uid).copied();
        let speed = match (before, volume.size) {
            // A restarted importer begins again.
            (Some(before), _) if percent <= before.percent && now > before.at => {
                if percent == before.percent {
                    return;
                }
                None
            }
            (Some(before), Some(size)) if now > before.at => {
                let part = f64::from(percent - before.percent) / 100.0;
                Some((part * size as f64 / (now - before.at).as_secs_f64()) as u64)
            }
            _ => None,
        };
        let sample = Sample {
            percent,
            at: now,
            speed,
        };
        self.imports.insert(uid.clone(), sample);
    }
}

/// A workload that is not rolled out, with what its pods say.
fn because(mut fact: Fact, cause: Option<Arc<str>>) -> Fact {
    if let (Fact::Rollout(Rollout { why: Some(why), .. }), Some(cause)) = (&mut fact, cause) {
        *why = format!("{why}; {cause}").into();
    }
    fact
}

fn served(past: &mut HashMap<Arc<str>, Past>, uid: &Arc<str>) {
    if let Some(past) = past.get_mut(uid) {
        past.was_ready = true;
    }
}

fn look(
    object: &store::Object<Seen>,
    vm: &Vm,
    serves: bool,
    past: &HashMap<Arc<str>, Past>,
    drained: &HashSet<Arc<str>>,
) -> Look {
    let served = past.get(&object.uid).is_some_and(|it| it.was_ready);
    if object.fact.leaving {
        Look::Deleting
    } else if vm.marked && drained.contains(&object.uid) {
        Look::Drained
    } else if vm.marked {
        Look::Draining
    } else if serves {
        Look::Ready
    } else if vm.broken {
        Look::Broken
    } else if served {
        Look::NotReady
    } else {
        Look::Coming
    }
}

/// When this run first saw it look so.
fn since(
    past: &mut HashMap<Arc<str>, Past>,
    uid: &Arc<str>,
    look: Look,
    now: Duration,
) -> Duration {
    let past = past.entry(uid.clone()).or_insert(Past {
        look,
        since: now,
        was_ready: false,
    });
    if past.look != look {
        past.look = look;
        past.since = now;
    }
    past.since
}

fn machine(
    object: &store::Object<Seen>,
    vm: &Vm,
    look: Look,
    since: Duration,
    cause: Option<Arc<str>>,
    evacuating: bool,
) -> Machine {
    Machine {
        uid: object.uid.clone(),
        version: object.version.text().clone(),
        hash: object.fact.hash,
        zone: vm.zone,
        ordinal: vm.ordinal,
        born: vm.born,
        look,
        runs: vm.ready,
        evacuating,
        since,
        image: vm.image.clone(),
        networks: vm.networks.clone(),
        types: vm.types.clone(),
        metadata: vm.metadata.clone(),
        status: vm.status.clone(),
        // An old cause does not hold a machine back that is ready by now.
        cause: cause
            .or_else(|| vm.complaint.clone())
            .filter(|_| !matches!(look, Look::Ready | Look::Drained)),
    }
}

/// A failure from before this run is told only when it happens again.
fn import(
    volume: &Volume,
    sample: Option<&Sample>,
    cause: Option<Arc<str>>,
    stumbled: bool,
) -> Import {
    Import {
        done: volume.done,
        percent: volume.percent,
        speed: sample.filter(|_| !volume.done).and_then(|it| it.speed),
        waits: cause
            .filter(|_| !volume.done)
            .or_else(|| volume.waits.clone()),
        failed: volume.failed.clone().filter(|_| volume.dead || stumbled),
    }
}

fn whole_node(object: &store::Object<Seen>, node: &types::Node) -> Node {
    Node {
        uid: object.uid.clone(),
        version: object.version.text().clone(),
        serves: node.why.is_none(),
        why: node.why.clone().unwrap_or_default(),
        is_ours: node.is_ours,
        taints: node.taints.clone(),
        metadata: node.metadata.clone(),
    }
}

fn plain(object: &store::Object<Seen>, fact: Fact) -> Object {
    Object {
        uid: object.uid.clone(),
        version: object.version.text().clone(),
        hash: object.fact.hash,
        leaving: object.fact.leaving,
        fact,
    }
}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
