//! Validates a Shoot, by itself and against its CloudProfile.
//!
//! [`validate`] reports all violations at once, or returns a [`ValidShoot`] with all values resolved from the profile
//! (sizes, images, classes). There is no other way to construct one, and planning accepts nothing else.

mod context;
mod image_source;
pub(crate) mod machine_deployment;
mod names;
pub(crate) mod network_policy;
mod pool;
mod profile;
mod releases;
mod report;
mod rules;
mod shoot;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod update;
mod valid_shoot;

use std::sync::Arc;

use crate::model::{self, CloudProfile, DocumentKind, Finding, FindingKind, Shoot};

pub(crate) use context::Input;
pub(crate) use pool::cloud_config;
pub(crate) use pool::machine::architecture::has_image;
#[cfg(test)]
pub(crate) use profile::component_images;
pub(crate) use profile::index::{is_deprecated, is_expired, is_preview, read_from};
pub(crate) use profile::network_manifests::OWN as BUILT_IN_NETWORKS;
pub(crate) use releases::KNOWN_MINORS;
pub(crate) use shoot::control_plane;
pub(crate) use shoot::metadata::EXPIRES;
pub(crate) use shoot::spec::profile_named;
pub(crate) use valid_shoot::{Network, PoolSpec, ValidShoot, VolumeApi};

pub(crate) use image_source::ImageSource;
pub(crate) use valid_shoot::{ManifestSet, NetworkRanges, PreAllocatedVolume, VolumeSpec};

use pool::context::ValidationContext;
use profile::index::ProfileIndex;
use report::{FieldCursor, FindingSink};
use shoot::{
    infrastructure, kubernetes, maintenance, metadata, networking, preallocated_data_volumes, spec,
};

/// Code of a Shoot that cannot be resolved although no rule is broken.
pub(crate) const UNRESOLVED: &str = "shoot/unresolved";

#[derive(Debug)]
pub(crate) struct ValidationOutcome {
    /// `Some` if and only if there are no errors.
    pub(crate) shoot: Option<ValidShoot>,
    pub(crate) errors: Vec<Finding>,
    pub(crate) warnings: Vec<Finding>,
}

/// Validates a Shoot by itself, against its CloudProfile, and against the last applied Shoot.
pub(crate) fn validate(input: &Input) -> ValidationOutcome {
    let mut report = FindingSink::default();
    let shoot = check(input, &mut report);
    if shoot.is_none() && report.errors.is_empty() {
        // A bug; nothing may be applied that has not been validated.
        let at = &FieldCursor::root(DocumentKind::Shoot);
        report.error(
            at,
            FindingKind::Invalid,
            UNRESOLVED,
            "cannot be resolved against its profile",
        );
    }
    ValidationOutcome {
        shoot: shoot.filter(|_| report.errors.is_empty()),
        errors: report.errors,
        warnings: report.warnings,
    }
}

/// The technical ID of a Shoot, valid or not.
pub(crate) fn id(shoot: &Shoot) -> String {
    metadata::id(&shoot.metadata)
}

/// Validates a Shoot without its CloudProfile, by itself and against the last applied Shoot.
pub(crate) fn validate_alone(
    shoot: &Arc<Shoot>,
    before: Option<&Shoot>,
    now: jiff::Timestamp,
) -> ValidationOutcome {
    let profile = CloudProfile::nothing();
    let input = Input {
        shoot,
        profile: &profile,
        previous: before,
        previous_profile: None,
        now,
    };
    let mut report = FindingSink::default();
    check(&input, &mut report);
    // Findings that follow only from the empty profile are dropped.
    let is_independent =
        |it: &Finding| it.document == DocumentKind::Shoot && read_from(it.code).is_none();
    report.errors.retain(is_independent);
    ValidationOutcome {
        shoot: None,
        errors: report.errors,
        warnings: report.warnings,
    }
}

/// Validates a CloudProfile that no Shoot refers to.
pub(crate) fn validate_profile(profile: &CloudProfile) -> ValidationOutcome {
    let mut report = FindingSink::default();
    profile::check(
        profile,
        &FieldCursor::root(DocumentKind::CloudProfile),
        &mut report,
    );
    ValidationOutcome {
        shoot: None,
        errors: report.errors,
        warnings: report.warnings,
    }
}

