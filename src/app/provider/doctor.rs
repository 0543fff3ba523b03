//! `kvshoot doctor`.

use super::check_rows::{CheckRow, print, text};
use super::connect::connect;
use super::prepare::{Prepared, prepare};
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit, failed};
use crate::app::inspect::shoot_summary::find;
use crate::app::manifests::files::ManifestFiles;
use crate::cluster::{
    self, ApiClient, CheckResult, RecordSnapshot, ShootRequirements, UsedFeatures,
};
use crate::load::recorded_outline;
use crate::model::Version;
use crate::ui::{Format, Style};
use crate::validate::control_plane::ApiServerExposure;
use crate::validate::{Network, ValidShoot};

/// The shoots whose requirements are checked.
#[derive(Debug)]
pub(crate) enum DoctorSubject {
    /// The requirements of every shoot.
    General,
    /// Display name of a shoot.
    Shoot(String),
    Manifests(ManifestFiles),
}

/// Prints the roles that kvshoot needs; with `manages_namespaces`, also the one for `apply --create-namespace`.
pub(crate) fn print_rbac(manages_namespaces: bool, context: &Context) {
    let namespace = context.provider.namespace.as_deref();
    context
        .ui
        .data(&cluster::rbac(namespace, manages_namespaces));
    context
        .ui
        .hint("to bind the Role: kubectl create rolebinding kvshoot --role=kvshoot --user=NAME");
}

/// Checks the prerequisites of the provider cluster. The exit code is 1 if one is missing.
pub(crate) fn doctor(
    subject: &DoctorSubject,
    output: Format,
    context: &Context,
) -> Result<Exit, CommandError> {
    let findings = context.block_on(check(subject, context))??;
    let rows: Vec<CheckRow> = findings.into_iter().map(CheckRow).collect();
    Ok(print(&rows, output, context))
}

async fn check(
    subject: &DoctorSubject,
    context: &Context,
) -> Result<Vec<CheckResult>, CommandError> {
    let (provider, shoots) = match subject {
        DoctorSubject::Manifests(files) => {
            let prepared = prepare(files.read()?, context).await?;
            return check_each(&prepared).await;
        }
        DoctorSubject::Shoot(name) => {
            let provider = connect(context).await?;
            let record = find(&provider, name, context).await?;
            let shoots = recorded(&record);
            (provider, shoots)
        }
        DoctorSubject::General => (connect(context).await?, Vec::new()),
    };
    provider
        .run_checks(&requirements(&shoots))
        .await
        .map_err(failed)
}

/// Checks each provider cluster of manifests; messages name it if there are several.
async fn check_each(prepared: &Prepared) -> Result<Vec<CheckResult>, CommandError> {
    let is_one = prepared.providers.all().count() == 1;
    let mut results = Vec::new();
    for (provider, has) in prepared.providers.all() {
        let own = prepared.loaded.shoots.iter().filter(|it| has(&it.id));
        let own: Vec<ValidShoot> = own.cloned().collect();
        let mut found = provider
            .run_checks(&requirements(&own))
            .await
            .map_err(failed)?;
        for result in found.iter_mut().filter(|_| !is_one) {
            result.message = format!("{}: {}", provider.server(), result.message);
        }
        results.append(&mut found);
    }
    Ok(results)
}

/// The checks as text, for support bundles.
pub(crate) async fn doctor_text(
    provider: &ApiClient,
    record: Option<&RecordSnapshot>,
) -> Result<String, CommandError> {
    let rows = results(provider, record).await?;
    Ok(text(&rows, Style { on: false }))
}

/// The checks for a shoot, or for every shoot.
pub(crate) async fn results(
    provider: &ApiClient,
    record: Option<&RecordSnapshot>,
) -> Result<Vec<CheckRow>, CommandError> {
    let shoots = record.map(recorded).unwrap_or_default();
    let findings = provider.run_checks(&requirements(&shoots)).await;
    let findings = findings.map_err(failed)?;
    Ok(findings.into_iter().map(CheckRow).collect())
}

fn recorded(record: &RecordSnapshot) -> Vec<ValidShoot> {
    let shoot = recorded_outline(&record.name, &record.data, crate::clock::now());
    shoot.into_iter().collect()
}

/// Features of a shoot that need permissions of their own.
pub(crate) fn used_features(shoot: &ValidShoot) -> UsedFeatures {
    let config = &shoot.profile.spec.provider_config;
    UsedFeatures {
        networks: !shoot.networks.is_empty(),
        snapshots: !config.volume_snapshot_classes.is_empty(),
    }
}

fn requirements(shoots: &[ValidShoot]) -> ShootRequirements {
    let mut uses = ShootRequirements::default();
    for shoot in shoots {
        let features = used_features(shoot);
        uses.features.networks |= features.networks;
        uses.features.snapshots |= features.snapshots;
        let version = Version::parse(&shoot.kubernetes);
        uses.minors.extend(version.map(|it| it.minor().1));
        let networking = &shoot.networking;
        uses.ranges.extend([
            ("networking.services", networking.services.clone()),
            ("networking.pods", networking.pods.clone()),
        ]);
        let exposure = &shoot.control_plane.exposure;
        uses.load_balancer |= matches!(exposure, ApiServerExposure::LoadBalancer { .. });
        uses.classes
            .insert(shoot.control_plane.etcd_class.clone().unwrap_or_default());
        let replaces_pod_network =
            |it: &Network| matches!(it, Network::Tenant { default: true, .. });
        uses.pod_network |= !shoot.networks.iter().any(replaces_pod_network);
        for pool in &shoot.pools {
            let worker = &pool.worker;
            uses.instancetypes |= worker.instancetype.is_some() || worker.preference.is_some();
            uses.larger_disks |= pool.is_updated_in_place;
            let cpu = worker.cpu.as_ref();
            uses.dedicated_cpus |= cpu.is_some_and(|it| it.dedicated_cpu_placement == Some(true));
            if let Some(devices) = &worker.devices {
                let all = devices.gpus.iter().chain(&devices.host_devices);
                uses.devices.extend(all.map(|it| it.device_name.clone()));
                uses.host_devices |= !devices.host_devices.is_empty();
            }
            let disks = worker.devices.iter().flat_map(|it| &it.disks);
            let mut luns = disks.filter_map(|it| it.lun.as_ref());
            uses.reservations |= luns.any(|it| it.reservation == Some(true));
            let data = pool.data.iter().map(|it| &it.volume);
            let volumes = std::iter::once(&pool.root).chain(data);
            uses.classes.extend(volumes.map(|it| it.class.clone()));
        }
    }
    uses
}
