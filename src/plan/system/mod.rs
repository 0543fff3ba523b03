//! What runs inside the shoot and makes it a working cluster.

use super::Site;
use super::control_plane::Known;
use crate::model::Cidr;
use crate::validate::ValidShoot;

/// What the objects inside a shoot are made of.
pub(super) struct Context<'a> {
    pub(super) shoot: &'a ValidShoot,
    pub(super) site: Site<'a>,
    pub(super) known: &'a Known,
}

/// An address of a range of a valid shoot, by its number from the first.
pub(super) fn address(range: &str, number: u32) -> String {
    let range = Cidr::parse(range).expect("validation has read it once");
    range.address(number).to_string()
}
