//! Observed facts: what the provider cluster and the shoot hold, as far as plans depend on it.

pub(crate) mod certificate_judgment;
mod etcd;
mod health;
mod machine;
mod node;
mod object;
mod provider;
mod record;
mod secret;
mod shoot;
mod signing_request;
mod volume;
mod workload;

pub(crate) use etcd::{
    EtcdClaim, EtcdClientDeployment, EtcdExit, EtcdMember, EtcdMembership, EtcdPod, EtcdStart,
    EtcdStatefulSet, EtcdStatus, ObservedEtcd,
};
pub(crate) use health::{
    ConditionStatus, LeaseLook, LeaseWatch, MachineInstance, MachineRestart, NodeCondition,
    NodeConditions, ObservedHealth, RecoveredFault,
};
pub(crate) use machine::{Evacuation, MachinePhase, MachineSleep, ObservedMachine, Placement};
pub(crate) use node::{NodeInfo, ObservedNode};
pub(crate) use object::{ObjectStatus, ObservedObject};
pub(crate) use provider::{
    Limit, NamespaceLimits, OfferedStorageClass, Quota, StorageClass, ZoneHosts, amounts,
};
pub(crate) use record::ObservedRecord;
pub(crate) use secret::{ObservedCertificate, ObservedSecret};
pub(crate) use shoot::{ShootApi, UserResources};
pub(crate) use signing_request::{
    KubeletRequest, KubeletSigner, ObservedSigningRequest, RequestedCertificate, SigningDecision,
};
pub(crate) use volume::{GoldenVolume, ImageImport};
pub(crate) use workload::{ControlPlanePods, EtcdRole, ObservedService, Rollout};

use super::names;
use crate::state::action::{Desired, Payload};
use crate::state::failure::Failure;
use crate::state::key::{ClusterSide, ObjectKey, ObjectKind};
use crate::state::prerequisite::{Lookup, Prerequisite};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// Facts of one shoot in the provider cluster, derived from an object when it arrives.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Facts {
    /// Namespace of the shoot's objects.
    pub(crate) namespace: Arc<str>,
    pub(crate) record: Option<ObservedRecord>,
    /// All objects with kvshoot's labels except the record and the machines.
    pub(crate) objects: HashMap<ObjectKey, ObservedObject>,
    /// By pool, then by name.
    pub(crate) machines: BTreeMap<Arc<str>, BTreeMap<Arc<str>, ObservedMachine>>,
    /// Names of deleted machines with a disk that is still terminating.
    pub(crate) remaining_disks: BTreeSet<Arc<str>>,
    /// Configurations of shared networks, by `namespace/name`. None if the network does not exist.
    pub(crate) shared_networks: BTreeMap<Arc<str>, Option<Arc<str>>>,
    /// Lookup results of the pools' prerequisites. Empty if nothing was looked up.
    pub(crate) prerequisites: BTreeMap<Prerequisite, Lookup>,
    /// Kinds that cannot be listed, with the reason: a Role may omit them.
    pub(crate) unreadable: BTreeMap<ObjectKind, Failure>,
    /// StorageClasses by name. Empty if they cannot be read.
    pub(crate) storage_classes: BTreeMap<Arc<str>, StorageClass>,
    /// By zone of the provider. Empty if nodes cannot be read.
    pub(crate) hosts: BTreeMap<Arc<str>, ZoneHosts>,
    pub(crate) namespace_limits: NamespaceLimits,
    /// The CSI driver may read the provider's PersistentVolumes, without which it cannot expand a volume.
    pub(crate) expands_volumes: bool,
    /// Objects with this shoot's labels but another record's UID: left from an earlier shoot of the same name.
    pub(crate) foreign: BTreeMap<ObjectKey, ObservedObject>,
    /// Start of the run by the server's clock, in seconds since 1970.
    pub(crate) time: i64,
    pub(crate) shoot_api: ShootApi,
    /// Nodes of the shoot, by name.
    pub(crate) nodes: BTreeMap<Arc<str>, ObservedNode>,
    /// Requests of kubelets for certificates, by name, except those that were refused.
    pub(crate) signing_requests: BTreeMap<Arc<str>, ObservedSigningRequest>,
    pub(crate) user_resources: UserResources,
    /// None while no node is suspected.
    pub(crate) health: Option<Arc<ObservedHealth>>,
    /// Hosts that were cordoned while a machine had to leave one, and are schedulable again.
    pub(crate) uncordoned_hosts: BTreeSet<Arc<str>>,
    /// None before it was observed; never observed during deletion.
    pub(crate) etcd: Option<Arc<ObservedEtcd>>,
    /// Listed only while the control plane is being stopped.
    pub(crate) control_plane_pods: Option<Arc<ControlPlanePods>>,
}

impl Facts {
    /// Returns true if an object with this UID exists and is not being deleted.
    pub(crate) fn has_object(&self, uid: &str) -> bool {
        let mut machines = self.machines.values().flat_map(BTreeMap::values);
        let mut objects = self.objects.values();
        objects.any(|it| &*it.uid == uid && !it.leaving)
            || machines.any(|it| &*it.uid == uid && it.phase != MachinePhase::Deleting)
    }

