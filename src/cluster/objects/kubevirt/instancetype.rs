//! Instancetypes of KubeVirt, of a namespace or of the cluster.

use crate::cluster::objects::metadata::PartialObjectMeta;
use serde::Deserialize;
use serde::de::IgnoredAny;

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PartialInstancetype {
    pub(crate) metadata: PartialObjectMeta,
    #[serde(default)]
    pub(crate) spec: InstancetypeSpec,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct InstancetypeSpec {
    pub(crate) cpu: InstancetypeCpu,
    pub(crate) memory: InstancetypeMemory,
    gpus: Vec<IgnoredAny>,
    host_devices: Vec<IgnoredAny>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct InstancetypeCpu {
    pub(crate) guest: Option<u64>,
    #[serde(rename = "dedicatedCPUPlacement")]
    dedicated_placement: bool,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct InstancetypeMemory {
    /// A quantity.
    pub(crate) guest: Option<String>,
    hugepages: Option<IgnoredAny>,
    overcommit_percent: u64,
}

impl InstancetypeSpec {
    /// True without devices, hugepages, overcommitted memory and dedicated CPUs.
    pub(crate) fn has_only_cpu_and_memory(&self) -> bool {
        self.gpus.is_empty()
            && self.host_devices.is_empty()
            && !self.cpu.dedicated_placement
            && self.memory.hugepages.is_none()
            && self.memory.overcommit_percent == 0
    }
}
