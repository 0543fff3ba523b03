//! MachineDeployments among the manifests: the Shoot that each belongs to, and the pool that it is converted to.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::context::{FetchedValues, LoadContext};
use super::problem::problem;
use crate::manifest::{Content, DocumentId, Manifest, Problem};
use crate::model::{
    CloudProfile, ConfigVar, ConfigVarValue, FieldPath, Finding, FindingKind, KeyReference,
    MachineDeployment, Segment, Shoot, Worker,
};
use crate::validate::machine_deployment::{self, ConversionInput, Converted, ResolvedValue};
use crate::validate::{self, ValidationOutcome};

/// A MachineDeployment and its document.
type Deployment = (DocumentId, Arc<MachineDeployment>);

/// The pool that a MachineDeployment was converted to.
#[derive(Debug)]
pub(crate) struct ConvertedPool {
    pub(crate) worker: Worker,
    /// False when the zones of the region are unknown and a placeholder is used.
    pub(crate) knows_zones: bool,
}

/// In place of a technical ID, for the reference that decides which Shoot a MachineDeployment belongs to.
const UNKNOWN_SHOOT: &str = "";

/// Surrounds pools without a Shoot. Its own findings are dropped.
const PLACEHOLDER: &str = "\
apiVersion: core.gardener.cloud/v1beta1
kind: Shoot
metadata: {name: pool}
spec:
  cloudProfileName: pool
  region: region
  provider: {type: kubevirt}
  networking: {type: flannel, nodes: 10.0.0.0/16}
  kubernetes: {version: \"1.34\"}
";

fn given(manifest: &Manifest) -> Vec<Deployment> {
    let deployment = |(document, content): (DocumentId, &Content)| match content {
        Content::MachineDeployment(it) => Some((document, Arc::clone(it))),
        _ => None,
    };
    manifest.documents().filter_map(deployment).collect()
}

/// Returns the keys of Secrets and ConfigMaps that the MachineDeployments of Shoots refer to, with the technical ID of
/// the Shoot; all Shoots are possible while that is unknown.
pub(super) fn references(
    manifest: &Manifest,
    shoots: &[(DocumentId, Arc<Shoot>)],
) -> BTreeSet<(String, KeyReference)> {
    let mut references = BTreeSet::new();
    for (_, deployment) in given(manifest) {
        let Ok(owner) = owner(&deployment, shoots, &FetchedValues::Pending) else {
            continue;
        };
        if owner.is_none()
            && let Some(ConfigVarValue::Reference(reference)) = cluster_name(&deployment)
        {
            references.insert((UNKNOWN_SHOOT.to_owned(), reference));
        }
        let possible = match owner {
            Some(index) => &shoots[index..=index],
            None => shoots,
        };
        let found = convert(&deployment, Vec::new(), "", &FetchedValues::Pending).references;
        for (_, shoot) in possible {
            let id = validate::id(shoot);
            references.extend(found.iter().map(|it| (id.clone(), it.clone())));
        }
    }
    references
}

/// The MachineDeployments that certainly belong to a Shoot, by its index.
pub(super) fn of_shoot(
    manifest: &Manifest,
    shoots: &[(DocumentId, Arc<Shoot>)],
    index: usize,
) -> Vec<Arc<MachineDeployment>> {
    let is_own = |it: &Deployment| {
        let owner = owner(&it.1, shoots, &FetchedValues::Pending);
        matches!(owner, Ok(Some(found)) if found == index)
    };
    let own = given(manifest).into_iter().filter(is_own);
    own.map(|it| it.1).collect()
}

fn convert(
    deployment: &MachineDeployment,
    zones: Vec<String>,
    shoot: &str,
    values: &FetchedValues,
) -> Converted {
    machine_deployment::convert(&ConversionInput {
        deployment,
        zones,
        lookup: &|reference| values.resolve(shoot, reference),
    })
}

/// Returns the MachineDeployments of each Shoot, and reports those that belong to none.
pub(super) fn of_shoots(
    manifest: &mut Manifest,
    shoots: &[(DocumentId, Arc<Shoot>)],
    context: &LoadContext,
) -> Vec<Vec<Deployment>> {
    let mut all = vec![Vec::new(); shoots.len()];
    for deployment in given(manifest) {
        match owner(&deployment.1, shoots, &context.values) {
            Ok(Some(index)) => all[index].push(deployment),
            Ok(None) => {}
            Err(problem) => manifest.report(deployment.0, *problem),
        }
    }
    all
}

/// Returns the index of the Shoot that a MachineDeployment belongs to; None while that is unknown.
fn owner(
    deployment: &MachineDeployment,
    shoots: &[(DocumentId, Arc<Shoot>)],
    values: &FetchedValues,
) -> Result<Option<usize>, Box<Problem>> {
    let code = "machine-deployment/shoot";
    let at_name = FieldPath::root().child("metadata").child("name");
    if let [_] = shoots {
        return Ok(Some(0));
    }
    if shoots.is_empty() {
        let message = "no Shoot for this pool";
        let problem = Problem::new(at_name, FindingKind::Required, code, message);
        let hint = "add a Shoot, or run `kvshoot convert` to see the converted pool";
        return Err(Box::new(problem.hint(Some(hint))));
    }
    let wanted = match cluster_name(deployment) {
        None => String::new(),
        Some(ConfigVarValue::Inline(text)) => text,
        Some(ConfigVarValue::Reference(reference)) => {
            match values.resolve(UNKNOWN_SHOOT, &reference) {
                ResolvedValue::Found(text) => text,
                ResolvedValue::Pending | ResolvedValue::Skipped => return Ok(None),
                ResolvedValue::Missing(_) | ResolvedValue::Offline => String::new(),
            }
        }
    };
    let ids: Vec<String> = shoots.iter().map(|(_, it)| validate::id(it)).collect();
    let hint = || format!("set clusterName to one of {}", ids.join(", "));
    if wanted.is_empty() {
        let message = format!("the pool could belong to any of {} Shoots", shoots.len());
        let problem = Problem::new(at_name, FindingKind::Required, code, message);
        return Err(Box::new(problem.hint(Some(hint()))));
    }
    let is_named = |i: &usize| ids[*i] == wanted || shoots[*i].1.metadata.name == wanted;
    let mut named = (0..shoots.len()).filter(is_named);
    match (named.next(), named.next()) {
        (Some(index), None) => Ok(Some(index)),
        (first, _) => {
            let message = match first {
                Some(_) => format!("more than one Shoot is named {wanted:?}"),
                None => format!("Shoot {wanted:?} not found"),
            };
            let problem = Problem::new(at_cluster(), FindingKind::Invalid, code, message);
            Err(Box::new(problem.hint(Some(hint()))))
        }
    }
}

/// The Shoot that a MachineDeployment names.
fn cluster_name(deployment: &MachineDeployment) -> Option<ConfigVarValue> {
    let spec = &deployment.spec.template.spec.provider_spec.value;
    let name = spec.cloud_provider_spec.cluster_name.as_ref();
    name.map(ConfigVar::resolve)
}

fn at_cluster() -> FieldPath {
    let steps = "spec.template.spec.providerSpec.value.cloudProviderSpec.clusterName";
    steps
        .split('.')
        .fold(FieldPath::root(), |it, step| it.child(step))
}

/// Converts MachineDeployments without a Shoot, and judges the pools alone.
pub(super) fn alone(
    manifest: &Manifest,
    profile: Option<&CloudProfile>,
    context: &LoadContext,
) -> (Pools, ValidationOutcome) {
    let placeholder = Manifest::parse([(String::new(), PLACEHOLDER.into())]);
    let shoot = placeholder
        .documents()
        .find_map(|(_, content)| match content {
            Content::Shoot(shoot) => Some(Shoot::clone(shoot)),
            _ => None,
        });
    let mut shoot = shoot.expect("the placeholder is valid");
    if let Some([only]) = profile.map(|it| it.spec.regions.as_slice()) {
        shoot.spec.region.clone_from(&only.name);
    }
    let (shoot, pools) = add(&Arc::new(shoot), &given(manifest), profile, None, context);
    let mut verdict = validate::validate_alone(&shoot, None, context.now);
    verdict.errors.retain(|it| pools.origin(&it.path).is_some());
    verdict
        .warnings
        .retain(|it| pools.origin(&it.path).is_some());
    (pools, verdict)
}

/// The pools of MachineDeployments. They follow those of the Shoot.
pub(super) struct Pools {
    own: usize,
    converted: Vec<ConvertedDeployment>,
}

struct ConvertedDeployment {
    document: DocumentId,
    pool: Converted,
    knows_zones: bool,
    /// Fields whose problems were found by the conversion.
    reported: Vec<FieldPath>,
}

/// Returns the Shoot with the pools of its MachineDeployments.
pub(super) fn add(
    shoot: &Arc<Shoot>,
    deployments: &[Deployment],
    profile: Option<&CloudProfile>,
    before: Option<&Shoot>,
    context: &LoadContext,
) -> (Arc<Shoot>, Pools) {
    let own = shoot.spec.provider.workers.len();
    let mut whole = Arc::clone(shoot);
    let mut converted = Vec::with_capacity(deployments.len());
    for (document, deployment) in deployments {
        let had = before.map_or(&[][..], |it| &it.spec.provider.workers);
        let had = had.iter().find(|it| it.name == deployment.metadata.name);
        let mut zones = machine_deployment::zones(deployment, &shoot.spec.region, profile, had);
        let knows_zones = !zones.is_empty();
        if !knows_zones {
            zones.push(machine_deployment::some_zone(deployment));
        }
        let pool = convert(deployment, zones, &validate::id(shoot), &context.values);
        let workers = &mut Arc::make_mut(&mut whole).spec.provider.workers;
        workers.push(pool.worker.clone());
        converted.push(ConvertedDeployment {
            document: *document,
            reported: pool.errors.iter().map(|it| it.path.clone()).collect(),
            pool,
            knows_zones,
        });
    }
    (whole, Pools { own, converted })
}

impl Pools {
    /// Reports the findings of the conversion.
    pub(super) fn report(&mut self, manifest: &mut Manifest) {
        for entry in &mut self.converted {
            for finding in entry.pool.errors.drain(..) {
                manifest.report(entry.document, problem(finding));
            }
            for finding in entry.pool.warnings.drain(..) {
                manifest.warn(entry.document, problem(finding));
            }
        }
    }

    /// The document and field that a field of the Shoot was converted from, if any.
    pub(super) fn origin(&self, path: &FieldPath) -> Option<(DocumentId, FieldPath)> {
        let (entry, below) = self.entry(path)?;
        Some((entry.document, entry.pool.field_map.of(below)))
    }

    /// Masks values of Secrets in a finding that is already placed.
    pub(super) fn mask(&self, document: DocumentId, finding: &mut Finding) {
        let mut converted = self.converted.iter();
        if let Some(entry) = converted.find(|it| it.document == document) {
            entry.pool.secrets.mask(finding);
        }
    }

    /// Returns true if a finding must not be reported: it depends on values that are not fetched, or was reported.
    pub(super) fn is_settled(&self, finding: &Finding) -> bool {
        let Some((entry, below)) = self.entry(&finding.path) else {
            return false;
        };
        let place = entry.pool.field_map.of(below);
        let place = place.segments();
        let is_at_or_above = |other: &FieldPath| other.segments().starts_with(place);
        // Findings of sibling fields may depend on the value, too.
        let rests_on = |unasked: &FieldPath| {
            let above = unasked.segments().split_last().map_or(&[][..], |it| it.1);
            let is_sibling = || place.len() == above.len() + 1 && place.starts_with(above);
            is_at_or_above(unasked) || is_sibling()
        };
        entry.pool.is_pending
            || entry.reported.iter().any(is_at_or_above)
            || entry.pool.skipped.iter().any(rests_on)
    }

    fn entry<'p>(&self, path: &'p FieldPath) -> Option<(&ConvertedDeployment, &'p [Segment])> {
        let (index, below) = of_pool(path)?;
        let entry = self.converted.get(index.checked_sub(self.own)?)?;
        Some((entry, below))
    }

    pub(super) fn into_converted(self) -> impl Iterator<Item = ConvertedPool> {
        self.converted.into_iter().map(|entry| ConvertedPool {
            worker: entry.pool.worker,
            knows_zones: entry.knows_zones,
        })
    }
}

/// Returns the index of the pool of a path, and the path below it.
fn of_pool(path: &FieldPath) -> Option<(usize, &[Segment])> {
    let above = ["spec", "provider", "workers"].map(|it| Segment::Key(it.to_owned()));
    match path.segments().strip_prefix(&above)? {
        [Segment::Index(index), below @ ..] => Some((*index, below)),
        _ => None,
    }
}
