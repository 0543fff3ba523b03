//! MachineDeployments among the manifests: which Shoot each belongs to, its pool there, and the way back.

use std::sync::Arc;

use super::{Around, Pool};
use crate::manifest::{Content, DocumentId, Manifest, Problem};
use crate::model::{
    CloudProfile, ConfigVar, Counts, FieldPath, Finding, Kind, MachineDeployment, Segment, Shoot,
};
use crate::validate::machine_deployment::{self, Converted, Given, Looked};
use crate::validate::{self, Verdict};

/// A MachineDeployment and where it stands.
pub(super) type Deployment = (DocumentId, Arc<MachineDeployment>);

/// Around pools whose Shoot is not there; nothing of it is judged.
const STAND_IN: &str = "\
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

pub(super) fn given(manifest: &Manifest) -> Vec<Deployment> {
    let deployment = |(id, it): (DocumentId, &Content)| match it {
        Content::MachineDeployment(it) => Some((id, Arc::clone(it))),
        _ => None,
    };
    manifest.documents().filter_map(deployment).collect()
}

/// The MachineDeployments of each Shoot; tells those that belong to none.
pub(super) fn of_shoots(
    manifest: &mut Manifest,
    shoots: &[(DocumentId, Arc<Shoot>)],
    around: &Around,
) -> Vec<Vec<Deployment>> {
    let mut all = vec![Vec::new(); shoots.len()];
    for deployment in given(manifest) {
        match owner(&deployment.1, shoots, around) {
            Ok(Some(index)) => all[index].push(deployment),
            // What it takes from elsewhere is asked for together with its owner.
            Ok(None) => drop(machine_deployment::convert(&Given {
                deployment: &deployment.1,
                zones: Vec::new(),
                look: around.look,
            })),
            Err(problem) => manifest.tell(deployment.0, *problem),
        }
    }
    all
}

/// None when it is not known yet.
fn owner(
    deployment: &MachineDeployment,
    shoots: &[(DocumentId, Arc<Shoot>)],
    around: &Around,
) -> Result<Option<usize>, Box<Problem>> {
    let code = "machine-deployment/shoot";
    let at_name = FieldPath::root().child("metadata").child("name");
    if let [_] = shoots {
        return Ok(Some(0));
    }
    if shoots.is_empty() {
        let message = "there is no Shoot that the pool could belong to";
        let problem = Problem::new(at_name, Kind::Required, code, message);
        let hint = "give the Shoot too, or see with `kvshoot convert` what pool it is";
        return Err(Box::new(problem.hint(Some(hint))));
    }
    let spec = &deployment.spec.template.spec.provider_spec.value;
    let var = spec.cloud_provider_spec.cluster_name.as_ref();
    let wanted = match var.map(ConfigVar::counts) {
        None => String::new(),
        Some(Counts::Text(text)) => text,
        Some(Counts::There(reference)) => match (around.look)(&reference) {
            Looked::Found(text) => text,
            Looked::Later | Looked::Unasked => return Ok(None),
            Looked::Missing(_) | Looked::Offline => String::new(),
        },
    };
    let ids: Vec<String> = shoots.iter().map(|(_, it)| validate::id(it)).collect();
    let hint = || format!("write clusterName with one of {}", ids.join(", "));
    if wanted.is_empty() {
        let message = format!("there are {} Shoots that it could belong to", shoots.len());
        let problem = Problem::new(at_name, Kind::Required, code, message);
        return Err(Box::new(problem.hint(Some(hint()))));
    }
    let is_named = |i: &usize| ids[*i] == wanted || shoots[*i].1.metadata.name == wanted;
    let mut named = (0..shoots.len()).filter(is_named);
    match (named.next(), named.next()) {
        (Some(index), None) => Ok(Some(index)),
        (first, _) => {
            let how_many = if first.is_some() {
                "more than one"
            } else {
                "no"
            };
            let message = format!("there is {how_many} Shoot {wanted}");
            let problem = Problem::new(at_cluster(), Kind::Invalid, code, message);
            Err(Box::new(problem.hint(Some(hint()))))
        }
    }
}

fn at_cluster() -> FieldPath {
    let steps = "spec.template.spec.providerSpec.value.cloudProviderSpec.clusterName";
    steps
        .split('.')
        .fold(FieldPath::root(), |it, step| it.child(step))
}

