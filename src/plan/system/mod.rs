//! What runs inside the shoot and makes it a working cluster.

mod assemble;

use super::Site;
use super::control_plane::Known;
use crate::validate::ValidShoot;
pub(super) use assemble::add;

/// What the objects inside a shoot are made of.
pub(super) struct Context<'a> {
    pub(super) shoot: &'a ValidShoot,
    pub(super) site: Site<'a>,
    pub(super) known: &'a Known,
}
