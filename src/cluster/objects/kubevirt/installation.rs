//! Installation objects of KubeVirt and CDI, and the configuration of CDI.

use serde::Deserialize;
use std::collections::BTreeSet;

/// A KubeVirt or CDI object without its settings.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PartialInstallation {
    #[serde(default)]
    pub(crate) status: InstallationStatus,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct InstallationStatus {
    pub(crate) phase: String,
    /// The field of KubeVirt has another name than that of CDI.
    #[serde(alias = "observedKubeVirtVersion")]
    pub(crate) observed_version: String,
}

/// A KubeVirt object with its settings.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PartialKubeVirt {
    #[serde(default)]
    pub(crate) spec: KubeVirtSpec,
    #[serde(default)]
    pub(crate) status: InstallationStatus,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct KubeVirtSpec {
    pub(crate) configuration: KubeVirtConfiguration,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct KubeVirtConfiguration {
    pub(crate) developer_configuration: DeveloperConfiguration,
    pub(crate) network: PodNetworkConfiguration,
    pub(crate) permitted_host_devices: PermittedHostDevices,
    seccomp_configuration: SeccompConfiguration,
}

/// Devices of hosts that VMs may use.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PermittedHostDevices {
    pci_host_devices: Vec<PermittedDevice>,
    mediated_devices: Vec<PermittedDevice>,
    usb: Vec<PermittedDevice>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PermittedDevice {
    resource_name: String,
}

impl PermittedHostDevices {
    pub(crate) fn resource_names(&self) -> BTreeSet<&str> {
        let lists = [&self.pci_host_devices, &self.mediated_devices, &self.usb];
        let all = lists.into_iter().flatten();
        all.map(|it| it.resource_name.as_str()).collect()
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SeccompConfiguration {
    virtual_machine_instance_profile: VirtualMachineInstanceProfile,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct VirtualMachineInstanceProfile {
    custom_profile: CustomProfile,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct CustomProfile {
    runtime_default_profile: bool,
    localhost_profile: Option<String>,
}

impl KubeVirtConfiguration {
    /// The pods of VMs have a seccomp profile.
    pub(crate) fn has_seccomp_profile(&self) -> bool {
        let profile = &self
            .seccomp_configuration
            .virtual_machine_instance_profile
            .custom_profile;
        profile.runtime_default_profile || profile.localhost_profile.is_some()
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DeveloperConfiguration {
    pub(crate) feature_gates: Vec<String>,
    pub(crate) disabled_feature_gates: Vec<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PodNetworkConfiguration {
    /// None means yes.
    pub(crate) permit_bridge_interface_on_pod_network: Option<bool>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PartialCdiConfig {
    #[serde(default)]
    pub(crate) spec: CdiConfigSpec,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct CdiConfigSpec {
    pub(crate) feature_gates: Vec<String>,
}
