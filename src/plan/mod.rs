//! Proof and observation to items. Asks no cluster, clock or chance.

pub(crate) mod hash;
pub(crate) mod item;
pub(crate) mod names;
pub(crate) mod observed;
pub(crate) mod roll;
pub(crate) mod spread;
pub(crate) mod store;
