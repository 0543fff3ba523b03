//! The record: the ConfigMap that represents a shoot and owns all its other objects.

pub(crate) mod backup;
mod desired;
pub(crate) mod etcd;
pub(crate) mod failed_console;
pub(crate) mod hibernation;
pub(crate) mod hibernation_schedule;
mod manifest;
pub(crate) mod manifest_secret;
pub(crate) mod rotation;
mod run;
mod sizes;

pub(crate) use desired::{sizes, wanted};
pub(crate) use manifest::{PROFILE, SHOOT, manifest_of, used_part, written};
pub(crate) use run::{HISTORY, LAST_OPERATION, LastError, Operation, RunRecord};
pub(crate) use sizes::{DeletedMachine, SizeRefusal, resized_zone, scaled, without_machine};

/// Keys of the ConfigMap.
pub(crate) const SIZES: &str = "sizes.json";
/// ClusterIP of the API server's Service, which is configured on every node.
pub(crate) const CLUSTER_IP: &str = "cluster-ip";
/// Expiry of the shoot, as in the manifest applied last.
pub(crate) const EXPIRY: &str = "expires";
/// The cluster of etcd, as [`etcd::EtcdRecord`].
pub(crate) const ETCD: &str = "etcd.json";
/// Rotations of roots and keys, as [`rotation::RotationRecord`].
pub(crate) const ROTATION: &str = "rotation.json";
