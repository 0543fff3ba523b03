//! What is there, as far as plans care: facts of the world, and of this run.

use super::hash::Hash;
use super::item::{Action, Class, Content, Failure, Key, Kind, Side, State, Wanted};
use super::names;
use super::relied::{Found, Relied};
use super::roll::Phase;
use crate::model::Quantity;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

/// All that a plan is made from beside the manifest.
#[derive(Debug, Default, Clone)]
pub(crate) struct Observed {
    /// Since the run began, by a clock that never jumps.
    pub(crate) now: Duration,
    pub(crate) facts: Arc<Facts>,
    /// Begun and not answered. Counted as if it had happened, but never as done.
    pub(crate) sent: HashMap<Key, Action>,
    /// What is due is told whatever it needs first: for previews, never for runs.
    pub(crate) ahead: bool,
    /// Refused as it stands: the same again would be refused again.
    pub(crate) refused: HashMap<Key, (Action, Failure)>,
    /// Machines that failed in this run, by pool and hash, for each zone.
    pub(crate) setbacks: HashMap<(Arc<str>, Hash), Vec<u32>>,
    /// Why the last one of a pool and zone failed.
    pub(crate) last_setback: HashMap<(Arc<str>, usize), (Class, Arc<str>)>,
}

/// What the provider cluster holds of one shoot: projections, taken when an object arrives.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Facts {
    /// Where the shoot's objects are.
    pub(crate) namespace: Arc<str>,
    pub(crate) record: Option<Record>,
    /// Everything with our labels but the record and the machines.
    pub(crate) objects: HashMap<Key, Object>,
    /// By pool, in order of name.
    pub(crate) machines: BTreeMap<Arc<str>, BTreeMap<Arc<str>, Machine>>,
    /// Names of machines that are gone and of which a disk is still there, on its way out.
    pub(crate) disks: BTreeSet<Arc<str>>,
    /// Configurations of shared networks, by `namespace/name`; None when there is no such network.
    pub(crate) shared: BTreeMap<Arc<str>, Option<Arc<str>>>,
    /// What the shoot's pools name, and what was found of it. Empty where nobody looked.
    pub(crate) relied: BTreeMap<Relied, Found>,
    /// Kinds of which nothing can be seen, and why: they may be left out of a Role.
    pub(crate) unseen: BTreeMap<Kind, Failure>,
    /// StorageClasses by name; empty when they may not be read.
    pub(crate) classes: BTreeMap<Arc<str>, StorageClass>,
    /// By zone of the provider; empty when nodes may not be read.
    pub(crate) hosts: BTreeMap<Arc<str>, Hosts>,
    pub(crate) bounds: Bounds,
    /// Objects with this shoot's labels, but of another record: of an earlier shoot of the same name, and on
    /// their way out.
    pub(crate) foreign: BTreeMap<Key, Object>,
    /// Seconds since 1970 by the server's clock, when the run began.
    pub(crate) time: i64,
    pub(crate) inside: Inside,
    /// Of the shoot, by name.
    pub(crate) nodes: BTreeMap<Arc<str>, Node>,
    pub(crate) guests: Guests,
}

impl Facts {
    /// Whether something is not there that is wanted: that it differs is another matter.
    pub(crate) fn lack(&self, wanted: &Wanted) -> bool {
        let side = wanted.key.side;
        let is_there = |object: &Value| key_of(side, object).is_none_or(|it| self.has(&it));
        match &wanted.content {
            Content::Objects(objects) => !objects.iter().all(is_there),
            Content::Bundle(bundle) => !is_there(&bundle.inventory),
            _ => !self.has(&wanted.key),
        }
    }

    fn has(&self, key: &Key) -> bool {
        let is_machine = |name: &str| self.machines.values().any(|it| it.contains_key(name));
        match key.kind {
            Kind::Record => self.record.is_some(),
            Kind::Machine => is_machine(&key.name),
            Kind::Node => self.nodes.contains_key(&key.name),
            _ => self.objects.contains_key(key),
        }
    }

    /// ClusterIP of the Service of a shoot's API server, if that is there.
    pub(crate) fn cluster_ip(&self, id: &str) -> Option<Arc<str>> {
        let name = names::control_plane(id, names::part::API_SERVER);
        match &self.objects.get(&Key::provider(Kind::Service, name))?.fact {
            Fact::Service(it) => it.cluster_ip.clone(),
            _ => None,
        }
    }
}

/// As it is called in facts; None of a kind that is not looked at.
fn key_of(side: Side, object: &Value) -> Option<Key> {
    let metadata = &object["metadata"];
    let name = metadata["name"].as_str()?;
    let name = match (side, metadata["namespace"].as_str()) {
        (Side::Shoot, Some(namespace)) => format!("{namespace}/{name}").into(),
        _ => name.into(),
    };
    let kind = Kind::generic(object["kind"].as_str()?)?;
    Some(Key { side, kind, name })
}

