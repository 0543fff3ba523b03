//! Keeping clusters.

pub(super) mod etcd;
pub(super) mod evacuate;
pub(super) mod gc;
pub(super) mod hibernate;
pub(super) mod keep;
pub(super) mod protect;
pub(super) mod repair;
pub(super) mod rotate;
pub(super) mod scale;
pub(super) mod ttl;
pub(super) mod upgrade;
