//! Cache of everything observed of one shoot, with the facts derived from it and from earlier states of this run. Pure:
//! the time is an argument.

use super::parse::user_resources::UserResourceProgress;
use crate::cluster::client::error::Error;
use crate::cluster::client::request::ResourceRef;
use crate::cluster::client::resources::{Resource, ResourceScope};
use crate::cluster::observe::parse::object;
use crate::cluster::observe::parse::types;
use crate::cluster::observe::parse::types::{
    ParsedBody, ParsedInstance, ParsedMachine, ParsedObject, ParsedVolume,
};
use crate::state::facts::{
    Evacuation, Facts, ImageImport, MachineInstance, MachinePhase, ObjectStatus, ObservedMachine,
    ObservedNode, ObservedObject, ObservedRecord, ObservedSigningRequest, Placement, Rollout,
    ShootApi, SigningDecision,
};
use crate::state::key::{ClusterSide, ObjectKey, ObjectKind};
use crate::state::store::{self, Store};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

/// The most bytes of all objects of a shoot: enough for tens of thousands.
const MAX_HELD: usize = 16 << 20;
/// Bytes of a name with its versions, and of a deleted object, at most.
const NAME_SIZE: usize = 600;
const DEAD_SIZE: usize = 400;

/// The instances of the machines.
const INSTANCES: ResourceScope = (ClusterSide::Provider, ObjectKind::VirtualMachineInstance);

/// Age in seconds from which a machine is assumed to have been ready once when the run first observes it.
const ESTABLISHED_AGE: i64 = 20 * 60;

#[derive(Debug, Default)]
pub(crate) struct Cache {
    /// Technical ID of the shoot, and name of its record.
    id: Arc<str>,
    /// UID of the record, for commands that read it themselves.
    record_uid: Option<Arc<str>>,
    /// Facts that are constant during a run: shared networks, StorageClasses, zones.
    pub(crate) static_facts: Facts,
    stores: BTreeMap<ResourceScope, Store<ParsedObject>>,
    /// Bytes of the bodies of all objects.
    bodies: usize,
    history: HashMap<Arc<str>, MachineHistory>,
    imports: HashMap<Arc<str>, ImportSample>,
    /// Restarts of importers at their first observation: earlier failures may be fixed by now.
    restarts: HashMap<Arc<str>, i64>,
    drained: HashSet<Arc<str>>,
    /// Remaining pods of machines that are being drained, and volumes that are expanded before a machine starts.
    drains: HashMap<Arc<str>, Arc<str>>,
    causes: HashMap<ObjectKey, Arc<str>>,
    /// KubeVirt cannot cancel evacuations, or does not let this account do it.
    cannot_cancel: bool,
    user_resources: UserResourceProgress,
}

/// History of a machine in this run.
#[derive(Debug)]
struct MachineHistory {
    look: MachinePhase,
    since: Duration,
    unschedulable_since: Option<Duration>,
    was_ready: bool,
    /// UID of its instance at the first look, if it had one; None before the first look.
    first_instance: Option<Option<Arc<str>>>,
    /// When it started with another address than its node still had.
    readdressed: Option<Duration>,
}

impl MachineHistory {
    fn new(look: MachinePhase, since: Duration, was_ready: bool) -> MachineHistory {
        MachineHistory {
            look,
            since,
            unschedulable_since: None,
            was_ready,
            first_instance: None,
            readdressed: None,
        }
    }
}

/// Progress of an import at a point in time.
#[derive(Debug, Clone, Copy)]
struct ImportSample {
    percent: f32,
    at: Duration,
    speed: Option<u64>,
}

impl Cache {
    pub(crate) fn new(id: &str) -> Cache {
        Cache {
            id: id.into(),
            ..Cache::default()
        }
    }

    /// Cache of a shoot whose record is known and not observed.
    pub(crate) fn of_record(id: &str, uid: &Arc<str>) -> Cache {
        Cache {
            record_uid: Some(uid.clone()),
            ..Cache::new(id)
        }
    }

    pub(crate) fn id(&self) -> &Arc<str> {
        &self.id
    }

