//! Model to proof: every rule that a Shoot must keep by itself and against its CloudProfile.
//!
//! [`validate`] tells every broken rule at once, or gives a [`ValidShoot`], in which all that the profile
//! answers (sizes, images, classes) stands filled in. Nothing else makes one, and planning takes nothing else.

use crate::model::{Amount, CloudProfile, Finding, Kubelet, Quantity, Shoot, Taint, WorkerConfig};
use std::collections::BTreeMap;
use std::time::Duration;

/// What is judged together.
pub(crate) struct Input<'a> {
    pub(crate) shoot: &'a Shoot,
    pub(crate) profile: &'a CloudProfile,
    /// The Shoot as it was applied last; what is unchanged since is not judged again.
    pub(crate) before: Option<&'a Shoot>,
    /// The day of the judgement, for expiration dates.
    pub(crate) now: jiff::Timestamp,
}

#[derive(Debug)]
pub(crate) struct Verdict {
    /// There is one exactly when there are no errors.
    pub(crate) shoot: Option<ValidShoot>,
    pub(crate) errors: Vec<Finding>,
    pub(crate) warnings: Vec<Finding>,
}

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
    pub(crate) networking: Networking,
    /// Tenant networks in the order of the manifest, then shared ones.
    pub(crate) networks: Vec<Network>,
    pub(crate) pools: Vec<Pool>,
    /// What was read, for the record.
    pub(crate) manifest: Shoot,
    pub(crate) profile: CloudProfile,
    /// Only this module can make one.
    _proof: (),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Networking {
    pub(crate) type_: String,
    pub(crate) nodes: String,
    pub(crate) pods: String,
    pub(crate) services: String,
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
pub(crate) struct Pool {
    pub(crate) name: String,
    pub(crate) zones: Vec<String>,
    pub(crate) minimum: usize,
    pub(crate) maximum: usize,
    /// Of the pool's desired count; 1 when absent.
    pub(crate) surge: Amount,
    /// Of the pool's desired count; 0 when absent.
    pub(crate) unavailable: Amount,
    pub(crate) machine_type: MachineType,
    pub(crate) image: Image,
    pub(crate) root: Volume,
    pub(crate) data: Vec<DataVolume>,
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
pub(crate) struct MachineType {
    pub(crate) name: String,
    pub(crate) cpu: Quantity,
    pub(crate) memory: Quantity,
    pub(crate) cpu_limit: Option<Quantity>,
    pub(crate) memory_limit: Option<Quantity>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Image {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) url: String,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Volume {
    /// Name of the volume type in the profile.
    pub(crate) type_: String,
    /// Name of the StorageClass in the provider cluster.
    pub(crate) class: String,
    pub(crate) size: Quantity,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DataVolume {
    pub(crate) name: String,
    pub(crate) volume: Volume,
}
