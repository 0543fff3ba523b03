//! Model to proof: every rule that a Shoot must keep by itself and against its CloudProfile.
//!
//! [`validate`] tells every broken rule at once, or gives a [`ValidShoot`], in which all that the profile
//! answers (sizes, images, classes) stands filled in. Nothing else makes one, and planning takes nothing else.

mod context;
mod image_source;
pub(crate) mod machine_deployment;
mod names;
pub(crate) mod network_policy;
mod pool;
mod profile;
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

use crate::model::{self, CloudProfile, Document, Finding, Kind, Shoot};

pub(crate) use context::Input;
pub(crate) use image_source::Source;
pub(crate) use pool::cloud_config;
#[cfg(test)]
pub(crate) use profile::component_images;
pub(crate) use profile::index::read_from;
pub(crate) use shoot::control_plane;
pub(crate) use shoot::metadata::EXPIRES;
pub(crate) use shoot::spec::profile_named;
pub(crate) use valid_shoot::{
    Bundle, Claiming, LocalDisk, Network, Networking, Pool, ValidShoot, Volume,
};

use pool::context::Judge;
use profile::index::Offer;
use report::{At, Report};
use shoot::{
    infrastructure, kubernetes, maintenance, metadata, networking, preallocated_data_volumes, spec,
};

#[derive(Debug)]
pub(crate) struct Verdict {
    /// There is one exactly when there are no errors.
    pub(crate) shoot: Option<ValidShoot>,
    pub(crate) errors: Vec<Finding>,
    pub(crate) warnings: Vec<Finding>,
}

/// Judges a Shoot by itself, against its profile, and against what was applied last.
pub(crate) fn validate(input: &Input) -> Verdict {
    let mut report = Report::default();
    let shoot = judge(input, &mut report);
    if shoot.is_none() && report.errors.is_empty() {
        // Cannot happen; but nothing may be applied that nobody vouches for.
        let at = &At::root(Document::Shoot);
        report.error(
            at,
            Kind::Invalid,
            "shoot/unresolved",
            "cannot be resolved against its profile",
        );
    }
    Verdict {
        shoot: shoot.filter(|_| report.errors.is_empty()),
        errors: report.errors,
        warnings: report.warnings,
    }
}

/// The technical ID of a Shoot, valid or not.
pub(crate) fn id(shoot: &Shoot) -> String {
    metadata::id(&shoot.metadata)
}

/// Judges a Shoot whose profile is not there, by itself and against what was applied last.
pub(crate) fn validate_alone(
    shoot: &Arc<Shoot>,
    before: Option<&Shoot>,
    now: jiff::Timestamp,
) -> Verdict {
    let profile = CloudProfile::nothing();
    let input = Input {
        shoot,
        profile: &profile,
        before,
        profile_before: None,
        now,
    };
    let mut report = Report::default();
    judge(&input, &mut report);
    // Nothing is offered; what follows from that alone is not said.
    let stands = |it: &Finding| it.document == Document::Shoot && read_from(it.code).is_none();
    report.errors.retain(stands);
    Verdict {
        shoot: None,
        errors: report.errors,
        warnings: report.warnings,
    }
}

/// Judges a CloudProfile that no Shoot asks for.
pub(crate) fn validate_profile(profile: &CloudProfile) -> Verdict {
    let mut report = Report::default();
    profile::check(profile, &At::root(Document::CloudProfile), &mut report);
    Verdict {
        shoot: None,
        errors: report.errors,
        warnings: report.warnings,
    }
}

fn judge(input: &Input, report: &mut Report) -> Option<ValidShoot> {
    let shoot = input.shoot;
    let root = &At::root(Document::Shoot);
    let spec = &root.key("spec");
    let provider = &spec.key("provider");
    let id = metadata::id(&shoot.metadata);
    let of = |profile| Offer::of(profile, &shoot.spec.region);
    let judge = Judge {
        input,
        offer: of(input.profile),
        offer_before: input.profile_before.map(of),
    };
    profile::check(input.profile, &At::root(Document::CloudProfile), report);
    metadata::check(&shoot.metadata, &root.key("metadata"), report);
    spec::check(input, &judge.offer, spec, report);
    if let Some(before) = input.before {
        update::check(before, shoot, spec, report);
    }
    maintenance::check(shoot, spec, report);
    let kubernetes = kubernetes::version(input, &judge.offer, &spec.key("kubernetes"), report);
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
    let pools = pool::check(&judge, &provider.key("workers"), report);

    let (kubernetes, pools) = (kubernetes?, pools?);
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
        bundles: Vec::new(),
        profile: input.profile.clone(),
        _proof: (),
    })
}

/// The Shoot as Gardener would store it: a version that was left open is the one that was chosen.
fn with_choices(given: &Arc<Shoot>, kubernetes: &str, pools: &[Pool]) -> Arc<Shoot> {
    let mut shoot = Arc::clone(given);
    if given.spec.kubernetes.version != kubernetes {
        kubernetes.clone_into(&mut Arc::make_mut(&mut shoot).spec.kubernetes.version);
    }
    for (index, pool) in pools.iter().enumerate() {
        let image = given.spec.provider.workers[index].machine.image.as_ref();
        let is_open = image.is_none_or(|it| it.version.as_ref() != Some(&pool.image.version));
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