    /// `now` is the time since the run began, `time` that of the server's clock.
    ///
    /// # Errors
    ///
    /// As those of [`object::parse`], or there are more objects than fit into memory: nothing of the list is kept then.
    pub(crate) fn list(
        &mut self,
        scope: ResourceScope,
        version: &str,
        items: &[Value],
        now: Duration,
        time: Option<i64>,
    ) -> Result<(), Error> {
        let version = object::version(scope.1, version)?;
        let objects = items
            .iter()
            .map(|it| object::parse(scope, it))
            .collect::<Result<Vec<_>, _>>()?;
        let store = self.stores.get(&scope);
        let is_new = |name: &str| !store.is_some_and(|it| it.knows(name));
        let added = objects.iter().map(|it| match is_new(&it.name) {
            true => it.fact.size + NAME_SIZE,
            false => it.fact.size,
        });
        self.check_room(scope, added.sum(), self.bodies_of(scope))?;
        for object in &objects {
            self.remember(object, now, time);
        }
        self.bodies -= self.bodies_of(scope);
        self.stores.entry(scope).or_default().list(version, objects);
        self.bodies += self.bodies_of(scope);
        Ok(())
    }

    pub(crate) fn put(
        &mut self,
        scope: ResourceScope,
        object: &Value,
        now: Duration,
        time: Option<i64>,
    ) -> Result<(), Error> {
        let object = object::parse(scope, object)?;
        let (name, before) = (object.name.clone(), self.body_of(scope, &object.name));
        self.check_room(scope, object.fact.size, before)?;
        self.remember(&object, now, time);
        self.stores.entry(scope).or_default().put(object);
        self.bodies = self.bodies - before + self.body_of(scope, &name);
        Ok(())
    }

    pub(crate) fn remove(&mut self, scope: ResourceScope, object: &Value) -> Result<(), Error> {
        let object = object::parse(scope, object)?;
        let (name, before) = (object.name.clone(), self.body_of(scope, &object.name));
        if before == 0 {
            // It is only remembered that the object is gone.
            self.check_room(scope, DEAD_SIZE, 0)?;
        }
        let store = self.stores.entry(scope).or_default();
        store.gone(object.name, object.uid, object.version);
        self.bodies = self.bodies - before + self.body_of(scope, &name);
        Ok(())
    }

    /// # Errors
    ///
    /// There is no room for objects of `added` bytes in place of `removed` bytes.
    fn check_room(&self, scope: ResourceScope, added: usize, removed: usize) -> Result<(), Error> {
        let known = self.stores.values().map(|it| {
            let (names, dead) = it.known();
            names * NAME_SIZE + dead * DEAD_SIZE
        });
        let held = self.bodies + known.sum::<usize>();
        if held - removed + added <= MAX_HELD {
            return Ok(());
        }
        let what = ResourceRef::all(Resource::of(scope.1), None).request_info("watch");
        Err(Error::TooManyObjects { what })
    }

    /// Bytes of the body of an object.
    fn body_of(&self, scope: ResourceScope, name: &str) -> usize {
        self.get(scope, name).map_or(0, |it| it.fact.size)
    }

    fn bodies_of(&self, scope: ResourceScope) -> usize {
        let objects = self.stores.get(&scope).into_iter().flat_map(Store::iter);
        objects.map(|it| it.fact.size).sum()
    }

    pub(crate) fn remove_confirmed(
        &mut self,
        scope: ResourceScope,
        name: &Arc<str>,
        uid: Arc<str>,
    ) {
        let before = self.body_of(scope, name);
        let store = self.stores.entry(scope).or_default();
        store.gone_by_answer(name, uid);
        self.bodies = self.bodies - before + self.body_of(scope, name);
    }

    pub(crate) fn set_drained(&mut self, uid: Arc<str>) {
        self.drains.remove(&uid);
        self.drained.insert(uid);
    }

    pub(crate) fn forbid_cancellations(&mut self) {
        self.cannot_cancel = true;
    }

    /// The machine is no longer being drained, and nothing keeps it from its start.
    pub(crate) fn clear_drain_status(&mut self, uid: &str) {
        self.drains.remove(uid);
    }

    /// Describes what remains on a machine that is being drained, or what the start of a halted machine waits for.
    pub(crate) fn set_drain_status(&mut self, uid: Arc<str>, what: Arc<str>) {
        self.drains.insert(uid, what);
    }

    pub(crate) fn set_causes(&mut self, causes: HashMap<ObjectKey, Arc<str>>) {
        self.causes = causes;
    }

