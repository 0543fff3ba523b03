//! Execution of actions: requests that change a provider cluster or a shoot.

pub(crate) mod adopt;
pub(crate) mod approve;
pub(crate) mod attachments;
pub(crate) mod certificates;
mod console;
pub(crate) mod etcd;
pub(crate) mod executor;
pub(crate) mod join;
mod machine;
pub(crate) mod manifests;
mod rotation;
mod storage_class;
