//! Execution of actions: requests that change a provider cluster or a shoot.

pub(crate) mod adopt;
pub(crate) mod approve;
pub(crate) mod attachments;
pub(crate) mod certificates;
mod console;
mod disks;
pub(crate) mod drain;
pub(crate) mod etcd;
pub(crate) mod executor;
mod halt;
pub(crate) mod join;
pub(crate) mod manifests;
mod repair;
mod rotation;
mod storage_class;
