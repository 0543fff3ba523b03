//! Inputs of the objects of a control plane.

use crate::state::facts::{NamespaceLimits, StorageClass};
use crate::state::hash::Hash;
use crate::state::site::Site;
use crate::validate::ValidShoot;
use crate::validate::control_plane::Address;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Port of the konnectivity server for agents, both inside and outside the provider cluster.
pub(crate) const KONNECTIVITY_PORT: u16 = 8132;
/// Client port of etcd.
pub(crate) const CLIENT_PORT: u16 = 2379;
pub(crate) const PEER_PORT: u16 = 2380;

/// Input for the objects of a control plane.
pub(crate) struct ControlPlaneContext<'a> {
    pub(crate) shoot: &'a ValidShoot,
    pub(crate) site: Site<'a>,
    pub(crate) known: &'a ControlPlaneFacts,
    /// StorageClasses of the provider.
    pub(crate) classes: &'a BTreeMap<Arc<str>, StorageClass>,
    /// Rules of the namespace for its pods.
    pub(crate) rules: &'a NamespaceLimits,
}

/// Values that must be observed before pods can be rendered.
pub(crate) struct ControlPlaneFacts {
    /// ClusterIP of the API server's Service.
    pub(crate) cluster_ip: Arc<str>,
    /// External address of the API server, if it is exposed.
    pub(crate) external: Option<Address>,
    /// Address at which machines reach the API server.
    pub(crate) node_address: Address,
    /// Port at which machines reach the konnectivity server, on the host of `node_address`.
    pub(crate) konnectivity_port: u16,
    /// Trusted CA certificates, as PEM.
    pub(crate) ca: Arc<str>,
    /// Checksum of each Secret with keys or certificates, by the Secret's name: an annotation of pods that mount it.
    pub(crate) checksums: HashMap<Arc<str>, Hash>,
}