/// What users of the shoot have that is something in the provider as well; looked at only when the shoot goes.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Guests {
    /// Of both sides; claims and pods only as far as they hold a volume.
    pub(crate) things: BTreeMap<Key, Object>,
    /// When the last one of them went or began to, since the run began.
    pub(crate) moved: Duration,
}

/// Whether the shoot's own API server is looked at.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) enum Inside {
    /// Nothing is known to be there yet.
    #[default]
    Absent,
    /// It should answer and does not; says why.
    Unreachable(Arc<str>),
    /// What is in the facts of that side is whole.
    Observed,
}

/// A node of the shoot.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub(crate) uid: Arc<str>,
    pub(crate) version: Arc<str>,
    /// Ready, and known to the cloud controller manager.
    pub(crate) serves: bool,
    /// Why it does not serve.
    pub(crate) why: Arc<str>,
    /// Its provider ID says that it is a machine of kvshoot's.
    pub(crate) is_ours: bool,
    pub(crate) taints: Arc<[Value]>,
    /// The pool's labels, annotations and taints as they were put on it, as canonical JSON.
    pub(crate) metadata: Arc<str>,
}

/// The ConfigMap that stands for the shoot.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Record {
    /// The technical ID.
    pub(crate) name: Arc<str>,
    pub(crate) uid: Arc<str>,
    pub(crate) version: Arc<str>,
    /// Of the manifest, the profile and the sizes in it.
    pub(crate) hash: Hash,
    /// The size of each pool, as it was last decided.
    pub(crate) sizes: BTreeMap<Arc<str>, usize>,
    /// ClusterIP of the API server, as the last run that changed something saw it.
    pub(crate) cluster_ip: Option<Arc<str>>,
    /// When the shoot is to go, as its manifest said it last.
    pub(crate) expiry: Option<Arc<str>>,
    pub(crate) leaving: bool,
}

/// What the namespace lets all of its objects have together, and each of them; as it was when the run began.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Bounds {
    pub(crate) quotas: Vec<Quota>,
    pub(crate) limits: Vec<Limit>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Quota {
    pub(crate) name: String,
    pub(crate) hard: BTreeMap<String, Quantity>,
    pub(crate) used: BTreeMap<String, Quantity>,
}

/// One line of a LimitRange.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Limit {
    pub(crate) name: String,
    /// Container, Pod or PersistentVolumeClaim.
    pub(crate) of: String,
    pub(crate) most: BTreeMap<String, Quantity>,
}

/// The nodes of one zone of the provider; those of its control plane only when there is no other.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Hosts {
    /// The first by name, so that two runs choose the same.
    pub(crate) first: Arc<str>,
    pub(crate) count: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StorageClass {
    /// Its volumes belong to one zone: bound when first used, or of limited topology.
    pub(crate) zonal: bool,
    /// The provider marks it as one that clusters have too.
    pub(crate) offered: Option<ClassOffer>,
}

/// How a cluster has a class of the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClassOffer {
    pub(crate) is_default: bool,
    pub(crate) binding_mode: Arc<str>,
    pub(crate) reclaim_policy: Arc<str>,
    pub(crate) expandable: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Object {
    pub(crate) uid: Arc<str>,
    pub(crate) version: Arc<str>,
    pub(crate) hash: Hash,
    pub(crate) leaving: bool,
    pub(crate) fact: Fact,
}

/// What one kind tells beyond being there.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Fact {
    None,
    Image(Import),
    Secret(Secret),
    Service(Service),
    Rollout(Rollout),
    /// Claims that a pod mounts, or that a volume is bound to, by `namespace/name`.
    Holds(Arc<[Arc<str>]>),
    /// Of an APIService: None when it answers; else why it does not.
    Answer(Option<Arc<str>>),
}

/// How far a workload is.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Rollout {
    /// None when all of it is up to date and available; else what is missing.
    pub(crate) why: Option<Arc<str>>,
    /// Pods that serve.
    pub(crate) available: i64,
}

/// Keys and certificates.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Secret {
    /// Of all of its data.
    pub(crate) checksum: Hash,
    /// Its `tls.crt`, if that is one.
    pub(crate) certificate: Option<Certificate>,
    /// Its `ca.crt`.
    pub(crate) ca: Option<Arc<str>>,
}

#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Certificate {
    /// DNS names and addresses.
    pub(crate) names: BTreeSet<Arc<str>>,
    /// Of its own key.
    pub(crate) key: Hash,
    /// Of the key that signed it.
    pub(crate) issuer: Hash,
    /// Seconds since 1970.
    pub(crate) issued: i64,
    pub(crate) expires: i64,
}

#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Service {
    pub(crate) cluster_ip: Option<Arc<str>>,
    /// Address or host name of a load balancer.
    pub(crate) ingress: Option<Arc<str>>,
    /// By the name of the port.
    pub(crate) node_ports: BTreeMap<Arc<str>, u16>,
}

