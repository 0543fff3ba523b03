//! Converts Kubermatic's MachineDeployment to a worker pool.
//!
//! Only rules that do not apply to pools are checked here; [`FieldMap`] maps findings about the pool to the MachineDeployment.

mod field_map;
mod machine;
mod placement;
mod secrets;
#[cfg(test)]
mod tests;
mod values;
mod zones;

use crate::model::{
    self, DocumentKind, Duration, FieldPath, Finding, FindingKind, KeyReference,
    MachineControllerManager, MachineDeployment, MachineDeploymentSpec, MachineSpec,
    ProviderSpecValue, VirtualMachine, Worker, WorkerConfig, WorkerKubernetes,
};

use super::report::FieldCursor;
pub(crate) use field_map::FieldMap;
pub(crate) use secrets::Secrets;
pub(crate) use values::ResolvedValue;
use values::ValueResolver;
pub(crate) use zones::{some_zone, zones};

/// Operating systems that read cloud-init user data.
const SYSTEMS: [&str; 3] = ["ubuntu", "rhel", "rockylinux"];

/// Machine type of pools that define CPU and memory themselves.
const CUSTOM: &str = "custom";

/// Cloud-config for distUpgradeOnBoot.
const UPGRADE: &str = "#cloud-config\npackage_upgrade: true\npackage_reboot_if_required: true\n";

/// Input of a conversion.
pub(crate) struct ConversionInput<'a> {
    pub(crate) deployment: &'a MachineDeployment,
    /// Zones of the pool.
    pub(crate) zones: Vec<String>,
    pub(crate) lookup: &'a dyn Fn(&KeyReference) -> ResolvedValue,
}

/// The pool of a MachineDeployment; with errors an approximation.
#[derive(Debug)]
pub(crate) struct Converted {
    pub(crate) worker: Worker,
    pub(crate) errors: Vec<Finding>,
    pub(crate) warnings: Vec<Finding>,
    pub(crate) field_map: FieldMap,
    /// Values from Secrets.
    pub(crate) secrets: Secrets,
    /// Values outside of the manifest that the pool depends on.
    pub(crate) references: Vec<KeyReference>,
    /// True if some values have yet to be looked up.
    pub(crate) is_pending: bool,
    /// Fields whose values were not looked up: findings about them may be wrong.
    pub(crate) skipped: Vec<FieldPath>,
}

pub(crate) fn convert(given: &ConversionInput) -> Converted {
    let deployment = given.deployment;
    let mut values = ValueResolver::new(given.lookup);
    let root = &FieldCursor::root(DocumentKind::MachineDeployment);
    let at = &root.key("spec");
    let spec = &deployment.spec;
    rolling_update(spec, at, &mut values);
    let (at_template, of_machines) = (&at.key("template"), &spec.template.spec);
    let at_machines = &at_template.key("spec");
    nodes(of_machines, at_machines, &mut values);
    let at_value = &at_machines.key("providerSpec");
    let config = config(
        &of_machines.provider_spec.value,
        &at_value.key("value"),
        &mut values,
    );
    values
        .field_map
        .put("name", &root.key("metadata").key("name"));
    values.field_map.put("minimum", &at.key("replicas"));
    values.field_map.put("maximum", &at.key("replicas"));
    let worker = worker(given, config);
    let ValueResolver {
        mut report,
        field_map,
        secrets,
        references,
        open,
        unasked,
        ..
    } = values;
    let findings = report.errors.iter_mut().chain(&mut report.warnings);
    findings.for_each(|it| secrets.mask(it));
    Converted {
        worker,
        errors: report.errors,
        warnings: report.warnings,
        field_map,
        secrets,
        references,
        is_pending: open > 0,
        skipped: unasked,
    }
}

fn worker(given: &ConversionInput, config: WorkerConfig) -> Worker {
    let spec = &given.deployment.spec;
    let of_machines = &spec.template.spec;
    let replicas = spec.replicas.unwrap_or(1);
    let rolling = spec
        .strategy
        .as_ref()
        .and_then(|it| it.rolling_update.as_ref());
    let metadata = of_machines.metadata.as_ref();
    let type_ = config.instancetype.as_ref().map(|it| it.name.clone());
    Worker {
        name: given.deployment.metadata.name.clone(),
        machine: model::Machine {
            type_: type_.unwrap_or_else(|| CUSTOM.to_owned()),
            image: Some(model::Image {
                name: of_machines.provider_spec.value.operating_system.clone(),
                version: None,
                provider_config: None,
            }),
            architecture: None,
        },
        minimum: replicas,
        maximum: replicas,
        max_surge: rolling.and_then(|it| it.max_surge.clone()),
        max_unavailable: rolling.and_then(|it| it.max_unavailable.clone()),
        labels: metadata.map(|it| it.labels.clone()).unwrap_or_default(),
        annotations: metadata
            .map(|it| it.annotations.clone())
            .unwrap_or_default(),
        taints: of_machines.taints.clone(),
        zones: given.zones.clone(),
        volume: None,
        data_volumes: Vec::new(),
        kubelet_data_volume_name: None,
        ca_bundle: None,
        cri: None,
        kubernetes: Some(Box::new(kubelets(of_machines))),
        system_components: None,
        machine_controller_manager: of_machines.node_drain_timeout.clone().map(draining),
        provider_config: Some(Box::new(config)),
        sysctls: None,
        cluster_autoscaler: None,
        priority: None,
        update_strategy: None,
        control_plane: None,
    }
}

