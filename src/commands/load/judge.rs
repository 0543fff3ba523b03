//! A manifest that was read to one that is judged: who chooses from which profile, and what the rules say.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::pools::{self, Pools};
use super::{Around, Loaded};
use crate::manifest::{Content, DocumentId, Manifest, Problem};
use crate::model::{CloudProfile, Document, FieldPath, Finding, Kind, Shoot};
use crate::validate::{self, Input, Verdict};

/// A profile, and its document unless it comes from a record.
type Offered = (Option<DocumentId>, Arc<CloudProfile>);

pub(super) fn judge(mut manifest: Manifest, around: Around) -> Loaded {
    let mut told = HashSet::new();
    let mut profiles = given_profiles(&mut manifest);
    let mut unused: HashSet<DocumentId> = profiles.values().filter_map(|it| it.0).collect();
    let shoots = given_shoots(&mut manifest);
    let deployments = match shoots.is_empty() && around.is_alone {
        true => Vec::new(),
        false => pools::of_shoots(&mut manifest, &shoots, &around),
    };
    let (mut valid, mut converted) = (Vec::new(), Vec::new());
    for ((document, shoot), deployments) in shoots.iter().zip(&deployments) {
        let id = validate::id(shoot);
        let before = (around.before)(&id);
        let name = validate::profile_named(shoot).unwrap_or_default();
        let offered = match profiles.get(name) {
            Some(given) => Some(given.clone()),
            None => configured(&mut manifest, name, &around, &mut profiles)
                .or_else(|| recorded(before.as_ref().map(|it| &it.1), name)),
        };
        if let Some(document) = offered.as_ref().and_then(|it| it.0) {
            unused.remove(&document);
        }
        let profile = offered.as_ref().map(|it| it.1.as_ref());
        if profile.is_none() && !name.is_empty() {
            no_profile(&mut manifest, *document, shoot, name, &profiles);
        }
        let last = before.as_ref().map(|it| &it.0);
        let (shoot, mut pools) = pools::add(shoot, deployments, profile, last, &around);
        pools.tell(&mut manifest);
        let verdict = match profile {
            None => validate::validate_alone(&shoot, last, around.now),
            Some(profile) => validate::validate(&Input {
                shoot: &shoot,
                profile,
                before: last,
                profile_before: before.as_ref().map(|it| &it.1),
                now: around.now,
            }),
        };
        let given = &shoot.spec.kubernetes.version;
        let version = verdict.shoot.as_ref().map_or(given, |it| &it.kubernetes);
        pools.tell_kubelets(version, &mut manifest);
        let documents = Documents {
            shoot: Some(*document),
            profile: offered.and_then(|it| it.0),
            pools: Some(&pools),
        };
        valid.extend(tell_all(&mut manifest, &documents, verdict, &mut told));
        converted.extend(pools.into_workers());
    }
    for (document, profile) in profiles.values() {
        if document.is_some_and(|it| unused.contains(&it)) {
            let verdict = validate::validate_profile(profile);
            let documents = Documents {
                profile: *document,
                ..Documents::default()
            };
            tell_all(&mut manifest, &documents, verdict, &mut told);
        }
    }
    if shoots.is_empty() && around.is_alone {
        let mut given = profiles.values();
        let only = given.next().filter(|_| profiles.len() == 1);
        let profile = only.map(|it| it.1.as_ref());
        let (mut pools, verdict) = pools::alone(&mut manifest, profile, &around);
        pools.tell(&mut manifest);
        let documents = Documents {
            pools: Some(&pools),
            ..Documents::default()
        };
        tell_all(&mut manifest, &documents, verdict, &mut told);
        converted.extend(pools.into_workers());
    }
    super::credentials::check(&mut manifest, &shoots);
    manifest.sort_problems();
    if !manifest.problems().is_empty() {
        valid.clear();
    }
    Loaded {
        manifest,
        shoots: valid,
        pools: converted,
    }
}

/// The profiles of the files, by name; the first one of a name counts.
fn given_profiles(manifest: &mut Manifest) -> HashMap<String, Offered> {
    let all: Vec<(DocumentId, Arc<CloudProfile>)> = manifest
        .documents()
        .filter_map(|(id, it)| match it {
            Content::CloudProfile(profile) => Some((id, Arc::clone(profile))),
            _ => None,
        })
        .collect();
    let mut profiles: HashMap<String, Offered> = HashMap::new();
    for (id, profile) in all {
        let name = profile.metadata.name.clone();
        let first = profiles.get(&name).and_then(|it| it.0);
        if let Some(first) = first.filter(|_| !name.is_empty()) {
            duplicate(
                manifest,
                id,
                first,
                format!("there is a CloudProfile {name} already"),
            );
        } else {
            profiles.insert(name, (Some(id), profile));
        }
    }
    profiles
}

fn given_shoots(manifest: &mut Manifest) -> Vec<(DocumentId, Arc<Shoot>)> {
    let shoots: Vec<(DocumentId, Arc<Shoot>)> = manifest
        .documents()
        .filter_map(|(id, it)| match it {
            Content::Shoot(shoot) => Some((id, Arc::clone(shoot))),
            _ => None,
        })
        .collect();
    let mut known = HashMap::new();
    for (document, shoot) in &shoots {
        let id = validate::id(shoot);
        match known.get(&id) {
            Some(first) if !shoot.metadata.name.is_empty() => {
                duplicate(
                    manifest,
                    *document,
                    *first,
                    format!("there is a Shoot {id} already"),
                );
            }
            _ => {
                known.insert(id, *document);
            }
        }
    }
    shoots
}

