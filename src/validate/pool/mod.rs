//! The rules of `spec.provider.workers`.

mod autoscaling;
pub(crate) mod cloud_config;
pub(super) mod context;
pub(crate) mod machine;
mod placement;
mod size;
mod system_components;
mod taints;
mod template;
mod update_strategy;
mod version;
mod volumes;
mod worker_config;
mod zones;

use std::collections::HashMap;
use std::time::Duration;

use crate::model::{FindingKind, MachineControllerManager, Worker};

use context::{PoolContext, ValidationContext};
use machine::image::ImageRequirements;
use machine::{architecture, fit, image, machine_type};

use super::report::{FieldCursor, FindingSink};
use super::shoot::{kubelet, metadata};
use super::valid_shoot::{PoolHealth, PoolSpec};
use super::{names, releases, rules};

const MAX_NAME: usize = 15;
const HEALTH_TIMEOUT: Duration = Duration::from_secs(10 * 60);
const NODE_CONDITIONS: [&str; 4] = [
    "KernelDeadlock",
    "ReadonlyFilesystem",
    "DiskPressure",
    "NetworkUnavailable",
];
const CREATION_TIMEOUT: Duration = Duration::from_secs(20 * 60);
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2 * 60 * 60);

/// `control_plane` is the resolved version of the control plane, if there is one.
pub(crate) fn check(
    context: &ValidationContext,
    control_plane: Option<&str>,
    at: &FieldCursor,
    report: &mut FindingSink,
) -> Option<Vec<PoolSpec>> {
    let workers = &context.input.shoot.spec.provider.workers;
    if workers.is_empty() {
        report
            .error(
                at,
                FindingKind::Required,
                "pool/none",
                "at least one pool is required",
            )
            .hint("add a pool to spec.provider.workers");
        return None;
    }
    let before = context
        .input
        .previous
        .map_or(&[][..], |it| &it.spec.provider.workers);
    let before: HashMap<&str, &Worker> = before.iter().map(|it| (it.name.as_str(), it)).collect();
    let mut known = HashMap::with_capacity(workers.len());
    let mut pools = Vec::with_capacity(workers.len());
    for (i, worker) in workers.iter().enumerate() {
        let pool = PoolContext {
            worker,
            before: before.get(worker.name.as_str()).copied(),
            at: at.index(i),
        };
        name(context, &pool, report);
        if let Some(first) = known
            .insert(worker.name.as_str(), i)
            .filter(|_| !worker.name.is_empty())
        {
            let message = format!("duplicate pool {:?}", worker.name);
            report
                .error(
                    &pool.at.key("name"),
                    FindingKind::Duplicate,
                    "pool/duplicate",
                    message,
                )
                .see(&at.index(first).key("name"), "first defined here");
        }
        autoscaling::check(worker, &pool.at, report);
        pools.extend(check_one(context, control_plane, &pool, report));
    }
    system_components::check(workers, at, report);
    autoscaling::needs_keep(workers, at, report);
    autoscaling::unused(context.input.shoot, report);
    (pools.len() == workers.len()).then_some(pools)
}

fn name(context: &ValidationContext, pool: &PoolContext, report: &mut FindingSink) {
    let codes = ("pool/name", "pool/name-too-long");
    let config = pool.worker.provider_config.as_ref();
    // Pools of Kubermatic can have longer names.
    let is_own = config.is_some_and(|it| it.template.is_some() || it.instancetype.is_some());
    let most = match is_own {
        true => max_name_length(context, pool).max(MAX_NAME),
        false => MAX_NAME,
    };
    let at = &pool.at.key("name");
    names::check_dns_label(at, &pool.worker.name, most, codes, report);
}

/// Maximum length of a pool name, so that machine names have at most 63 characters.
fn max_name_length(context: &ValidationContext, pool: &PoolContext) -> usize {
    /// Separators, the hash, and machine numbers up to 9999.
    const OTHERS: usize = "--z--".len() + 5 + 4;
    let id = metadata::id(&context.input.shoot.metadata);
    let zones = pool.worker.zones.len().to_string();
    names::MAX_NAME.saturating_sub(id.len() + zones.len() + OTHERS)
}

