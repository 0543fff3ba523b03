//! Machines of the shoot.

use crate::state::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

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
