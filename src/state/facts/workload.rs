//! Workloads and Services.

use super::etcd::{EtcdClientDeployment, EtcdStatefulSet};
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

#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct ObservedService {
    pub(crate) cluster_ip: Option<Arc<str>>,
    /// Address or host name of a load balancer.
    pub(crate) ingress: Option<Arc<str>>,
    /// By port name.
    pub(crate) node_ports: BTreeMap<Arc<str>, u16>,
}
