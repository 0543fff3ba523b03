//! Model to proof: every rule that a Shoot must keep by itself and against its CloudProfile.
//!
//! [`validate`] tells every broken rule at once, or gives a [`ValidShoot`], in which all that the profile
//! answers (sizes, images, classes) stands filled in. Nothing else makes one, and planning takes nothing else.

pub(crate) mod cloud_config;
mod cni;
pub(crate) mod component_images;
pub(crate) mod control_plane;
mod control_plane_settings;
mod disks;
mod downloads;
mod infrastructure;
mod kubernetes;
mod machine;
pub(crate) mod machine_deployment;
mod maintenance;
mod metadata;
mod names;
mod network_manifests;
pub(crate) mod network_policies;
mod networking;
mod offer;
mod placement;
mod profile;
mod profile_config;
mod report;
mod spec;
mod storage_classes;
mod system_components;
mod taints;
mod template;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod update;
mod volumes;
mod worker_config;
mod workers;
mod zones;

use crate::model::{
    self, Amount, CloudProfile, Document, Finding, Kind, Kubelet, Quantity, Shoot, Taint,
    WorkerConfig,
};
use control_plane::ControlPlane;
pub(crate) use metadata::EXPIRES;
use network_policies::NetworkPolicies;
use offer::Offer;
pub(crate) use offer::read_from;
use report::{At, Report};
pub(crate) use spec::profile_named;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// What is judged together.
pub(crate) struct Input<'a> {
    pub(crate) shoot: &'a Arc<Shoot>,
    pub(crate) profile: &'a CloudProfile,
    /// The Shoot as it was applied last; what is unchanged since is not judged again.
    pub(crate) before: Option<&'a Shoot>,
    /// The profile of that time, for what the present one no longer offers.
    pub(crate) profile_before: Option<&'a CloudProfile>,
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
    pub(crate) control_plane: ControlPlane,
    /// Tenant networks in the order of the manifest, then shared ones.
    pub(crate) networks: Vec<Network>,
    pub(crate) network_policies: NetworkPolicies,
    /// Disks that pools may clone.
    pub(crate) disks: Vec<LocalDisk>,
    pub(crate) pools: Vec<Pool>,
    /// What is applied inside beside our own; read after the Shoot was judged.
    pub(crate) bundles: Vec<Bundle>,
    /// What was read, for the record, with the choices that were made: versions stay until they are asked to change.
    pub(crate) manifest: Arc<Shoot>,
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
    /// Prefix of the range that each node has for its pods.
    pub(crate) node_mask: u8,
}

/// Objects of somebody else's program: the network of the pods, or an add-on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bundle {
    pub(crate) name: String,
    pub(crate) objects: Vec<serde_json::Value>,
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
    /// Empty for one that the pool itself names.
    pub(crate) version: String,
    pub(crate) source: Source,
}

/// Where CDI fills a root disk from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Source {
    Http {
        url: String,
        /// Whole headers, as everybody may see them.
        headers: Vec<String>,
        /// Secret with further headers.
        headers_secret: Option<String>,
        /// Secret with user and password.
        secret: Option<String>,
    },
    Registry {
        url: String,
        /// Pulled by the node's container runtime rather than by the importer.
        by_node: bool,
        secret: Option<String>,
    },
    /// A volume that each machine clones; without a namespace it is that of the shoot's objects.
    Claim {
        namespace: Option<String>,
        name: String,
    },
    /// One of the shoot's own disks, by its name there.
    Own(String),
}

/// A disk that is filled once and cloned by many machines.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LocalDisk {
    pub(crate) name: String,
    pub(crate) source: Source,
    pub(crate) volume: Volume,
    pub(crate) annotations: BTreeMap<String, String>,
}

impl Source {
    /// As people know it.
    pub(crate) fn told(&self) -> String {
        match self {
            Source::Http { url, .. } | Source::Registry { url, .. } => url.clone(),
            Source::Claim {
                namespace: Some(namespace),
                name,
            } => format!("{namespace}/{name}"),
            Source::Claim { name, .. } | Source::Own(name) => name.clone(),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Volume {
    /// Name of the volume type in the profile.
    pub(crate) type_: String,
    /// Name of the StorageClass in the provider cluster.
    pub(crate) class: String,
    pub(crate) size: Quantity,
    pub(crate) claiming: Claiming,
}

/// How CDI is asked for a volume.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Claiming {
    /// By a whole claim.
    Verbatim { access: String },
    /// By what is known; CDI takes the rest from the StorageProfile of the class.
    Completed { access: Option<String> },
}

impl Default for Claiming {
    fn default() -> Self {
        Claiming::Verbatim {
            access: "ReadWriteOnce".to_owned(),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DataVolume {
    pub(crate) name: String,
    pub(crate) volume: Volume,
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
    judge_profile(profile, &mut report);
    Verdict {
        shoot: None,
        errors: report.errors,
        warnings: report.warnings,
    }
}

fn judge_profile(profile: &CloudProfile, report: &mut Report) {
    let at = &At::root(Document::CloudProfile);
    profile::check(profile, at, report);
    profile_config::check(profile, at, report);
}

fn judge(input: &Input, report: &mut Report) -> Option<ValidShoot> {
    let shoot = input.shoot;
    let root = &At::root(Document::Shoot);
    let spec = &root.key("spec");
    let provider = &spec.key("provider");
    let id = metadata::id(&shoot.metadata);
    let of = |profile| Offer::of(profile, &shoot.spec.region);
    let judge = workers::Judge {
        input,
        offer: of(input.profile),
        offer_before: input.profile_before.map(of),
    };
    judge_profile(input.profile, report);
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
    let disks = disks::check(input, infrastructure, report);
    let network_policies = network_policies::check(input, &id, infrastructure, report);
    if let Some(it) = &control_plane {
        let at = &provider.key("controlPlaneConfig");
        network_policies::check_address(&network_policies, it, &at.key("nodeAddress"), report);
    }
    let pools = workers::check(&judge, &provider.key("workers"), report);

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
