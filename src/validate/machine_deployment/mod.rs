//! Kubermatic's MachineDeployment to the pool that means the same.
//!
//! What the rules of pools say anyhow is not said here; they are told where the values come from, by [`Places`].

mod machine;
mod placement;
mod places;
mod secrets;
#[cfg(test)]
mod tests;
mod values;
mod zones;

use crate::model::{
    self, Document, Duration, FieldPath, Finding, Kind, MachineControllerManager,
    MachineDeployment, MachineDeploymentSpec, MachineSpec, ProviderSpecValue, Reference,
    VirtualMachine, Worker, WorkerConfig,
};

use super::report::{At, Report};
pub(crate) use places::Places;
pub(crate) use secrets::Secrets;
use values::Values;
pub(crate) use zones::{some_zone, zones};

/// Operating systems that read cloud-init's user data.
const SYSTEMS: [&str; 3] = ["ubuntu", "rhel", "rockylinux"];

/// The type of machines that say themselves what they are.
const CUSTOM: &str = "custom";

/// What Kubermatic's operating system does with distUpgradeOnBoot.
const UPGRADE: &str = "#cloud-config\npackage_upgrade: true\npackage_reboot_if_required: true\n";

/// What is known of a value that stands elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Looked {
    Found(String),
    /// It is not to be had, and why.
    Missing(String),
    /// Nobody is there to be asked, and nothing can be done without it.
    Offline,
    /// Nobody is there to be asked, and the rest is judged without it.
    Unasked,
    /// It is asked for before what comes of it counts.
    Later,
}

/// A MachineDeployment and what its pool depends on.
pub(crate) struct Given<'a> {
    pub(crate) deployment: &'a MachineDeployment,
    /// Zones of the region, in which all pools of Kubermatic are.
    pub(crate) zones: Vec<String>,
    pub(crate) look: &'a dyn Fn(&Reference) -> Looked,
}

/// The pool of a MachineDeployment; one with errors is as near as can be.
#[derive(Debug)]
pub(crate) struct Converted {
    pub(crate) worker: Worker,
    pub(crate) errors: Vec<Finding>,
    pub(crate) warnings: Vec<Finding>,
    pub(crate) places: Places,
    /// What of it came from Secrets.
    pub(crate) secrets: Secrets,
    /// Values outside of the manifest that the pool depends on.
    pub(crate) references: Vec<Reference>,
    /// Something of it is looked up before the pool counts.
    pub(crate) is_open: bool,
    /// Fields for whose values nobody was asked: what the rules say of them may be wrong.
    pub(crate) unasked: Vec<FieldPath>,
}

pub(crate) fn convert(given: &Given) -> Converted {
    let deployment = given.deployment;
    let mut values = Values::new(given.look);
    let root = &At::root(Document::MachineDeployment);
    let at = &root.key("spec");
    let spec = &deployment.spec;
    pace(spec, at, &mut values);
    let (at_template, of_machines) = (&at.key("template"), &spec.template.spec);
    let at_machines = &at_template.key("spec");
    nodes(of_machines, at_machines, &mut values);
    let at_value = &at_machines.key("providerSpec");
    let config = config(
        &of_machines.provider_spec.value,
        &at_value.key("value"),
        &mut values,
    );
    values.places.put("name", &root.key("metadata").key("name"));
    values.places.put("minimum", &at.key("replicas"));
    values.places.put("maximum", &at.key("replicas"));
    let worker = worker(given, config);
    let Values {
        mut report,
        places,
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
        places,
        secrets,
        references,
        is_open: open > 0,
        unasked,
    }
}

/// Tells a kubelet that is of another version than the Shoot, whose own may be whole, or a minor version.
pub(crate) fn kubelet(deployment: &MachineDeployment, version: &str) -> Option<Finding> {
    let given = deployment.spec.template.spec.versions.kubelet.as_str();
    let kubelet = given.strip_prefix('v').unwrap_or(given);
    let is_open = version.split('.').count() == 2;
    let is_patch = || kubelet.strip_prefix(version)?.strip_prefix('.');
    if given.is_empty() || kubelet == version || is_open && is_patch().is_some() {
        return None;
    }
    let mut report = Report::default();
    let at = &At::root(Document::MachineDeployment);
    let at = &at.key("spec");
    let at = &at.key("template");
    let at = &at.key("spec");
    let at = &at.key("versions");
    let message = format!("is {given}, and the Shoot is of {version}");
    report
        .error(
            &at.key("kubelet"),
            Kind::Invalid,
            "machine-deployment/kubelet",
            message,
        )
        .hint("nodes have the version of their control plane; write the same in both");
    report.errors.pop()
}

