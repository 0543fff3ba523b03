//! The provider cluster and the sandbox.

pub(super) mod doctor;
pub(super) mod sandbox;
