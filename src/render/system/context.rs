//! What the objects inside a shoot are made of.

use crate::render::control_plane::context::Known;
use crate::state::facts::StorageClass;
use crate::state::site::Site;
use crate::validate::ValidShoot;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the objects inside a shoot are made of.
pub(crate) struct Context<'a> {
    pub(crate) shoot: &'a ValidShoot,
    pub(crate) site: Site<'a>,
    pub(crate) known: &'a Known,
    /// StorageClasses of the provider.
    pub(crate) classes: &'a BTreeMap<Arc<str>, StorageClass>,
}

/// Of the tunnels between nodes. Not the usual 8472 or 4789: machines stand in a network that may have tunnels itself,
/// and kernels take such packets for their own.
pub(crate) const TUNNEL_PORT: u16 = 8475;
