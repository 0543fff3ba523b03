//! Workloads and Services.

use std::collections::BTreeMap;
use std::sync::Arc;

/// How far a workload is.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Rollout {
    /// None when all of it is up to date and available; else what is missing.
    pub(crate) why: Option<Arc<str>>,
    /// Pods that serve.
    pub(crate) available: i64,
}

#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Service {
    pub(crate) cluster_ip: Option<Arc<str>>,
    /// Address or host name of a load balancer.
    pub(crate) ingress: Option<Arc<str>>,
    /// By the name of the port.
    pub(crate) node_ports: BTreeMap<Arc<str>, u16>,
}