    pub(crate) fn get(
        &self,
        scope: ResourceScope,
        name: &str,
    ) -> Option<&store::StoredObject<ParsedObject>> {
        self.stores.get(&scope)?.get(name)
    }

    /// True if all objects of the scope were listed.
    pub(crate) fn is_listed(&self, scope: ResourceScope) -> bool {
        self.stores.get(&scope).is_some_and(Store::is_listed)
    }

    pub(crate) fn facts(&mut self, now: Duration) -> Facts {
        let mut facts = self.static_facts.clone();
        facts.record = self.record();
        let shoot = facts.record.as_ref().map(|it| it.uid.clone());
        let shoot = shoot.or_else(|| self.record_uid.clone());
        facts.nodes = self.nodes();
        facts.signing_requests = self.signing_requests();
        for ((side, kind), store) in &self.stores {
            for object in store.iter().filter(|_| *kind != ObjectKind::Record) {
                let key = ObjectKey {
                    side: *side,
                    kind: *kind,
                    name: object.name.clone(),
                };
                if let ParsedBody::UserResource(holds) = &object.fact.body {
                    let things = &mut facts.user_resources.objects;
                    if let Some(holds) = holds {
                        things.insert(key, object_fact(object, ObjectStatus::Holds(holds.clone())));
                    }
                    continue;
                }
                if let ParsedBody::MachineDisk { owner, machine } = &object.fact.body {
                    let vm = self.get((ClusterSide::Provider, ObjectKind::Machine), machine);
                    if vm.is_none_or(|it| it.uid != *owner) {
                        facts.remaining_disks.insert(machine.clone());
                    }
                    continue;
                }
                if matches!(
                    object.fact.body,
                    ParsedBody::Node(_) | ParsedBody::Instance(_) | ParsedBody::SigningRequest(_)
                ) {
                    continue;
                }
                let cause = self.causes.get(&key).cloned();
                if object.fact.shoot.is_none() || object.fact.shoot != shoot {
                    let status = match &object.fact.body {
                        ParsedBody::Image(volume) => {
                            ObjectStatus::Image(self.import(object, volume, cause))
                        }
                        _ => ObjectStatus::None,
                    };
                    facts.foreign.insert(key, object_fact(object, status));
                    continue;
                }
                match &object.fact.body {
                    ParsedBody::Machine(vm) => {
                        let missing = facts.node_problem(&object.name).filter(|_| vm.ready);
                        let serves = facts.is_ready(&object.name, vm.ready);
                        // While nodes are not observed, no machine is known to have been ready.
                        let node = facts.nodes.get(&object.name);
                        let went_silent = node.is_some_and(|it| it.conditions.went_silent);
                        if (serves || went_silent)
                            && self.static_facts.shoot_api == ShootApi::Reachable
                        {
                            mark_ready_once(&mut self.history, &object.uid);
                        }
                        let look = machine_phase(object, vm, serves, &self.history, &self.drained);
                        let since = phase_since(&mut self.history, &object.uid, look, now);
                        let pool = facts.machines.entry(vm.pool.clone()).or_default();
                        let cause = self.drains.get(&object.uid).cloned().or(cause);
                        // The node of a machine that is deleted may be gone first.
                        let cause = cause.or(missing.filter(|_| !object.fact.deleting));
                        let unschedulable_since =
                            unschedulable_since(&mut self.history, &object.uid, &vm.status, now);
                        let is_listed = self.is_listed(INSTANCES);
                        let seen = is_listed.then(|| self.instance(object).cloned());
                        let readdressed = seen.and_then(|instance| {
                            readdressed(&mut self.history, &object.uid, instance, node, now)
                        });
                        let instance = self.instance(object);
                        let passed = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
                        let time = self.static_facts.time.saturating_add(passed);
                        let evacuation = instance.and_then(|it| it.evacuation);
                        let evacuation = evacuation.filter(|it| it.1 <= time).map(|it| it.0);
                        let is_cancelled = !self.cannot_cancel
                            && instance.is_some_and(|it| {
                                let host = it.host.as_ref();
                                host.is_some_and(|it| facts.uncordoned_hosts.contains(it))
                            });
                        let evacuation = match is_cancelled {
                            true => evacuation.map(|_| Evacuation::Cancellation),
                            false => evacuation,
                        };
                        let mut machine =
                            machine_fact(object, vm, look, since, cause, instance, readdressed);
                        machine.unschedulable_since = unschedulable_since;
                        machine.evacuation = evacuation;
                        let replace = &mut machine.instance.replace;
                        *replace = replace
                            .take()
                            .or_else(|| failed_migration(vm, instance, evacuation).cloned());
                        pool.insert(object.name.clone(), machine);
                    }
                    ParsedBody::Image(volume) => {
                        let import = self.import(object, volume, cause);
                        facts
                            .objects
                            .insert(key, object_fact(object, ObjectStatus::Image(import)));
                    }
                    ParsedBody::Status(fact) => {
                        let fact = with_cause(fact.clone(), cause);
                        facts.objects.insert(key, object_fact(object, fact));
                    }
                    ParsedBody::Plain
                    | ParsedBody::Record { .. }
                    | ParsedBody::Node(_)
                    | ParsedBody::SigningRequest(_)
                    | ParsedBody::UserResource(_)
                    | ParsedBody::MachineDisk { .. }
                    | ParsedBody::Instance(_) => {
                        facts
                            .objects
                            .insert(key, object_fact(object, ObjectStatus::None));
                    }
                }
            }
        }
        self.user_resources.update(&mut facts, now);
        facts
    }

