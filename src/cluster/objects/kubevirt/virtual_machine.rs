//! VirtualMachines of KubeVirt.

use crate::cluster::objects::condition::PartialCondition;
use crate::cluster::objects::metadata::PartialObjectMeta;
use serde::Deserialize;

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PartialVirtualMachine {
    pub(crate) metadata: PartialObjectMeta,
    #[serde(default)]
    pub(crate) spec: VirtualMachineSpec,
    #[serde(default)]
    pub(crate) status: VirtualMachineStatus,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct VirtualMachineSpec {
    run_strategy: String,
    data_volume_templates: Vec<DataVolumeTemplate>,
    template: VirtualMachineTemplate,
    pub(crate) instancetype: Option<InstancetypeMatcher>,
    pub(crate) preference: Option<InstancetypeMatcher>,
}

/// An instancetype or a preference.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct InstancetypeMatcher {
    /// Without a kind KubeVirt uses the cluster-wide ones.
    #[serde(default)]
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) name: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct DataVolumeTemplate {
    spec: DataVolumeTemplateSpec,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct DataVolumeTemplateSpec {
    source: Option<VolumeSource>,
}

#[derive(Debug, Clone, Deserialize)]
struct VolumeSource {
    pvc: Option<ClaimSource>,
}

#[derive(Debug, Clone, Deserialize)]
struct ClaimSource {
    name: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct VirtualMachineTemplate {
    spec: InstanceTemplateSpec,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct InstanceTemplateSpec {
    networks: Vec<InstanceNetwork>,
    volumes: Vec<TemplateVolume>,
}

#[derive(Debug, Clone, Deserialize)]
struct TemplateVolume {
    name: String,
}

#[derive(Debug, Clone, Deserialize)]
struct InstanceNetwork {
    multus: Option<MultusNetwork>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct MultusNetwork {
    network_name: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct VirtualMachineStatus {
    /// Running, Provisioning, ErrorUnschedulable…; empty until it is reported.
    pub(crate) printable_status: String,
    /// KubeVirt omits it while it is false.
    pub(crate) ready: Option<bool>,
    pub(crate) conditions: Vec<PartialCondition>,
}

impl PartialVirtualMachine {
    /// Ready by `status.ready`, otherwise by printable status and condition. KubeVirt omits the field while it is false,
    /// and reports Running shortly before the machine is ready.
    pub(crate) fn is_ready(&self) -> bool {
        let status = &self.status;
        status.ready.unwrap_or_else(|| {
            let condition = PartialCondition::find(&status.conditions, "Ready");
            status.printable_status == "Running" && condition.is_none_or(PartialCondition::is_true)
        })
    }

    /// Returns true if KubeVirt keeps it from running.
    pub(crate) fn is_halted(&self) -> bool {
        self.spec.run_strategy == "Halted"
    }

    /// Message of the first failed condition: a VM that could not be created explains more than one that is not ready.
    pub(crate) fn failure_message(&self) -> Option<&str> {
        let find = |kind: &str| PartialCondition::find(&self.status.conditions, kind);
        let failed = |kind: &str| find(kind).filter(|it| it.is_false());
        let failure = find("Failure").filter(|it| it.is_true());
        failure
            .and_then(PartialCondition::message)
            .or_else(|| failed("Synchronized")?.message())
            .or_else(|| failed("PodScheduled")?.message())
    }

    /// Names of the volumes that its instances have from the start.
    pub(crate) fn volume_names(&self) -> impl Iterator<Item = &str> {
        let volumes = self.spec.template.spec.volumes.iter();
        volumes.map(|it| &*it.name)
    }

    /// The golden volume that its first disk is cloned from.
    pub(crate) fn image(&self) -> Option<&str> {
        let first = self.spec.data_volume_templates.first()?;
        let claim = first.spec.source.as_ref()?.pvc.as_ref()?;
        Some(&claim.name)
    }

    /// Networks besides the pod network, as `namespace/name`.
    pub(crate) fn networks(&self) -> impl Iterator<Item = &str> {
        let networks = self.spec.template.spec.networks.iter();
        networks.filter_map(|it| Some(it.multus.as_ref()?.network_name.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn is_ready(status: Value) -> bool {
        let object = json!({
            "metadata": { "name": "a", "uid": "u", "resourceVersion": "1" },
            "status": status,
        });
        let read: PartialVirtualMachine = serde_json::from_value(object).expect("a VM");
        read.is_ready()
    }

    #[test]
    fn readiness_is_the_status_field_or_running() {
        assert!(is_ready(json!({ "printableStatus": "Running" })));
        assert!(!is_ready(
            json!({ "printableStatus": "Running", "ready": false })
        ));
        assert!(is_ready(json!({ "ready": true })));
        // Status right after the start of the guest.
        assert!(!is_ready(json!({
            "printableStatus": "Running", "conditions": [{ "type": "Ready", "status": "False" }],
        })));
        assert!(!is_ready(json!({})));
    }
}