/// The version of the kubelets, which may lag behind that of the Shoot.
fn kubelets(spec: &MachineSpec) -> WorkerKubernetes {
    let given = spec.versions.kubelet.as_str();
    WorkerKubernetes {
        kubelet: None,
        version: Some(given.strip_prefix('v').unwrap_or(given).to_owned()),
    }
}

fn draining(timeout: Duration) -> MachineControllerManager {
    MachineControllerManager {
        machine_drain_timeout: Some(timeout),
        machine_health_timeout: None,
        machine_creation_timeout: None,
        max_evict_retries: None,
        node_conditions: Vec::new(),
        in_place_update_timeout: None,
        disable_health_timeout: None,
    }
}

/// Checks the rolling update settings.
fn rolling_update(spec: &MachineDeploymentSpec, at: &FieldCursor, values: &mut ValueResolver) {
    if spec.paused == Some(true) {
        values
            .report
            .error(
                &at.key("paused"),
                FindingKind::NotSupported,
                "machine-deployment/paused",
                "paused pools are not supported",
            )
            .hint("remove it, and apply the manifest once the pool may change");
    }
    if spec.min_ready_seconds.is_some_and(|it| it != 0) {
        values.ignored(
            &at.key("minReadySeconds"),
            "a machine is available as soon as its node is ready",
        );
    }
    let Some(strategy) = &spec.strategy else {
        return;
    };
    let at = &at.key("strategy");
    let type_ = strategy.type_.as_deref().unwrap_or_default();
    if !["", "RollingUpdate"].contains(&type_) {
        let message = format!("unsupported value {type_:?}");
        values
            .report
            .error(
                &at.key("type"),
                FindingKind::NotSupported,
                "machine-deployment/strategy",
                message,
            )
            .hint("supported values: RollingUpdate");
    }
    let at = &at.key("rollingUpdate");
    values.field_map.put("maxSurge", &at.key("maxSurge"));
    values
        .field_map
        .put("maxUnavailable", &at.key("maxUnavailable"));
}

/// Maps labels, annotations, taints and timeouts of nodes.
fn nodes(spec: &MachineSpec, at: &FieldCursor, values: &mut ValueResolver) {
    let at_metadata = &at.key("metadata");
    values.field_map.put("labels", &at_metadata.key("labels"));
    values
        .field_map
        .put("annotations", &at_metadata.key("annotations"));
    values.field_map.put("taints", &at.key("taints"));
    let at_version = &at.key("versions");
    let to = "kubernetes.version";
    values.field_map.put(to, &at_version.key("kubelet"));
    if spec.node_drain_timeout.is_some() {
        let to = "machineControllerManager.machineDrainTimeout";
        values.field_map.put(to, &at.key("nodeDrainTimeout"));
    }
}

fn config(value: &ProviderSpecValue, at: &FieldCursor, values: &mut ValueResolver) -> WorkerConfig {
    system(value, at, values);
    if value.cloud_provider != "kubevirt" && !value.cloud_provider.is_empty() {
        let message = format!("unsupported value {:?}", value.cloud_provider);
        values
            .report
            .error(
                &at.key("cloudProvider"),
                FindingKind::NotSupported,
                "machine-deployment/cloud-provider",
                message,
            )
            .hint("supported values: kubevirt");
    }
    values
        .field_map
        .put("providerConfig.sshPublicKeys", &at.key("sshPublicKeys"));
    let upgrades = value.operating_system_spec.dist_upgrade_on_boot == Some(true);
    let mut config = WorkerConfig {
        ssh_public_keys: value.ssh_public_keys.clone(),
        user_data: upgrades.then(|| UPGRADE.to_owned()),
        ..WorkerConfig::default()
    };
    let (cloud, at) = (&value.cloud_provider_spec, &at.key("cloudProviderSpec"));
    values.field_map.put("providerConfig", at);
    if let Some(var) = cloud.auth.as_ref().and_then(|it| it.kubeconfig.as_ref()) {
        values.kubeconfig(var, &at.key("auth").key("kubeconfig"));
    }
    let none = VirtualMachine::default();
    let machine = cloud.virtual_machine.as_ref().unwrap_or(&none);
    machine::add(&mut config, machine, &at.key("virtualMachine"), values);
    placement::add(&mut config, cloud, at, values);
    config
}

fn system(value: &ProviderSpecValue, at: &FieldCursor, values: &mut ValueResolver) {
    let at = &at.key("operatingSystem");
    values.field_map.put("machine.image.name", at);
    let system = value.operating_system.as_str();
    if SYSTEMS.contains(&system) || system.is_empty() {
        return;
    }
    let finding = values.report.error(
        at,
        FindingKind::NotSupported,
        "machine-deployment/operating-system",
        format!("unsupported operating system {system:?}"),
    );
    match system {
        "flatcar" => finding.hint("Flatcar reads Ignition, but machines get cloud-init user data"),
        _ => finding.hint(format!("supported values: {}", SYSTEMS.join(", "))),
    };
}
