//! What a machine needs to know to join.

use crate::validate::control_plane::Address;
use crate::validate::{Pool, ValidShoot};

/// All that a machine needs to know to join.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Join<'a> {
    pub(crate) machine: &'a str,
    pub(crate) pool: &'a Pool,
    pub(crate) shoot: &'a ValidShoot,
    /// By which machines reach the API server.
    pub(crate) node_address: &'a Address,
    /// PEM of the roots that machines trust.
    pub(crate) ca: &'a str,
}