    fn nodes(&self) -> BTreeMap<Arc<str>, ObservedNode> {
        let store = self.stores.get(&(ClusterSide::Shoot, ObjectKind::Node));
        let nodes = store.into_iter().flat_map(Store::iter);
        let nodes = nodes.filter_map(|object| match &object.fact.body {
            ParsedBody::Node(node) => Some((object.name.clone(), node_fact(object, node))),
            _ => None,
        });
        nodes.collect()
    }

    fn signing_requests(&self) -> BTreeMap<Arc<str>, ObservedSigningRequest> {
        let store = (self.stores).get(&(ClusterSide::Shoot, ObjectKind::SigningRequest));
        let requests = store.into_iter().flat_map(Store::iter);
        let requests = requests.filter_map(|object| match &object.fact.body {
            // Those that were refused have no further effect, and anyone with a node's credentials can create many.
            ParsedBody::SigningRequest(Some(request))
                if request.decision != SigningDecision::Refused =>
            {
                let observed = ObservedSigningRequest {
                    uid: object.uid.clone(),
                    request: request.clone(),
                };
                Some((object.name.clone(), observed))
            }
            _ => None,
        });
        requests.collect()
    }

    /// The instance of a machine; not that of an earlier machine of its name.
    fn instance(&self, machine: &store::StoredObject<ParsedObject>) -> Option<&ParsedInstance> {
        match &self.get(INSTANCES, &machine.name)?.fact.body {
            ParsedBody::Instance(it) if it.owner == machine.uid => Some(it),
            _ => None,
        }
    }

    fn import(
        &self,
        object: &store::StoredObject<ParsedObject>,
        volume: &ParsedVolume,
        cause: Option<Arc<str>>,
    ) -> ImageImport {
        let first = self.restarts.get(&object.uid);
        let stumbled = first.is_some_and(|it| volume.restarts > *it);
        import_fact(volume, self.imports.get(&object.uid), cause, stumbled)
    }

    fn record(&self) -> Option<ObservedRecord> {
        let record = self.get((ClusterSide::Provider, ObjectKind::Record), &self.id)?;
        let ParsedBody::Record {
            sizes,
            cluster_ip,
            expiry,
            etcd,
            rotation,
            hibernation,
            operation,
            repairs,
            last_backup,
        } = &record.fact.body
        else {
            return None;
        };
        Some(ObservedRecord {
            name: record.name.clone(),
            uid: record.uid.clone(),
            version: record.version.text().clone(),
            hash: record.fact.hash,
            sizes: sizes.clone(),
            cluster_ip: cluster_ip.clone(),
            expiry: expiry.clone(),
            etcd: etcd.clone(),
            rotation: rotation.clone(),
            hibernation: hibernation.clone(),
            operation: operation.clone(),
            repairs: repairs.clone(),
            last_backup: *last_backup,
            leaving: record.fact.deleting,
        })
    }