fn check_one(
    context: &ValidationContext,
    control_plane: Option<&str>,
    pool: &PoolContext,
    report: &mut FindingSink,
) -> Option<PoolSpec> {
    let (worker, at) = (pool.worker, &pool.at);
    let size = size::size(pool, report);
    let bounds = size::bounds(pool, report);
    update_strategy::check(pool, report);
    names::check_node_labels(&at.key("labels"), &worker.labels, report);
    names::check_annotations(&at.key("annotations"), &worker.annotations, report);
    taints::check(&worker.taints, &at.key("taints"), report);
    zones::check(context, pool, report);
    let version = version::check(context, pool, control_plane, report);
    settings(pool, version.as_deref(), report);
    let config = worker_config::check(context, pool, report);
    let machine_type = machine_type::check(context, pool, report);
    let kubelet = kubelet(context, worker);
    if let Some(machine_type) = &machine_type {
        fit::check(pool, machine_type, kubelet.as_ref(), report);
    }
    let architecture = architecture::check(context, pool, report);
    let requirements = ImageRequirements {
        architecture: architecture.as_deref(),
        kubernetes: version.as_deref(),
    };
    let image = image::check(context, pool, requirements, report);
    let root = volumes::root(context, pool, report);
    let mut data = volumes::data(context, pool, report);
    if let (Some(data), Some(root)) = (&mut data, &root) {
        data.extend(volumes::secondary(pool, root));
    }

    if let (Some(root), Some(data)) = (&root, &data) {
        volumes::check_migration(pool, root, data, report);
    }

    let (minimum, maximum) = size?;
    let (surge, unavailable) = bounds?;
    let mcm = worker.machine_controller_manager.as_ref();
    let timeout = |of: Option<&crate::model::Duration>, default| of.map_or(default, |it| it.value);
    Some(PoolSpec {
        name: worker.name.clone(),
        kubernetes: version?,
        zones: worker.zones.clone(),
        minimum,
        maximum,
        surge,
        unavailable,
        is_updated_in_place: update_strategy::is_in_place(worker),
        machine_type: machine_type?,
        image: image?,
        root: root?,
        data: data?,
        kubelet_volume: worker.kubelet_data_volume_name.clone(),
        worker: config?,
        labels: worker.labels.clone(),
        annotations: worker.annotations.clone(),
        taints: worker.taints.clone(),
        cri: worker.cri.as_ref().map(|it| it.name.clone()),
        architecture,
        ca_bundle: ca_bundle(context, worker),
        kubelet,
        system_components: system_components::are_allowed(worker),
        creation_timeout: timeout(
            mcm.and_then(|it| it.machine_creation_timeout.as_ref()),
            CREATION_TIMEOUT,
        ),
        drain_timeout: timeout(
            mcm.and_then(|it| it.machine_drain_timeout.as_ref()),
            DRAIN_TIMEOUT,
        ),
        health: health(mcm),
    })
}

/// Defaults are those of Gardener's machine-controller-manager.
fn health(settings: Option<&MachineControllerManager>) -> PoolHealth {
    let timeout = settings.and_then(|it| it.machine_health_timeout.as_ref());
    let conditions = settings.map(|it| it.node_conditions.clone());
    PoolHealth {
        timeout: timeout.map_or(HEALTH_TIMEOUT, |it| it.value),
        conditions: conditions
            .filter(|it| !it.is_empty())
            .unwrap_or_else(|| NODE_CONDITIONS.map(str::to_owned).into()),
        is_disabled: settings.is_some_and(|it| it.disable_health_timeout == Some(true)),
    }
}

/// Certificates of the profile, which all machines trust, and those of the pool.
fn ca_bundle(context: &ValidationContext, worker: &Worker) -> Option<String> {
    let of_profile = context.input.profile.spec.ca_bundle.as_deref();
    let all = [of_profile, worker.ca_bundle.as_deref()];
    let all: Vec<&str> = all.into_iter().flatten().map(str::trim_end).collect();
    match (of_profile, all.is_empty()) {
        (_, true) => None,
        (None, false) => worker.ca_bundle.clone(),
        (Some(_), false) => Some(all.join("\n") + "\n"),
    }
}

/// Settings of the pool, or else those of the shoot.
fn kubelet(context: &ValidationContext, worker: &Worker) -> Option<crate::model::Kubelet> {
    let own = worker
        .kubernetes
        .as_ref()
        .and_then(|it| it.kubelet.as_ref());
    own.or(context.input.shoot.spec.kubernetes.kubelet.as_ref())
        .cloned()
}

fn settings(pool: &PoolContext, version: Option<&str>, report: &mut FindingSink) {
    let (worker, at) = (pool.worker, &pool.at);
    if let Some(cri) = worker
        .cri
        .as_ref()
        .filter(|it| it.name != "containerd" && !it.name.is_empty())
    {
        let message = format!("unsupported value {:?}", cri.name);
        report
            .error(
                &at.key("cri").key("name"),
                FindingKind::NotSupported,
                "pool/cri",
                message,
            )
            .hint("supported values: containerd");
    }
    if let Some(bundle) = &worker.ca_bundle
        && !rules::is_pem_certificates(bundle)
    {
        let message = "not a valid PEM certificate";
        report.error(
            &at.key("caBundle"),
            FindingKind::Invalid,
            "pool/ca-bundle",
            message,
        );
    }
    if let Some(own) = &worker.kubernetes {
        let minor = version.and_then(releases::minor);
        let at = &at.key("kubernetes");
        if let Some(it) = &own.kubelet {
            kubelet::check(it, minor, &at.key("kubelet"), report);
        }
    }
    without_support(worker, at, report);
}

/// Refuses what a pool would rely on and not get.
fn without_support(worker: &Worker, at: &FieldCursor, report: &mut FindingSink) {
    let mut refuse = |at: &FieldCursor, message: String, hint: &str| {
        let code = "pool/not-supported";
        report
            .error(at, FindingKind::NotSupported, code, message)
            .hint(hint);
    };
    let runtimes = worker.cri.iter().flat_map(|it| &it.container_runtimes);
    let at_runtimes = &at.key("cri");
    let at_runtimes = &at_runtimes.key("containerRuntimes");
    for (i, runtime) in runtimes.enumerate() {
        let message = format!("container runtime {:?} is not installed", runtime.type_);
        let hint =
            "remove it, and install the runtime with userData and a RuntimeClass of your own";
        refuse(&at_runtimes.index(i), message, hint);
    }
    let Some(settings) = &worker.machine_controller_manager else {
        return;
    };
    let at = &at.key("machineControllerManager");
    let given = [(
        "maxEvictRetries",
        settings.max_evict_retries.is_some(),
        "evictions are retried until machineDrainTimeout",
    )];
    for (name, _, why) in given.into_iter().filter(|it| it.1) {
        refuse(&at.key(name), format!("not supported: {why}"), "remove it");
    }
}
