//! Proof and observation to items. Asks no cluster, clock or chance.

#[cfg(test)]
mod check;
pub(crate) mod hash;
pub(crate) mod item;
pub(crate) mod observed;
pub(crate) mod roll;
pub(crate) mod spread;
pub(crate) mod store;
