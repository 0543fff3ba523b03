//! The result of the rules: a Shoot with all defaults and all choices made.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::image_source::ImageSource;
use super::network_policy::NetworkPolicies;
use super::shoot::control_plane::ControlPlaneSpec;
use crate::model::{Amount, CloudProfile, Kubelet, Quantity, Shoot, Taint, WorkerConfig};

/// A Shoot that keeps every rule, with all defaults and all answers of its profile.
#[derive(Debug, Clone)]
pub(crate) struct ValidShoot {
    pub(crate) name: String,
    /// `metadata.namespace` without a leading `garden-`; `local` when absent.
    pub(crate) project: String,
    /// The technical ID, `shoot--<project>--<name>`; every object's name starts with it.
    pub(crate) id: String,
    pub(crate) region: String,
    /// The whole version, such as 1.34.2.
    pub(crate) kubernetes: String,
    pub(crate) networking: NetworkRanges,
    pub(crate) control_plane: ControlPlaneSpec,
    /// Tenant networks in the order of the manifest, then shared ones.
    pub(crate) networks: Vec<Network>,
    pub(crate) network_policies: NetworkPolicies,
    /// Disks that pools may clone.
    pub(crate) disks: Vec<PreAllocatedVolume>,
    pub(crate) pools: Vec<PoolSpec>,
    /// What is applied inside beside our own; read after the Shoot was judged.
    pub(crate) bundles: Vec<ManifestSet>,
    /// What was read, for the record, with the choices that were made: versions stay until they are asked to change.
    pub(crate) manifest: Arc<Shoot>,
    pub(crate) profile: CloudProfile,
    /// Only this room can make one.
    pub(super) _proof: (),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NetworkRanges {
    pub(crate) type_: String,
    pub(crate) nodes: String,
    pub(crate) pods: String,
    pub(crate) services: String,
    /// Prefix of the range that each node has for its pods.
    pub(crate) node_mask: u8,
}

/// Objects of somebody else's program: the network of the pods, or an add-on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ManifestSet {
    pub(crate) name: String,
    pub(crate) objects: Vec<serde_json::Value>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Network {
    /// Made for this shoot; `config` is CNI configuration, verbatim.
    Tenant {
        name: String,
        config: String,
        default: bool,
    },
    /// Exists already; without a namespace it is that of the shoot's objects.
    Shared {
        name: String,
        namespace: Option<String>,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PoolSpec {
    pub(crate) name: String,
    pub(crate) zones: Vec<String>,
    pub(crate) minimum: usize,
    pub(crate) maximum: usize,
    /// Of the pool's desired count; 1 when absent.
    pub(crate) surge: Amount,
    /// Of the pool's desired count; 0 when absent.
    pub(crate) unavailable: Amount,
    pub(crate) machine_type: MachineSize,
    pub(crate) image: PoolImage,
    pub(crate) root: VolumeSpec,
    pub(crate) data: Vec<DataVolumeSpec>,
    pub(crate) worker: WorkerConfig,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) annotations: BTreeMap<String, String>,
    pub(crate) taints: Vec<Taint>,
    pub(crate) cri: Option<String>,
    pub(crate) ca_bundle: Option<String>,
    /// The pool's own settings over those of the shoot.
    pub(crate) kubelet: Option<Kubelet>,
    /// Whether system components may run here; true when absent.
    pub(crate) system_components: bool,
    /// How long a machine may take from being made to being ready; 20 minutes when absent.
    pub(crate) creation_timeout: Duration,
    /// How long draining may take before a machine goes all the same; 2 hours when absent.
    pub(crate) drain_timeout: Duration,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MachineSize {
    pub(crate) name: String,
    pub(crate) cpu: Quantity,
    pub(crate) memory: Quantity,
    pub(crate) cpu_limit: Option<Quantity>,
    pub(crate) memory_limit: Option<Quantity>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PoolImage {
    pub(crate) name: String,
    /// Empty for one that the pool itself names.
    pub(crate) version: String,
    pub(crate) source: ImageSource,
}

/// A disk that is filled once and cloned by many machines.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PreAllocatedVolume {
    pub(crate) name: String,
    pub(crate) source: ImageSource,
    pub(crate) volume: VolumeSpec,
    pub(crate) annotations: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct VolumeSpec {
    /// Name of the volume type in the profile.
    pub(crate) type_: String,
    /// Name of the StorageClass in the provider cluster.
    pub(crate) class: String,
    pub(crate) size: Quantity,
    pub(crate) claiming: Claiming,
}

/// How CDI is asked for a volume.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Claiming {
    /// By a whole claim.
    Verbatim { access: String },
    /// By what is known; CDI takes the rest from the StorageProfile of the class.
    Completed { access: Option<String> },
}

impl Default for Claiming {
    fn default() -> Self {
        Claiming::Verbatim {
            access: "ReadWriteOnce".to_owned(),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DataVolumeSpec {
    pub(crate) name: String,
    pub(crate) volume: VolumeSpec,
}
