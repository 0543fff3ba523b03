//! What the objects of a control plane are made of.

use crate::state::facts::StorageClass;
use crate::state::hash::Hash;
use crate::state::site::Site;
use crate::validate::ValidShoot;
use crate::validate::control_plane::Address;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Where agents of konnectivity call, inside and outside.
pub(crate) const KONNECTIVITY_PORT: u16 = 8132;
/// Of etcd.
pub(crate) const CLIENT_PORT: u16 = 2379;
pub(crate) const PEER_PORT: u16 = 2380;

/// What the objects of a control plane are made of.
pub(crate) struct Context<'a> {
    pub(crate) shoot: &'a ValidShoot,
    pub(crate) site: Site<'a>,
    pub(crate) known: &'a Known,
    /// StorageClasses of the provider.
    pub(crate) classes: &'a BTreeMap<Arc<str>, StorageClass>,
}

/// What has to be seen before pods can be written down.
pub(crate) struct Known {
    /// ClusterIP of the API server's Service.
    pub(crate) cluster_ip: Arc<str>,
    /// By which people reach the API server, where it is exposed.
    pub(crate) external: Option<Address>,
    /// By which machines reach the API server.
    pub(crate) node_address: Address,
    /// By which machines reach the konnectivity server; the host is that of `node_address`.
    pub(crate) konnectivity_port: u16,
    /// PEM of the roots that are trusted.
    pub(crate) ca: Arc<str>,
    /// Of the data of each Secret of keys and certificates, by the Secret's name: stands on the pods that mount it.
    pub(crate) checksums: HashMap<Arc<str>, Hash>,
}
