//! Members of etcd: which one joins, leaves or restarts next.
//!
//! A member starts as new only before the record knows the cluster. From then on the template is sealed: a member whose
//! volume has no data ends instead of founding a second cluster, or voting without what it had confirmed. Only while a
//! learner joins, the template is open for that ordinal.

#[cfg(test)]
pub(super) mod check;
mod decision;
mod defragmentation;
mod losses;
mod restore;
mod rolls;
mod step;
mod volumes;

pub(crate) use decision::decide;
pub(crate) use defragmentation::{DefragmentationScope, defragmentation};
pub(crate) use step::{EtcdDecision, EtcdStep, MAX_AGE, NOT_OBSERVED};
pub(crate) use volumes::{expand, sizes};
