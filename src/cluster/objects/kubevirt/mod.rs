//! Objects of KubeVirt, CDI and Multus.

pub(crate) mod data_volume;
pub(crate) mod installation;
pub(crate) mod instancetype;
pub(crate) mod migration;
pub(crate) mod network;
pub(crate) mod virtual_machine;
pub(crate) mod virtual_machine_instance;
