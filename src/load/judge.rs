//! The judgement of all documents: which profile each Shoot uses, and what the rules find.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::context::LoadContext;
use super::machine_deployments::{self, ConvertedPool};
use super::networks;
use super::problem::DUPLICATE;
use super::report::{Documents, Reported, report_all};
use super::unaffected;
use crate::manifest::{Content, DocumentId, Manifest, Problem};
use crate::model::{CloudProfile, FieldPath, FindingKind, Shoot};
use crate::validate::{self, Input, ValidShoot};

/// A profile, and its document unless it comes from a record.
type Offered = (Option<DocumentId>, Arc<CloudProfile>);

/// Judged manifests. `manifest.problems()` has the errors, `manifest.warnings()` the warnings.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) manifest: Manifest,
    /// In the order of the files; empty when there are errors.
    pub(crate) shoots: Vec<ValidShoot>,
    /// With errors, the Shoots that these do not concern; otherwise empty.
    pub(crate) unaffected: Vec<ValidShoot>,
    /// Pools that MachineDeployments were converted to.
    pub(crate) pools: Vec<ConvertedPool>,
}

impl Loaded {
    pub(crate) fn is_valid(&self) -> bool {
        self.manifest.problems().is_empty()
    }
}

/// Applies all rules to the manifests. Problems are part of the result.
pub(crate) fn judge(mut manifest: Manifest, context: &LoadContext) -> Loaded {
    let mut reported = Reported::new();
    let mut profiles = given_profiles(&mut manifest);
    let mut unused: HashSet<DocumentId> = profiles.values().filter_map(|it| it.0).collect();
    let shoots = given_shoots(&mut manifest);
    let without_shoot = shoots.is_empty() && context.allow_without_shoot;
    let deployments = match without_shoot {
        true => Vec::new(),
        false => machine_deployments::of_shoots(&mut manifest, &shoots, context),
    };
    let (mut valid, mut converted) = (Vec::new(), Vec::new());
    for ((document, shoot), deployments) in shoots.iter().zip(&deployments) {
        let last = context.records.get(&validate::id(shoot));
        let name = validate::profile_named(shoot).unwrap_or_default();
        let offered = match profiles.get(name) {
            Some(given) => Some(given.clone()),
            None => configured(&mut manifest, name, context, &mut profiles)
                .or_else(|| recorded(last.map(|it| &it.1), name)),
        };
        if let Some(document) = offered.as_ref().and_then(|it| it.0) {
            unused.remove(&document);
        }
        let profile = offered.as_ref().map(|it| it.1.as_ref());
        if profile.is_none() && !name.is_empty() {
            report_missing_profile(&mut manifest, *document, shoot, name, &profiles);
        }
        let last_shoot = last.map(|it| &it.0);
        let (shoot, mut pools) =
            machine_deployments::add(shoot, deployments, profile, last_shoot, context);
        pools.report(&mut manifest);
        let verdict = match profile {
            None => validate::validate_alone(&shoot, last_shoot, context.now),
            Some(profile) => validate::validate(&Input {
                shoot: &shoot,
                profile,
                previous: last_shoot,
                previous_profile: last.map(|it| &it.1),
                now: context.now,
            }),
        };
        if let Some(addons) = &context.addons {
            networks::check(&mut manifest, *document, &shoot, profile, addons);
        }
        let documents = Documents {
            shoot: Some(*document),
            profile: offered.and_then(|it| it.0),
            pools: Some(&pools),
        };
        if let Some(shoot) = report_all(&mut manifest, &documents, verdict, &mut reported) {
            let origins = [Some(*document), documents.profile];
            valid.push((shoot, origins));
        }
        converted.extend(pools.into_converted());
    }
    for (document, profile) in profiles.values() {
        if document.is_some_and(|it| unused.contains(&it)) {
            let verdict = validate::validate_profile(profile);
            let documents = Documents {
                profile: *document,
                ..Documents::default()
            };
            report_all(&mut manifest, &documents, verdict, &mut reported);
        }
    }
    if without_shoot {
        let mut given = profiles.values();
        let only = given.next().filter(|_| profiles.len() == 1);
        let profile = only.map(|it| it.1.as_ref());
        let (mut pools, verdict) = machine_deployments::alone(&manifest, profile, context);
        pools.report(&mut manifest);
        let documents = Documents {
            pools: Some(&pools),
            ..Documents::default()
        };
        report_all(&mut manifest, &documents, verdict, &mut reported);
        converted.extend(pools.into_converted());
    }
    super::credentials::check(&mut manifest, &shoots, context);
    manifest.sort_problems();
    let is_valid = manifest.problems().is_empty();
    let unaffected = match is_valid {
        true => Vec::new(),
        false => unaffected::of(&manifest, &valid),
    };
    Loaded {
        shoots: valid
            .into_iter()
            .filter(|_| is_valid)
            .map(|it| it.0)
            .collect(),
        unaffected,
        manifest,
        pools: converted,
    }
}