    fn remember(
        &mut self,
        object: &store::StoredObject<ParsedObject>,
        now: Duration,
        time: Option<i64>,
    ) {
        match &object.fact.body {
            ParsedBody::Machine(vm) => {
                let born = i64::try_from(vm.created).unwrap_or(i64::MAX);
                self.history.entry(object.uid.clone()).or_insert_with(|| {
                    let was_ready =
                        time.is_some_and(|it| it.saturating_sub(born) > ESTABLISHED_AGE);
                    MachineHistory::new(MachinePhase::Provisioning, now, was_ready)
                });
            }
            ParsedBody::Image(volume) => {
                let first = self.restarts.entry(object.uid.clone());
                first.or_insert(volume.restarts);
                self.sample(&object.uid, volume, now);
            }
            ParsedBody::Plain | ParsedBody::Record { .. } | ParsedBody::Status(_) => {}
            ParsedBody::Node(_)
            | ParsedBody::SigningRequest(_)
            | ParsedBody::UserResource(_)
            | ParsedBody::MachineDisk { .. }
            | ParsedBody::Instance(_) => {}
        }
    }

    fn sample(&mut self, uid: &Arc<str>, volume: &ParsedVolume, now: Duration) {
        let Some(percent) = volume.percent else {
            return;
        };
        let before = self.imports.get(uid).copied();
        let speed = match (before, volume.volume.size) {
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
        let sample = ImportSample {
            percent,
            at: now,
            speed,
        };
        self.imports.insert(uid.clone(), sample);
    }
}

/// Appends the cause to a workload that is not rolled out.
fn with_cause(mut fact: ObjectStatus, cause: Option<Arc<str>>) -> ObjectStatus {
    if let (ObjectStatus::Rollout(Rollout { why: Some(why), .. }), Some(cause)) = (&mut fact, cause)
    {
        *why = format!("{why}; {cause}").into();
    }
    fact
}

fn mark_ready_once(history: &mut HashMap<Arc<str>, MachineHistory>, uid: &Arc<str>) {
    if let Some(history) = history.get_mut(uid) {
        history.was_ready = true;
    }
}

fn machine_phase(
    object: &store::StoredObject<ParsedObject>,
    vm: &ParsedMachine,
    serves: bool,
    history: &HashMap<Arc<str>, MachineHistory>,
    drained: &HashSet<Arc<str>>,
) -> MachinePhase {
    let served = history.get(&object.uid).is_some_and(|it| it.was_ready);
    if object.fact.deleting {
        MachinePhase::Deleting
    } else if vm.drain_requested && drained.contains(&object.uid) {
        MachinePhase::Drained
    } else if vm.drain_requested {
        MachinePhase::Draining
    } else if serves {
        MachinePhase::Ready
    } else if vm.broken {
        MachinePhase::Failed
    } else if served {
        MachinePhase::NotReady
    } else {
        MachinePhase::Provisioning
    }
}

/// When this run first observed the phase.
fn phase_since(
    history: &mut HashMap<Arc<str>, MachineHistory>,
    uid: &Arc<str>,
    look: MachinePhase,
    now: Duration,
) -> Duration {
    let history = history
        .entry(uid.clone())
        .or_insert(MachineHistory::new(look, now, false));
    if history.look != look {
        history.look = look;
        history.since = now;
    }
    history.since
}

/// When this run first observed KubeVirt's status for machines that no host can run.
fn unschedulable_since(
    history: &mut HashMap<Arc<str>, MachineHistory>,
    uid: &Arc<str>,
    status: &str,
    now: Duration,
) -> Option<Duration> {
    let history = history.get_mut(uid)?;
    history.unschedulable_since =
        (status == "ErrorUnschedulable").then(|| history.unschedulable_since.unwrap_or(now));
    history.unschedulable_since
}

/// When this run saw the machine start with another address than its node still had.
fn readdressed(
    history: &mut HashMap<Arc<str>, MachineHistory>,
    uid: &Arc<str>,
    instance: Option<ParsedInstance>,
    node: Option<&ObservedNode>,
    now: Duration,
) -> Option<Duration> {
    let history = history.get_mut(uid)?;
    let current = instance.as_ref().map(|it| it.uid.clone());
    let first = history
        .first_instance
        .get_or_insert_with(|| current.clone());
    let address = node.and_then(|it| it.info.address.as_ref()?.parse().ok());
    let has_other = instance.zip(address).is_some_and(|(it, address)| {
        !it.node_addresses.is_empty() && !it.node_addresses.contains(&address)
    });
    if *first != current && has_other {
        history.readdressed.get_or_insert(now);
    }
    history.readdressed
}

fn machine_fact(
    object: &store::StoredObject<ParsedObject>,
    vm: &ParsedMachine,
    look: MachinePhase,
    since: Duration,
    cause: Option<Arc<str>>,
    instance: Option<&ParsedInstance>,
    readdressed: Option<Duration>,
) -> ObservedMachine {
    ObservedMachine {
        uid: object.uid.clone(),
        version: object.version.text().clone(),
        hash: object.fact.hash,
        content: vm.content.clone(),
        zone: vm.zone,
        ordinal: vm.ordinal,
        born: vm.created,
        phase: look,
        runs: vm.ready,
        sleep: vm.sleep,
        halted_at: vm.halted_at,
        evacuation: None,
        since,
        unschedulable_since: None,
        image: vm.image.clone(),
        networks: vm.networks.clone(),
        types: vm.types.clone(),
        metadata: vm.metadata.clone(),
        status: vm.status.clone(),
        // An outdated cause does not matter for a ready machine.
        cause: cause
            .or_else(|| vm.failure_message.clone())
            .filter(|_| !matches!(look, MachinePhase::Ready | MachinePhase::Drained)),
        placement: Placement {
            zone: vm.zone_name.clone(),
            host: instance.and_then(|it| it.host.clone()),
            addresses: instance.map_or_else(|| [].into(), |it| it.addresses.clone()),
            node_addresses: instance.map_or_else(|| [].into(), |it| it.node_addresses.clone()),
            readdressed,
            is_migrating: instance.is_some_and(|it| it.is_migrating),
        },
        instance: MachineInstance {
            uid: instance.filter(|it| it.is_running).map(|it| it.uid.clone()),
            is_running: instance.is_some_and(|it| it.is_running),
            restart: vm.restart.clone(),
            replace: vm.replace.clone(),
        },
    }
}

/// Why a machine that has to leave its host cannot be migrated. A failure does not count once its eviction is cancelled, nor
/// for a later one.
fn failed_migration<'a>(
    vm: &'a ParsedMachine,
    instance: Option<&ParsedInstance>,
    evacuation: Option<Evacuation>,
) -> Option<&'a Arc<str>> {
    let eviction = instance?.eviction.as_ref()?;
    let failure = vm.migration_failure.as_ref()?;
    let leaves = evacuation.is_some_and(|it| it != Evacuation::Cancellation);
    (leaves && failure.eviction == *eviction).then_some(&failure.reason)
}

