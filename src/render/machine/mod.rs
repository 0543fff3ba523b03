//! Objects of a machine and its node: VirtualMachine, bootstrap token, and the metadata of its pool.

pub(crate) mod kubelet;
pub(crate) mod node;
mod placement;
pub(crate) mod spec;
pub(crate) mod token;
pub(crate) mod virtual_machine;
