//! The result of validation: a Shoot with all defaults and values resolved from its profile.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::image_source::ImageSource;
use super::network_policy::NetworkPolicies;
use super::shoot::control_plane::ControlPlaneSpec;
use crate::model::{Amount, CloudProfile, Kubelet, Quantity, Shoot, Taint, WorkerConfig};

/// A valid Shoot with all defaults and values resolved from its profile.
#[derive(Debug, Clone)]
pub(crate) struct ValidShoot {
    pub(crate) name: String,
    /// `metadata.namespace` without the prefix `garden-`; `local` when absent.
    pub(crate) project: String,
    /// The technical ID, `shoot--<project>--<name>`; every object's name starts with it.
    pub(crate) id: String,
    pub(crate) region: String,
    /// Full version, such as 1.34.2.
    pub(crate) kubernetes: String,
    pub(crate) networking: NetworkRanges,
    pub(crate) control_plane: ControlPlaneSpec,
    /// Tenant networks in the order of the manifest, followed by shared ones.
    pub(crate) networks: Vec<Network>,
    pub(crate) network_policies: NetworkPolicies,
    /// Preallocated disks that pools can clone.
    pub(crate) disks: Vec<PreAllocatedVolume>,
    pub(crate) pools: Vec<PoolSpec>,
    /// Third-party manifests that are applied in the shoot; added after validation.
    pub(crate) manifest_sets: Vec<ManifestSet>,
    /// The Shoot for the record, with the chosen versions, which are kept until the manifest changes them.
    pub(crate) manifest: Arc<Shoot>,
    /// With what pools use of the profile of the last apply, if that is gone.
    pub(crate) profile: CloudProfile,
    /// Only this module can construct the type.
    pub(super) _proof: (),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NetworkRanges {
    pub(crate) type_: String,
    pub(crate) nodes: String,
    pub(crate) pods: String,
    pub(crate) services: String,
    /// Prefix length of the pod range of each node.
    pub(crate) node_mask: u8,
}

/// Third-party objects: the pod network, or an add-on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ManifestSet {
    pub(crate) name: String,
    pub(crate) objects: Vec<serde_json::Value>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Network {
    /// Created for this shoot; `config` is the unchanged CNI configuration.
    Tenant {
        name: String,
        config: String,
        default: bool,
    },
    /// Exists already, by default in the namespace of the shoot's objects.
    Shared {
        name: String,
        namespace: Option<String>,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PoolSpec {
    pub(crate) name: String,
    /// Full version of the kubelets, such as 1.33.5; that of the control plane or older.
    pub(crate) kubernetes: String,
    pub(crate) zones: Vec<String>,
    pub(crate) minimum: usize,
    pub(crate) maximum: usize,
    /// maxSurge, of the pool's desired size.
    pub(crate) surge: Amount,
    /// maxUnavailable, of the pool's desired size.
    pub(crate) unavailable: Amount,
    /// Another machine type, or larger disks, restart machines instead of replacing them, and machines take new CAs while
    /// they run.
    pub(crate) is_updated_in_place: bool,
    pub(crate) machine_type: MachineSize,
    pub(crate) image: PoolImage,
    pub(crate) root: VolumeSpec,
    pub(crate) data: Vec<DataVolumeSpec>,
    /// Name of the data volume that the kubelet keeps its data on; on the root disk when absent.
    pub(crate) kubelet_volume: Option<String>,
    pub(crate) worker: WorkerConfig,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) annotations: BTreeMap<String, String>,
    pub(crate) taints: Vec<Taint>,
    pub(crate) cri: Option<String>,
    /// CPU architecture, if the manifests name one.
    pub(crate) architecture: Option<String>,
    /// Certificates that the machines trust, of the CloudProfile and of the pool, as PEM.
    pub(crate) ca_bundle: Option<String>,
    /// Settings of the pool, or else those of the shoot.
    pub(crate) kubelet: Option<Kubelet>,
    /// True if system components can run on the pool; true when absent.
    pub(crate) system_components: bool,
    /// Maximum time from creating a machine until its node is ready; 20 minutes when absent.
    pub(crate) creation_timeout: Duration,
    /// Maximum time for draining a node before its machine is deleted; 2 hours when absent.
    pub(crate) drain_timeout: Duration,
    /// When a machine is repaired.
    pub(crate) health: PoolHealth,
}

/// When a node that is not healthy is repaired.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PoolHealth {
    /// 10 minutes when absent.
    pub(crate) timeout: Duration,
    /// Types of conditions that are faults unless they are False.
    pub(crate) conditions: Vec<String>,
    /// Nothing is repaired.
    pub(crate) is_disabled: bool,
}

/// Serial number of the disk of the kubelet, unless the manifest gives it one.
const KUBELET_SERIAL: &str = "kubelet-data";

impl PoolSpec {
    /// True if the manifest leaves its size open.
    pub(crate) fn is_scalable(&self) -> bool {
        self.minimum < self.maximum
    }

    /// Serial number by which a machine finds the disk that the kubelet keeps its data on.
    pub(crate) fn kubelet_serial(&self) -> Option<&str> {
        let name = self.kubelet_volume.as_deref()?;
        let disks = self.worker.devices.iter().flat_map(|it| &it.disks);
        let mut disks = disks.filter(|it| it.name == name);
        let own = disks.next().and_then(|it| it.serial.as_deref());
        Some(own.unwrap_or(KUBELET_SERIAL))
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MachineSize {
    pub(crate) name: String,
    pub(crate) cpu: Quantity,
    pub(crate) memory: Quantity,
    pub(crate) cpu_limit: Option<Quantity>,
    pub(crate) memory_limit: Option<Quantity>,
}

impl MachineSize {
    /// CPU and memory, in words.
    pub(crate) fn in_words(&self) -> String {
        format!("{} CPU and {}", self.cpu, self.memory)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PoolImage {
    pub(crate) name: String,
    /// Empty for an image that the pool itself specifies.
    pub(crate) version: String,
    pub(crate) source: ImageSource,
}

/// A disk that is imported once and cloned by many machines.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PreAllocatedVolume {
    pub(crate) name: String,
    pub(crate) source: ImageSource,
    pub(crate) volume: VolumeSpec,
    pub(crate) annotations: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct VolumeSpec {
    /// Name of the volume type in the CloudProfile; may be empty if the pool sets size and class.
    pub(crate) type_: String,
    /// Name of the StorageClass in the provider cluster.
    pub(crate) class: String,
    pub(crate) size: Quantity,
    pub(crate) api: VolumeApi,
}

/// API of CDI that requests a volume.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum VolumeApi {
    /// `pvc`: a complete PersistentVolumeClaim spec.
    Pvc { access: String },
    /// `storage`: CDI takes missing values from the StorageProfile of the class.
    Storage { access: Option<String> },
}

impl Default for VolumeApi {
    fn default() -> Self {
        VolumeApi::Pvc {
            access: "ReadWriteOnce".to_owned(),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DataVolumeSpec {
    pub(crate) name: String,
    pub(crate) volume: VolumeSpec,
}