/// How far the import of a golden volume is.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Import {
    pub(crate) done: bool,
    /// Of the image, 0 to 100; None before it begins.
    pub(crate) percent: Option<f32>,
    /// Bytes in a second, by the volume's size: what passed between two looks.
    pub(crate) speed: Option<u64>,
    /// What it waits for, in the words of the importer or of the deepest object that blocks it.
    pub(crate) waits: Option<Arc<str>>,
    /// It will not succeed; in the importer's words.
    pub(crate) failed: Option<Arc<str>>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Machine {
    pub(crate) uid: Arc<str>,
    pub(crate) version: Arc<str>,
    pub(crate) hash: Hash,
    /// Index of its zone in the pool.
    pub(crate) zone: usize,
    pub(crate) ordinal: u32,
    /// Seconds since 1970 by the server's clock: only the order counts.
    pub(crate) born: u64,
    pub(crate) look: Look,
    /// Its VM runs; whether its node serves is another question.
    pub(crate) runs: bool,
    /// KubeVirt waits for somebody to take it off its host, which is being emptied.
    pub(crate) evacuating: bool,
    /// When this run first saw it look so.
    pub(crate) since: Duration,
    /// Name of the golden volume that it was cloned from.
    pub(crate) image: Option<Arc<str>>,
    /// Other networks than the pod network, as `namespace/name`.
    pub(crate) networks: Arc<[Arc<str>]>,
    /// Its instancetype and its preference, as far as they are of the namespace, as `kind name`.
    pub(crate) types: Arc<[Arc<str>]>,
    /// The pool's labels and annotations as they stand on it, as canonical JSON.
    pub(crate) metadata: Arc<str>,
    /// KubeVirt's word for its status: Running, Provisioning, ErrorUnschedulable…
    pub(crate) status: Arc<str>,
    /// The deepest fact that keeps it from running, once it was looked for.
    pub(crate) cause: Option<Arc<str>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// Not running yet; what it waits for stands elsewhere.
    Coming,
    Ready,
    /// Was ready once.
    NotReady,
    /// The hypervisor says it will not run.
    Broken,
    Draining,
    /// Nothing runs on it any more.
    Drained,
    Deleting,
}

impl Observed {
    pub(crate) fn pool(&self, name: &str) -> impl Iterator<Item = (&Arc<str>, &Machine)> {
        self.facts.machines.get(name).into_iter().flatten()
    }

    /// What this run knows about an action that is due.
    pub(crate) fn in_run(&self, action: Action) -> State {
        if self.sent.contains_key(action.key()) {
            return State::Waiting(self.sent_for(&action));
        }
        match self.refused.get(action.key()) {
            Some((refused, failure)) if refused.is_same(&action) => State::Failed(failure.clone()),
            _ => State::Due(action),
        }
    }

    /// Emptying a machine takes long, and says what is still on it.
    fn sent_for(&self, action: &Action) -> String {
        let key = action.key();
        let mut machines = self.facts.machines.values();
        let machine = machines.find_map(|it| it.get(&key.name));
        match (action, machine.and_then(|it| it.cause.as_deref())) {
            (Action::Drain(_), Some(cause)) => cause.to_owned(),
            _ => "no response yet".to_owned(),
        }
    }

    /// Time has a part in it only here: one that never served fails at its limit.
    pub(crate) fn phase(&self, machine: &Machine, limit: Duration) -> Phase {
        match machine.look {
            Look::Coming if self.now.saturating_sub(machine.since) >= limit => Phase::Failed,
            Look::Coming => Phase::Creating,
            Look::Ready => Phase::Ready,
            Look::NotReady => Phase::NotReady,
            Look::Broken => Phase::Failed,
            Look::Draining | Look::Drained => Phase::Draining,
            Look::Deleting => Phase::Deleting,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phase(since: u64, now: u64, limit: Duration) -> Phase {
        let observed = Observed {
            now: Duration::from_secs(now),
            ..Observed::default()
        };
        let machine = Machine {
            uid: "u".into(),
            version: "1".into(),
            hash: Hash::default(),
            zone: 0,
            ordinal: 0,
            born: 0,
            look: Look::Coming,
            runs: false,
            evacuating: false,
            since: Duration::from_secs(since),
            image: None,
            networks: [].into(),
            types: [].into(),
            metadata: "".into(),
            status: "".into(),
            cause: None,
        };
        observed.phase(&machine, limit)
    }

    #[test]
    fn who_never_served_fails_at_its_limit_and_not_before() {
        let limit = Duration::from_secs(60);
        assert_eq!(phase(5, 64, limit), Phase::Creating);
        assert_eq!(phase(5, 65, limit), Phase::Failed);
    }

    /// Machines of a pool that is gone from the manifest have none.
    #[test]
    fn a_limit_without_end_never_passes() {
        assert_eq!(phase(5, 1_000_000, Duration::MAX), Phase::Creating);
    }
}