/// The pools of MachineDeployments without a Shoot, and what is wrong with them by themselves.
pub(super) fn alone(
    manifest: &mut Manifest,
    profile: Option<&CloudProfile>,
    around: &Around,
) -> (Pools, Verdict) {
    let stand_in = Manifest::parse([(String::new(), STAND_IN.into())]);
    let shoot = stand_in.documents().find_map(|(_, it)| match it {
        Content::Shoot(it) => Some(Shoot::clone(it)),
        _ => None,
    });
    let mut shoot = shoot.expect("it can be read");
    if let Some([only]) = profile.map(|it| it.spec.regions.as_slice()) {
        shoot.spec.region.clone_from(&only.name);
    }
    let (shoot, pools) = add(&Arc::new(shoot), &given(manifest), profile, None, around);
    let mut verdict = validate::validate_alone(&shoot, None, around.now);
    verdict.errors.retain(|it| pools.origin(&it.path).is_some());
    verdict
        .warnings
        .retain(|it| pools.origin(&it.path).is_some());
    (pools, verdict)
}

/// The pools of MachineDeployments, behind those that the Shoot has itself.
pub(super) struct Pools {
    own: usize,
    converted: Vec<Entry>,
}

struct Entry {
    document: DocumentId,
    deployment: Arc<MachineDeployment>,
    pool: Converted,
    knows_zones: bool,
    /// Fields about which all has been said.
    told: Vec<FieldPath>,
}

/// A Shoot with the pools of its MachineDeployments.
pub(super) fn add(
    shoot: &Arc<Shoot>,
    deployments: &[Deployment],
    profile: Option<&CloudProfile>,
    before: Option<&Shoot>,
    around: &Around,
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
        let pool = machine_deployment::convert(&Given {
            deployment,
            zones,
            look: around.look,
        });
        let workers = &mut Arc::make_mut(&mut whole).spec.provider.workers;
        workers.push(pool.worker.clone());
        converted.push(Entry {
            document: *document,
            deployment: Arc::clone(deployment),
            told: pool.errors.iter().map(|it| it.path.clone()).collect(),
            pool,
            knows_zones,
        });
    }
    (whole, Pools { own, converted })
}

impl Pools {
    /// What was found while they were converted.
    pub(super) fn tell(&mut self, manifest: &mut Manifest) {
        for entry in &mut self.converted {
            for finding in entry.pool.errors.drain(..) {
                manifest.tell(entry.document, super::judge::problem(finding));
            }
            for finding in entry.pool.warnings.drain(..) {
                manifest.warn(entry.document, super::judge::problem(finding));
            }
        }
    }

    /// Tells kubelets of another version than the control plane's.
    pub(super) fn tell_kubelets(&self, version: &str, manifest: &mut Manifest) {
        for entry in &self.converted {
            let finding = machine_deployment::kubelet(&entry.deployment, version);
            if let Some(finding) = finding.filter(|_| !version.is_empty()) {
                manifest.tell(entry.document, super::judge::problem(finding));
            }
        }
    }

    /// The document and field that a field of the Shoot comes from, when that is another document.
    pub(super) fn origin(&self, path: &FieldPath) -> Option<(DocumentId, FieldPath)> {
        let (entry, below) = self.entry(path)?;
        Some((entry.document, entry.pool.places.of(below)))
    }

    /// Takes what came from Secrets out of a finding, which has its place already.
    pub(super) fn mask(&self, document: DocumentId, finding: &mut Finding) {
        let mut converted = self.converted.iter();
        if let Some(entry) = converted.find(|it| it.document == document) {
            entry.pool.secrets.mask(finding);
        }
    }

    /// Whether nothing is to be said of a field of the Shoot: more has to be known first, or all was said.
    pub(super) fn is_settled(&self, finding: &Finding) -> bool {
        let Some((entry, below)) = self.entry(&finding.path) else {
            return false;
        };
        let place = entry.pool.places.of(below);
        let place = place.segments();
        let is_at_or_above = |told: &FieldPath| told.segments().starts_with(place);
        // What is said of a field beside it may come of the value, too.
        let rests_on = |unasked: &FieldPath| {
            let above = unasked.segments().split_last().map_or(&[][..], |it| it.1);
            let is_beside = || place.len() == above.len() + 1 && place.starts_with(above);
            is_at_or_above(unasked) || is_beside()
        };
        entry.pool.is_open
            || entry.told.iter().any(is_at_or_above)
            || entry.pool.unasked.iter().any(rests_on)
    }

    fn entry<'p>(&self, path: &'p FieldPath) -> Option<(&Entry, &'p [Segment])> {
        let (index, below) = of_pool(path)?;
        let entry = self.converted.get(index.checked_sub(self.own)?)?;
        Some((entry, below))
    }

    pub(super) fn into_workers(self) -> impl Iterator<Item = Pool> {
        self.converted.into_iter().map(|it| Pool {
            worker: it.pool.worker,
            knows_zones: it.knows_zones,
        })
    }
}

/// The pool of a path, and the path below it.
fn of_pool(path: &FieldPath) -> Option<(usize, &[Segment])> {
    let above = ["spec", "provider", "workers"].map(|it| Segment::Key(it.to_owned()));
    match path.segments().strip_prefix(&above)? {
        [Segment::Index(index), below @ ..] => Some((*index, below)),
        _ => None,
    }
}