/// The profiles among the documents, by name; the first one of a name is used.
fn given_profiles(manifest: &mut Manifest) -> HashMap<String, Offered> {
    let all: Vec<(DocumentId, Arc<CloudProfile>)> = manifest
        .documents()
        .filter_map(|(document, content)| match content {
            Content::CloudProfile(profile) => Some((document, Arc::clone(profile))),
            _ => None,
        })
        .collect();
    let mut profiles: HashMap<String, Offered> = HashMap::new();
    for (document, profile) in all {
        let name = profile.metadata.name.clone();
        let first = profiles.get(&name).and_then(|it| it.0);
        if let Some(first) = first.filter(|_| !name.is_empty()) {
            let message = format!("CloudProfile {name:?} is defined more than once");
            report_duplicate(manifest, document, first, message);
        } else {
            profiles.insert(name, (Some(document), profile));
        }
    }
    profiles
}

fn given_shoots(manifest: &mut Manifest) -> Vec<(DocumentId, Arc<Shoot>)> {
    let shoots: Vec<(DocumentId, Arc<Shoot>)> = manifest
        .documents()
        .filter_map(|(document, content)| match content {
            Content::Shoot(shoot) => Some((document, Arc::clone(shoot))),
            _ => None,
        })
        .collect();
    let mut known = HashMap::new();
    for (document, shoot) in &shoots {
        let id = validate::id(shoot);
        match known.get(&id) {
            Some(first) if !shoot.metadata.name.is_empty() => {
                let message = format!("Shoot {:?} is defined more than once", shoot.metadata.name);
                report_duplicate(manifest, *document, *first, message);
            }
            _ => {
                known.insert(id, *document);
            }
        }
    }
    shoots
}

fn report_duplicate(
    manifest: &mut Manifest,
    document: DocumentId,
    first: DocumentId,
    message: String,
) {
    let path = FieldPath::root().child("metadata").child("name");
    let related = manifest.locate(first, &path);
    let mut problem = Problem::new(path, FindingKind::Duplicate, DUPLICATE, message);
    if let Some(place) = related {
        problem = problem.related(place, "first defined here");
    }
    manifest.report(document, problem);
}

/// Adds the file of the configuration directory that defines the profile. Other files are not judged.
fn configured(
    manifest: &mut Manifest,
    name: &str,
    context: &LoadContext,
    profiles: &mut HashMap<String, Offered>,
) -> Option<Offered> {
    let defines_it = |(_, content): (DocumentId, &Content)| matches!(content, Content::CloudProfile(profile) if profile.metadata.name == name);
    let files = context.profiles.iter();
    let file = files.filter(|_| !name.is_empty()).find(|(file, bytes)| {
        Manifest::parse([(file.clone(), bytes.clone())])
            .documents()
            .any(defines_it)
    })?;
    manifest.add(file.0.clone(), file.1.clone());
    let (document, profile) =
        manifest
            .documents()
            .find_map(|(document, content)| match content {
                Content::CloudProfile(profile) if profile.metadata.name == name => {
                    Some((document, profile))
                }
                _ => None,
            })?;
    let offered = (Some(document), Arc::clone(profile));
    profiles.insert(name.to_owned(), offered.clone());
    Some(offered)
}

fn recorded(profile: Option<&CloudProfile>, name: &str) -> Option<Offered> {
    let profile = profile.filter(|it| it.metadata.name == name)?;
    Some((None, Arc::new(profile.clone())))
}

fn report_missing_profile(
    manifest: &mut Manifest,
    document: DocumentId,
    shoot: &Shoot,
    name: &str,
    profiles: &HashMap<String, Offered>,
) {
    let spec = FieldPath::root().child("spec");
    let path = match shoot.spec.cloud_profile {
        Some(_) => spec.child("cloudProfile").child("name"),
        None => spec.child("cloudProfileName"),
    };
    let mut given: Vec<&str> = profiles.keys().map(String::as_str).collect();
    given.sort_unstable();
    let hint = match given.as_slice() {
        [] => "pass its manifest with --profile or -f, or put it into profiles/ in the configuration directory".to_owned(),
        names => format!(
            "found CloudProfiles: {}; pass others with --profile or -f",
            names.join(", ")
        ),
    };
    let message = format!("CloudProfile {name:?} not found");
    manifest.report(
        document,
        Problem::new(path, FindingKind::Required, "shoot/profile", message).hint(Some(hint)),
    );
}