    /// Returns true if a desired object does not exist. Differences in content do not count.
    pub(crate) fn is_missing(&self, wanted: &Desired) -> bool {
        let side = wanted.key.side;
        let is_there = |object: &Value| key_of(side, object).is_none_or(|it| self.has(&it));
        match &wanted.payload {
            Payload::Objects(objects) => !objects.iter().all(is_there),
            Payload::Manifests(bundle) => !is_there(&bundle.inventory),
            _ => !self.has(&wanted.key),
        }
    }

    /// Machines by pool, zone and name.
    pub(crate) fn machines(&self) -> Vec<(&Arc<str>, &Arc<str>, &ObservedMachine)> {
        let pools = self.machines.iter();
        let machines = pools.flat_map(|(pool, machines)| {
            machines
                .iter()
                .map(move |(name, machine)| (pool, name, machine))
        });
        let mut machines: Vec<_> = machines.collect();
        machines.sort_by_key(|it| (it.0, it.2.zone, it.1));
        machines
    }

    pub(crate) fn machine(&self, name: &str) -> Option<&ObservedMachine> {
        self.machines.values().find_map(|it| it.get(name))
    }

    /// Golden volumes of the shoot by name.
    pub(crate) fn images(&self) -> Vec<(&Arc<str>, &ImageImport)> {
        images(&self.objects)
    }

    /// True if a machine is a ready node of the shoot: its VM runs, and its node is ready and initialized. While nodes
    /// are not observed, a VM that runs is enough.
    pub(crate) fn is_ready(&self, machine: &str, runs: bool) -> bool {
        runs && self.node_problem(machine).is_none()
    }

    /// Why a machine has no ready node; None if it has, and while nodes are not observed.
    pub(crate) fn node_problem(&self, machine: &str) -> Option<Arc<str>> {
        if self.shoot_api != ShootApi::Reachable {
            return None;
        }
        match self.nodes.get(machine) {
            None => Some("VM running, waiting for node to register".into()),
            Some(node) => (!node.serves).then(|| node.why.clone()),
        }
    }

    fn has(&self, key: &ObjectKey) -> bool {
        match key.kind {
            ObjectKind::Record => self.record.is_some(),
            ObjectKind::Machine => self.machine(&key.name).is_some(),
            ObjectKind::Node => self.nodes.contains_key(&key.name),
            _ => self.objects.contains_key(key),
        }
    }

    /// The StatefulSet of etcd, if it exists.
    pub(crate) fn etcd_server(&self) -> Option<&EtcdStatefulSet> {
        self.rollouts().find_map(|it| match &it.etcd {
            Some(EtcdRole::Server(set)) => Some(set),
            _ => None,
        })
    }

    /// The Deployment that uses etcd, if it exists.
    pub(crate) fn etcd_client(&self) -> Option<&EtcdClientDeployment> {
        self.rollouts().find_map(|it| match &it.etcd {
            Some(EtcdRole::Client(client)) => Some(client),
            _ => None,
        })
    }

    /// Number of pods of a stopped workload of the control plane that are left; None if they were not listed since its
    /// last change.
    pub(crate) fn remaining_pods(&self, workload: &ObjectKey) -> Option<usize> {
        let pods = self.control_plane_pods.as_ref()?;
        let known = pods.workloads.get(workload)?;
        let is_current = *known == self.objects.get(workload)?.version;
        is_current.then(|| pods.counts.get(&workload.name).copied().unwrap_or_default())
    }

    /// Workloads of the control plane.
    pub(crate) fn workloads(
        &self,
    ) -> impl Iterator<Item = (&ObjectKey, &ObservedObject, &Rollout)> {
        let provider = self
            .objects
            .iter()
            .filter(|it| it.0.side == ClusterSide::Provider);
        provider.filter_map(|(key, object)| match &object.status {
            ObjectStatus::Rollout(rollout) => Some((key, object, rollout)),
            _ => None,
        })
    }

    fn rollouts(&self) -> impl Iterator<Item = &Rollout> {
        self.workloads().map(|it| it.2)
    }

    /// ClusterIP of the Service of a shoot's API server, if it exists.
    pub(crate) fn cluster_ip(&self, id: &str) -> Option<Arc<str>> {
        let name = names::control_plane(id, names::part::API_SERVER);
        match &self
            .objects
            .get(&ObjectKey::provider(ObjectKind::Service, name))?
            .status
        {
            ObjectStatus::Service(it) => it.cluster_ip.clone(),
            _ => None,
        }
    }
}

/// Golden volumes among objects, by name.
pub(crate) fn images<'a>(
    objects: impl IntoIterator<Item = (&'a ObjectKey, &'a ObservedObject)>,
) -> Vec<(&'a Arc<str>, &'a ImageImport)> {
    let images = objects
        .into_iter()
        .filter_map(|(key, object)| match &object.status {
            ObjectStatus::Image(import) => Some((&key.name, import)),
            _ => None,
        });
    let mut images: Vec<_> = images.collect();
    images.sort_by_key(|it| it.0);
    images
}

/// Key of an object in facts. None if its kind is not observed.
fn key_of(side: ClusterSide, object: &Value) -> Option<ObjectKey> {
    let metadata = &object["metadata"];
    let name = metadata["name"].as_str()?;
    let name = match (side, metadata["namespace"].as_str()) {
        (ClusterSide::Shoot, Some(namespace)) => format!("{namespace}/{name}").into(),
        _ => name.into(),
    };
    let kind = ObjectKind::generic(object["kind"].as_str()?)?;
    Some(ObjectKey { side, kind, name })
}
