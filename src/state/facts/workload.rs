//! Workloads and Services.

use super::etcd::{EtcdClientDeployment, EtcdStatefulSet};
use crate::state::key::ObjectKey;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A workload that is etcd, or uses it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum EtcdRole {
    Server(EtcdStatefulSet),
    Client(EtcdClientDeployment),
}

/// Rollout status of a workload.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Rollout {
    /// None if all pods are up to date and available, otherwise what is missing.
    pub(crate) why: Option<Arc<str>>,
    /// Number of available pods.
    pub(crate) available: i64,
    /// Its relation to etcd, if it has one.
    pub(crate) etcd: Option<EtcdRole>,
}

impl Rollout {
    /// Returns true if no pods are wanted, and its controller has taken note of it. They may still be terminating.
    pub(crate) fn is_stopped(&self) -> bool {
        self.why.is_none() && self.available == 0
    }
}

/// Pods of the control plane, as they were listed once.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct ControlPlanePods {
    /// Versions of the workloads that were known before the pods were listed.
    pub(crate) workloads: BTreeMap<ObjectKey, Arc<str>>,
    /// Numbers of pods by the names of their workloads. Terminating ones count, those that have ended do not.
    pub(crate) counts: BTreeMap<Arc<str>, usize>,
}

#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct ObservedService {
    pub(crate) cluster_ip: Option<Arc<str>>,
    /// Address or host name of a load balancer.
    pub(crate) ingress: Option<Arc<str>>,
    /// By port name.
    pub(crate) node_ports: BTreeMap<Arc<str>, u16>,
}