fn check(input: &Input, report: &mut FindingSink) -> Option<ValidShoot> {
    let shoot = input.shoot;
    let root = &FieldCursor::root(DocumentKind::Shoot);
    let spec = &root.key("spec");
    let provider = &spec.key("provider");
    let id = metadata::id(&shoot.metadata);
    let of = |profile| ProfileIndex::new(profile, &shoot.spec.region);
    let context = ValidationContext {
        input,
        index: of(input.profile),
        previous_index: input.previous_profile.map(of),
    };
    profile::check(
        input.profile,
        &FieldCursor::root(DocumentKind::CloudProfile),
        report,
    );
    metadata::check(&shoot.metadata, &root.key("metadata"), report);
    spec::check(input, &context.index, spec, report);
    if let Some(before) = input.previous {
        update::check(before, shoot, spec, report);
    }
    maintenance::check(shoot, spec, report);
    let kubernetes = kubernetes::version(input, &context.index, &spec.key("kubernetes"), report);
    kubernetes::settings(input, &spec.key("kubernetes"), report);
    let networking = networking::check(input, &spec.key("networking"), report);
    let control_plane = control_plane::check(input, spec, report);
    let infrastructure = &provider.key("infrastructureConfig");
    let networks = infrastructure::check(input, &id, infrastructure, report);
    let disks = preallocated_data_volumes::check(input, infrastructure, report);
    let network_policies = network_policy::check(input, &id, infrastructure, report);
    if let Some(it) = &control_plane {
        let at = &provider.key("controlPlaneConfig");
        network_policy::check_address(&network_policies, it, &at.key("nodeAddress"), report);
    }
    let workers = &provider.key("workers");
    let pools = pool::check(&context, kubernetes.as_deref(), workers, report);
    profile::check_downloads(input.profile, pools.as_deref().unwrap_or_default(), report);

    let (kubernetes, pools) = (kubernetes?, pools?);
    let profile = match input.previous_profile {
        None => input.profile.clone(),
        Some(previous) => {
            let workers = pools.iter().zip(&shoot.spec.provider.workers);
            profile::with_items_in_use(input.profile, previous, workers)
        }
    };
    Some(ValidShoot {
        name: shoot.metadata.name.clone(),
        project: metadata::project(&shoot.metadata).to_owned(),
        id,
        region: shoot.spec.region.clone(),
        networking: networking?,
        control_plane: control_plane?,
        networks,
        network_policies,
        manifest: with_choices(shoot, &kubernetes, &pools),
        kubernetes,
        disks,
        pools,
        manifest_sets: Vec::new(),
        profile,
        _proof: (),
    })
}

/// The Shoot as Gardener would store it, with the chosen versions filled in.
fn with_choices(given: &Arc<Shoot>, kubernetes: &str, pools: &[PoolSpec]) -> Arc<Shoot> {
    let mut shoot = Arc::clone(given);
    if given.spec.kubernetes.version != kubernetes {
        kubernetes.clone_into(&mut Arc::make_mut(&mut shoot).spec.kubernetes.version);
    }
    for (index, pool) in pools.iter().enumerate() {
        let image = given.spec.provider.workers[index].machine.image.as_ref();
        let is_open = image.is_none_or(|it| it.version.as_ref() != Some(&pool.image.version));
        let own = given.spec.provider.workers[index].kubernetes.as_ref();
        let version = own.and_then(|it| it.version.as_ref());
        if version.is_some_and(|it| *it != pool.kubernetes) {
            let workers = &mut Arc::make_mut(&mut shoot).spec.provider.workers;
            if let Some(own) = &mut workers[index].kubernetes {
                own.version = Some(pool.kubernetes.clone());
            }
        }
        if is_open {
            let workers = &mut Arc::make_mut(&mut shoot).spec.provider.workers;
            workers[index].machine.image = Some(model::Image {
                name: pool.image.name.clone(),
                version: Some(pool.image.version.clone()),
                provider_config: None,
            });
        }
    }
    shoot
}
