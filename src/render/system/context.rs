//! Inputs of the objects inside a shoot.

use crate::render::control_plane::context::ControlPlaneFacts;
use crate::state::facts::StorageClass;
use crate::state::record::rotation::KeyGeneration;
use crate::state::site::Site;
use crate::validate::ValidShoot;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Input for the objects inside a shoot.
pub(crate) struct SystemContext<'a> {
    pub(crate) shoot: &'a ValidShoot,
    pub(crate) site: Site<'a>,
    pub(crate) known: &'a ControlPlaneFacts,
    /// StorageClasses of the provider.
    pub(crate) classes: &'a BTreeMap<Arc<str>, StorageClass>,
    /// The CSI driver can expand volumes.
    pub(crate) expands_volumes: bool,
    /// Number of the service account key that tokens of pods are signed with; None before the first rotation.
    pub(crate) token_generation: Option<u32>,
    /// The CAs that machines are to trust.
    pub(crate) roots: KeyGeneration,
}

/// Port of the tunnels between nodes. Not 8472 or 4789: the network of the machines may use tunnels itself, and kernels
/// would take such packets for their own.
pub(crate) const TUNNEL_PORT: u16 = 8475;