fn worker(given: &Given, config: WorkerConfig) -> Worker {
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
        kubernetes: None,
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

/// How machines come and go.
fn pace(spec: &MachineDeploymentSpec, at: &At, values: &mut Values) {
    if spec.paused == Some(true) {
        values
            .report
            .error(
                &at.key("paused"),
                Kind::NotSupported,
                "machine-deployment/paused",
                "a pool cannot be held as it is",
            )
            .hint("leave the manifest unapplied for as long, and remove this");
    }
    if spec.min_ready_seconds.is_some_and(|it| it != 0) {
        values.ignored(
            &at.key("minReadySeconds"),
            "a machine counts as soon as its node is ready",
        );
    }
    let Some(strategy) = &spec.strategy else {
        return;
    };
    let at = &at.key("strategy");
    let type_ = strategy.type_.as_deref().unwrap_or_default();
    if !["", "RollingUpdate"].contains(&type_) {
        let message = format!("{type_:?} is not supported");
        values
            .report
            .error(
                &at.key("type"),
                Kind::NotSupported,
                "machine-deployment/strategy",
                message,
            )
            .hint("it has to be RollingUpdate");
    }
    let at = &at.key("rollingUpdate");
    values.places.put("maxSurge", &at.key("maxSurge"));
    values
        .places
        .put("maxUnavailable", &at.key("maxUnavailable"));
}

/// What the nodes are to have.
fn nodes(spec: &MachineSpec, at: &At, values: &mut Values) {
    let at_metadata = &at.key("metadata");
    values.places.put("labels", &at_metadata.key("labels"));
    values
        .places
        .put("annotations", &at_metadata.key("annotations"));
    values.places.put("taints", &at.key("taints"));
    if spec.node_drain_timeout.is_some() {
        let to = "machineControllerManager.machineDrainTimeout";
        values.places.put(to, &at.key("nodeDrainTimeout"));
    }
}

fn config(value: &ProviderSpecValue, at: &At, values: &mut Values) -> WorkerConfig {
    system(value, at, values);
    if value.cloud_provider != "kubevirt" && !value.cloud_provider.is_empty() {
        let message = format!("{:?} is not supported", value.cloud_provider);
        values
            .report
            .error(
                &at.key("cloudProvider"),
                Kind::NotSupported,
                "machine-deployment/cloud-provider",
                message,
            )
            .hint("it has to be kubevirt");
    }
    values
        .places
        .put("providerConfig.sshPublicKeys", &at.key("sshPublicKeys"));
    let upgrades = value.operating_system_spec.dist_upgrade_on_boot == Some(true);
    let mut config = WorkerConfig {
        ssh_public_keys: value.ssh_public_keys.clone(),
        user_data: upgrades.then(|| UPGRADE.to_owned()),
        ..WorkerConfig::default()
    };
    let (cloud, at) = (&value.cloud_provider_spec, &at.key("cloudProviderSpec"));
    values.places.put("providerConfig", at);
    if let Some(var) = cloud.auth.as_ref().and_then(|it| it.kubeconfig.as_ref()) {
        values.kubeconfig(var, &at.key("auth").key("kubeconfig"));
    }
    let none = VirtualMachine::default();
    let machine = cloud.virtual_machine.as_ref().unwrap_or(&none);
    machine::add(&mut config, machine, &at.key("virtualMachine"), values);
    placement::add(&mut config, cloud, at, values);
    config
}

fn system(value: &ProviderSpecValue, at: &At, values: &mut Values) {
    let at = &at.key("operatingSystem");
    values.places.put("machine.image.name", at);
    let system = value.operating_system.as_str();
    if SYSTEMS.contains(&system) || system.is_empty() {
        return;
    }
    let told = values.report.error(
        at,
        Kind::NotSupported,
        "machine-deployment/operating-system",
        format!("{system:?} is not supported"),
    );
    match system {
        "flatcar" => told.hint("it reads Ignition, and machines get cloud-init's user data"),
        _ => told.hint(format!("one of {}", SYSTEMS.join(", "))),
    };
}
