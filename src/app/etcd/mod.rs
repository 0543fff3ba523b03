//! Care for the etcd of a shoot.

pub(crate) mod defragment;