/// A failure from before this run is reported only if it happens again.
fn import_fact(
    volume: &ParsedVolume,
    sample: Option<&ImportSample>,
    cause: Option<Arc<str>>,
    stumbled: bool,
) -> ImageImport {
    ImageImport {
        done: volume.done,
        percent: volume.percent,
        speed: sample.filter(|_| !volume.done).and_then(|it| it.speed),
        waits: cause
            .filter(|_| !volume.done)
            .or_else(|| volume.waiting_reason.clone()),
        failed: volume
            .failed
            .clone()
            .filter(|_| volume.failed_permanently || stumbled),
        volume: volume.volume.clone(),
    }
}

fn node_fact(object: &store::StoredObject<ParsedObject>, node: &types::ParsedNode) -> ObservedNode {
    ObservedNode {
        uid: object.uid.clone(),
        version: object.version.text().clone(),
        created: node.created,
        serves: node.why.is_none(),
        why: node.why.clone().unwrap_or_default(),
        conditions: node.conditions.clone(),
        is_ours: node.is_ours,
        taints: node.taints.clone(),
        metadata: node.metadata.clone(),
        roots: node.roots.clone(),
        info: node.info.clone(),
    }
}

fn object_fact(object: &store::StoredObject<ParsedObject>, fact: ObjectStatus) -> ObservedObject {
    ObservedObject {
        uid: object.uid.clone(),
        version: object.version.text().clone(),
        hash: object.fact.hash,
        leaving: object.fact.deleting,
        status: fact,
    }
}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
