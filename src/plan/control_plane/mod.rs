//! The pods of the control plane in the provider namespace, and what they need.

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

/// Where agents of konnectivity call, inside and outside.
pub(super) const KONNECTIVITY_PORT: u16 = 8132;
/// Of etcd.
const CLIENT_PORT: u16 = 2379;
const PEER_PORT: u16 = 2380;

/// What the objects of a control plane are made of.
pub(super) struct Context<'a> {
    pub(super) shoot: &'a ValidShoot,
    pub(super) site: Site<'a>,
    pub(super) known: &'a Known,
    /// StorageClasses of the provider.
    pub(super) classes: &'a BTreeMap<Arc<str>, StorageClass>,
}

/// What has to be seen before pods can be written down.
pub(super) struct Known {
    /// ClusterIP of the API server's Service.
    pub(super) cluster_ip: Arc<str>,
    /// By which people reach the API server, where it is exposed.
    pub(super) external: Option<Address>,
    /// By which machines reach the API server.
    pub(super) node_address: Address,
    /// By which machines reach the konnectivity server; the host is that of `node_address`.
    pub(super) konnectivity_port: u16,
    /// PEM of the roots that are trusted.
    pub(super) ca: Arc<str>,
    /// Of the data of each Secret of keys and certificates, by the Secret's name: stands on the pods that mount it.
    pub(super) checksums: HashMap<Arc<str>, Hash>,
}