fn duplicate(manifest: &mut Manifest, document: DocumentId, first: DocumentId, message: String) {
    let path = FieldPath::root().child("metadata").child("name");
    let related = manifest.locate(first, &path);
    let mut problem = Problem::new(path, Kind::Duplicate, "manifest/duplicate", message);
    if let Some(place) = related {
        problem = problem.related(place, "the first one");
    }
    manifest.tell(document, problem);
}

/// A profile of the configuration directory. Only the file that is used is judged.
fn configured(
    manifest: &mut Manifest,
    name: &str,
    around: &Around,
    profiles: &mut HashMap<String, Offered>,
) -> Option<Offered> {
    let has_it = |(_, it): (DocumentId, &Content)| matches!(it, Content::CloudProfile(profile) if profile.metadata.name == name);
    let files = around.profiles.iter();
    let file = files.filter(|_| !name.is_empty()).find(|(file, bytes)| {
        Manifest::parse([(file.clone(), bytes.clone())])
            .documents()
            .any(has_it)
    })?;
    manifest.add(file.0.clone(), file.1.clone());
    let (id, profile) = manifest.documents().find_map(|(id, it)| match it {
        Content::CloudProfile(profile) if profile.metadata.name == name => Some((id, profile)),
        _ => None,
    })?;
    let offered = (Some(id), Arc::clone(profile));
    profiles.insert(name.to_owned(), offered.clone());
    Some(offered)
}

fn recorded(profile: Option<&CloudProfile>, name: &str) -> Option<Offered> {
    let profile = profile.filter(|it| it.metadata.name == name)?;
    Some((None, Arc::new(profile.clone())))
}

fn no_profile(
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
        [] => "give its manifest with --profile or -f, or put it into profiles/ of the configuration directory".to_owned(),
        names => format!("only {} was given; add another with --profile or -f", names.join(", ")),
    };
    let message = format!("CloudProfile {name} is not there");
    manifest.tell(
        document,
        Problem::new(path, Kind::Required, "shoot/profile", message).hint(Some(hint)),
    );
}

/// Where what is judged together stands; what comes from a record has no text.
#[derive(Default)]
struct Documents<'a> {
    shoot: Option<DocumentId>,
    profile: Option<DocumentId>,
    pools: Option<&'a Pools>,
}

impl Documents<'_> {
    fn place(&self, document: Document, path: &FieldPath) -> Option<(DocumentId, FieldPath)> {
        let own = match document {
            Document::Shoot => self.shoot,
            Document::CloudProfile => self.profile,
            // Those know their own documents.
            Document::MachineDeployment => None,
        };
        let is_shoot = document == Document::Shoot;
        let elsewhere = self
            .pools
            .filter(|_| is_shoot)
            .and_then(|it| it.origin(path));
        elsewhere.or_else(|| Some((own?, path.clone())))
    }
}

/// Gives what the rules found its place. Several shoots may have the same profile, whose faults are told once.
fn tell_all(
    manifest: &mut Manifest,
    documents: &Documents,
    verdict: Verdict,
    told: &mut HashSet<(DocumentId, String, &'static str)>,
) -> Option<validate::ValidShoot> {
    let errors = verdict.errors.into_iter().map(|it| (it, false));
    let warnings = verdict.warnings.into_iter().map(|it| (it, true));
    for (mut finding, is_warning) in errors.chain(warnings) {
        let Some((document, path)) = documents.place(finding.document, &finding.path) else {
            // A profile of a record has no text.
            manifest.tell_without_place(problem(finding), is_warning);
            continue;
        };
        // Several fields of a pool may come from one.
        let is_own = Some(document) == documents.shoot;
        let is_new = is_own || told.insert((document, path.to_string(), finding.code));
        if !is_new || documents.pools.is_some_and(|it| it.is_settled(&finding)) {
            continue;
        }
        if rests_on_broken(manifest, documents.profile, finding.code) {
            continue;
        }
        finding.path = path;
        if let Some(pools) = documents.pools {
            pools.mask(document, &mut finding);
        }
        let inside = finding.inside;
        let see = finding.see.clone();
        let mut problem = problem(finding);
        if let Some((line, column)) = inside {
            problem.place = manifest.locate_inside(document, &problem.path, line, column);
        }
        if let Some((other, path, label)) = see
            && let Some((other, path)) = documents.place(other, &path)
        {
            // What it rests on is broken itself, and about that all has been said.
            let Some(place) = manifest.locate(other, &path) else {
                continue;
            };
            problem = problem.related(place, label);
        }
        if is_warning {
            manifest.warn(document, problem);
        } else {
            manifest.tell(document, problem);
        }
    }
    verdict.shoot
}

/// What cannot be read offers nothing; that it is broken has been said.
fn rests_on_broken(manifest: &Manifest, profile: Option<DocumentId>, code: &str) -> bool {
    let (Some(profile), Some(field)) = (profile, validate::read_from(code)) else {
        return false;
    };
    let path = FieldPath::root().child("spec").child(field);
    manifest.locate(profile, &path).is_none()
}

pub(super) fn problem(finding: Finding) -> Problem {
    Problem::new(finding.path, finding.kind, finding.code, finding.message).hint(finding.hint)
}
