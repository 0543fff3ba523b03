//! The control plane's pods in the provider namespace, and the objects they need.

mod account;
mod api_server;
mod assemble;
mod authentication;
mod availability;
mod certificate;
mod cloud_controller;
mod controller_manager;
mod csi;
mod etcd;
mod flags;
mod konnectivity;
mod leaf;
mod network_policy;
mod pod;
mod scheduler;
mod service;
#[cfg(test)]
mod tests;
mod volume;

use super::Hash;
use super::Site;
use super::observed::StorageClass;
use crate::validate::ValidShoot;
use crate::validate::control_plane::Address;
pub(super) use assemble::{ControlPlane, add, known, site};
pub(super) use konnectivity::AUDIENCE;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Port of the konnectivity server for agents, both inside and outside the provider cluster.
pub(super) const KONNECTIVITY_PORT: u16 = 8132;
/// Client port of etcd.
const CLIENT_PORT: u16 = 2379;
const PEER_PORT: u16 = 2380;

/// Input for the objects of a control plane.
pub(super) struct Context<'a> {
    pub(super) shoot: &'a ValidShoot,
    pub(super) site: Site<'a>,
    pub(super) known: &'a Known,
    /// StorageClasses of the provider.
    pub(super) classes: &'a BTreeMap<Arc<str>, StorageClass>,
}

/// Values that must be observed before pods can be rendered.
pub(super) struct Known {
    /// ClusterIP of the API server's Service.
    pub(super) cluster_ip: Arc<str>,
    /// External address of the API server, if it is exposed.
    pub(super) external: Option<Address>,
    /// Address at which machines reach the API server.
    pub(super) node_address: Address,
    /// Port at which machines reach the konnectivity server, on the host of `node_address`.
    pub(super) konnectivity_port: u16,
    /// Trusted CA certificates, as PEM.
    pub(super) ca: Arc<str>,
    /// Checksum of each Secret with keys or certificates, by the Secret's name: an annotation of pods that mount it.
    pub(super) checksums: HashMap<Arc<str>, Hash>,
}
