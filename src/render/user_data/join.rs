//! Values that a machine needs to join.

use crate::state::record::rotation::KeyGeneration;
use crate::validate::control_plane::Address;
use crate::validate::{PoolSpec, ValidShoot};

/// Input for a machine's user data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JoinConfig<'a> {
    pub(crate) machine: &'a str,
    /// Namespace of the machine in the provider cluster.
    pub(crate) namespace: &'a str,
    pub(crate) pool: &'a PoolSpec,
    pub(crate) shoot: &'a ValidShoot,
    /// Address at which machines reach the API server.
    pub(crate) node_address: &'a Address,
    /// CA certificates that machines trust, as PEM.
    pub(crate) ca: &'a str,
    /// Which ones they are.
    pub(crate) roots: KeyGeneration,
}
