//! Items of keys and certificates: one Secret each, and its renewal.

use crate::plan::planner::Planner;
use crate::render::control_plane::certificate::subjects::{
    self, ApiServerAddresses, CertificateSubject,
};
use crate::render::control_plane::certificate::{KEYS, ROOTS, wanted};
use crate::state::action::{Action, Desired, IssuedSecret, KeyMaterial, LeafCertificate, Payload};
use crate::state::facts::{
    Facts, ObjectStatus, ObservedCertificate, ObservedObject, ObservedSecret,
};
use crate::state::failure::{ErrorClass, Failure};
use crate::state::key::{ObjectKey, ObjectKind};
use crate::state::names;
use crate::state::observed::Observed;
use crate::state::plan::{Dependency, ItemKind, ItemState};
use crate::state::record::rotation::{Credential, KeyContent, RotationRecord, RotationStep};
use crate::state::site::Site;
use crate::validate::ValidShoot;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Dependencies of certificates.
pub(crate) struct CertificateNeeds<'a> {
    pub(crate) record: Dependency,
    /// Dependencies of all certificates: the addresses inside the provider cluster.
    pub(crate) addresses: &'a [Dependency],
    /// Dependencies of the certificates that machines verify.
    pub(crate) serving: &'a [Dependency],
}

/// CAs and keys depend on the record alone, leaf certificates on their CA and on the addresses in them.
pub(crate) fn add(
    planner: &mut Planner,
    shoot: &ValidShoot,
    site: &Site,
    reach: Option<&ApiServerAddresses>,
    given: &CertificateNeeds,
) -> Vec<Dependency> {
    let record = given.record;
    let observed = planner.observed;
    let rotation = rotation(&observed.facts);
    let mut subjects = subjects::all(shoot, site, reach);
    for subject in &mut subjects {
        if let Some(leaf) = &mut subject.leaf {
            rotate_leaf(subject.part, leaf, site, &rotation);
        }
    }
    let in_use = RootsInUse::of(&observed.facts, site, &subjects);
    let mut one = |part: &str, title: String, issued: Option<KeyMaterial>, needs: &[Dependency]| {
        let state = match issued.map(|it| wanted(site, part, it)) {
            Some(wanted) if in_use.is_lost(&observed.facts, &wanted) => {
                ItemState::Failed(lost(&wanted.key, &shoot.name))
            }
            Some(wanted) => state(observed, wanted),
            None => ItemState::Blocked,
        };
        let kind = ItemKind::Certificate(part.into());
        let name = names::control_plane(site.id, part);
        planner
            .plan
            .parts
            .insert(ObjectKey::provider(ObjectKind::Secret, name));
        planner.add(kind, title, needs, state)
    };
    let mut needs = Vec::new();
    let mut roots: HashMap<Arc<str>, Dependency> = HashMap::new();
    for (part, common_name, of) in ROOTS {
        let title = format!("Create CA of {of}");
        let need = one(
            part,
            title,
            Some(KeyMaterial::Root {
                common_name,
                generation: rotation.generation(part),
            }),
            &[record],
        );
        roots.insert(names::control_plane(site.id, part).into(), need);
        needs.push(need);
    }
    for (part, title, issued) in KEYS {
        let issued = issued.at(rotation.generation(part));
        needs.push(one(part, title.to_owned(), Some(issued), &[record]));
    }
    for CertificateSubject { part, of, leaf } in subjects {
        let root = leaf.as_ref().and_then(|it| roots.get(&it.root));
        let addresses = match part {
            names::part::API_SERVER | subjects::KONNECTIVITY_SERVER => given.serving,
            _ => given.addresses,
        };
        let held_back: Vec<Dependency> = root.into_iter().chain(addresses).copied().collect();
        let title = format!("Issue certificate of {of}");
        needs.push(one(part, title, leaf.map(KeyMaterial::Leaf), &held_back));
    }
    needs
}

/// The rotations in the record.
pub(crate) fn rotation(facts: &Facts) -> RotationRecord {
    let record = facts.record.as_ref();
    record.map(|it| it.rotation.clone()).unwrap_or_default()
}

/// Gives a certificate what its CA's Secret has at this point of a rotation. Kubeconfigs of users trust the servers of
/// the old CA alone, and kubelets of old machines its clients, so these change last.
pub(in crate::plan) fn rotate_leaf(
    part: &str,
    leaf: &mut LeafCertificate,
    site: &Site,
    rotation: &RotationRecord,
) {
    let is_last = leaf.server || part == subjects::KUBELET_CLIENT;
    let roots = ROOTS.iter().map(|it| it.0);
    let of = |part: &&str| *names::control_plane(site.id, part) == *leaf.root;
    let Some(root) = roots.into_iter().find(of) else {
        return;
    };
    leaf.trust = rotation.generation(root);
    let credential = Credential::of_part(root);
    let step = credential.and_then(|it| rotation.step(it));
    let is_before_serving = step.is_some_and(|it| it < RotationStep::Serve);
    leaf.is_of_previous = root == subjects::CA
        && is_last
        && is_before_serving
        && leaf.trust.content == KeyContent::Leading;
}

/// Names of CAs and keys that the cluster was created with.
struct RootsInUse {
    /// Everything was created before etcd, and etcd before the machines.
    all: bool,
    /// CAs of existing certificates.
    names: HashSet<Arc<str>>,
}

impl RootsInUse {
    fn of(facts: &Facts, site: &Site, subjects: &[CertificateSubject]) -> RootsInUse {
        let is_there = |kind, part: &str| {
            let name = names::control_plane(site.id, part);
            facts.objects.contains_key(&ObjectKey::provider(kind, name))
        };
        let issued = subjects
            .iter()
            .filter(|it| is_there(ObjectKind::Secret, it.part));
        RootsInUse {
            all: is_there(ObjectKind::StatefulSet, names::part::ETCD)
                || facts.machines.values().any(|it| !it.is_empty()),
            names: issued
                .filter_map(|it| Some(it.leaf.as_ref()?.root.clone()))
                .collect(),
        }
    }

    /// Returns true if the Secret of a CA or key is missing although the cluster was created with it. A new one would
    /// lock out all nodes, or leave stored Secrets unreadable.
    fn is_lost(&self, facts: &Facts, wanted: &Desired) -> bool {
        let is_leaf = matches!(&wanted.payload, Payload::Issue(it) if matches!(it.what, KeyMaterial::Leaf(_)));
        let key = &wanted.key;
        let is_missing = !facts.objects.contains_key(key) && !facts.foreign.contains_key(key);
        !is_leaf && is_missing && (self.all || self.names.contains(&key.name))
    }
}

fn lost(key: &ObjectKey, shoot: &str) -> Failure {
    let message = format!(
        "{key} was deleted, and the cluster depends on its keys: run kvshoot restore {shoot} --from DEST --secrets-only with a backup of the shoot, or delete the shoot and create it again"
    );
    Failure::new(ErrorClass::Missing, message)
}

/// State of a Secret with keys or certificates.
pub(crate) fn state(observed: &Observed, wanted: Desired) -> ItemState {
    let key = &wanted.key;
    let fail = |class, message| ItemState::Failed(Failure::new(class, message));
    if observed.facts.foreign.contains_key(key) {
        let message = format!("{key} already exists and belongs to another shoot of that name");
        return fail(ErrorClass::Foreign, message);
    }
    let Some(there) = observed.facts.objects.get(key) else {
        return ItemState::Due(Action::Apply(wanted));
    };
    if there.leaving {
        return ItemState::Waiting(format!("the old {key} is terminating"));
    }
    match &wanted.payload {
        Payload::Issue(issue) => match &issue.what {
            KeyMaterial::Leaf(leaf)
                if there.hash != wanted.hash || !is_good(observed, leaf, certificate(there)) =>
            {
                let leaf = with_names_in_use(&observed.facts, leaf, certificate(there));
                ItemState::Due(Action::Apply(Desired {
                    payload: Payload::Issue(Arc::new(IssuedSecret {
                        object: issue.object.clone(),
                        what: KeyMaterial::Leaf(leaf),
                    })),
                    ..wanted
                }))
            }
            // Its content changes step by step, with a rotation.
            _ if there.hash != wanted.hash && is_rotated(&issue.what) => {
                ItemState::Due(Action::Apply(wanted))
            }
            // Everything signed or encrypted with it would be lost, so it is never replaced.
            KeyMaterial::Root { .. } => match root_trouble(&observed.facts, there) {
                Some(trouble) => fail(ErrorClass::Infrastructure, format!("{key} {trouble}")),
                None => ItemState::Done,
            },
            KeyMaterial::Leaf(_) | KeyMaterial::SigningKey(_) | KeyMaterial::EncryptionKey(_) => {
                ItemState::Done
            }
        },
        _ => ItemState::Done,
    }
}

fn is_rotated(what: &KeyMaterial) -> bool {
    what.generation().is_some_and(|it| !it.is_first())
}

/// Extra names do no harm, so a name that comes and goes does not cause endless renewals.
fn is_good(
    observed: &Observed,
    leaf: &LeafCertificate,
    there: Option<&ObservedCertificate>,
) -> bool {
    let facts = &observed.facts;
    let root = facts
        .objects
        .get(&ObjectKey::provider(ObjectKind::Secret, leaf.root.clone()))
        .and_then(secret);
    let issuer = root.and_then(|root| match leaf.is_of_previous {
        true => root.previous,
        false => root.certificate.as_ref().map(|it| it.key),
    });
    there.is_some_and(|certificate| {
        issuer.is_none_or(|it| it == certificate.issuer)
            && leaf
                .names
                .iter()
                .all(|name| certificate.names.contains(&**name))
            && !is_old(facts, certificate)
    })
}

/// Adds the names of a certificate that is replaced before its time: until they are replaced, machines use an address
/// that is no longer in the manifest.
fn with_names_in_use(
    facts: &Facts,
    leaf: &LeafCertificate,
    there: Option<&ObservedCertificate>,
) -> LeafCertificate {
    let mut leaf = leaf.clone();
    let young = there.filter(|it| !is_old(facts, it));
    let former = young.iter().flat_map(|it| it.names.iter());
    let former: Vec<String> = former
        .filter(|it| !leaf.names.iter().any(|name| *name == ***it))
        .map(|it| it.to_string())
        .collect();
    leaf.names.extend(former);
    leaf
}

/// Returns true in the last third of its life, in which it is renewed.
fn is_old(facts: &Facts, certificate: &ObservedCertificate) -> bool {
    let life = certificate.expires.saturating_sub(certificate.issued);
    certificate.expires.saturating_sub(facts.time) < life / 3
}

fn root_trouble(facts: &Facts, there: &ObservedObject) -> Option<&'static str> {
    match (certificate(there), &secret(there)?.ca) {
        (Some(it), Some(_)) if it.expires > facts.time => None,
        (Some(_), Some(_)) => Some("contains an expired CA certificate"),
        _ => Some("lacks the annotations that describe its content"),
    }
}

fn certificate(object: &ObservedObject) -> Option<&ObservedCertificate> {
    secret(object)?.certificate.as_ref()
}

fn secret(object: &ObservedObject) -> Option<&ObservedSecret> {
    match &object.status {
        ObjectStatus::Secret(it) => Some(it),
        _ => None,
    }
}

#[cfg(test)]
#[path = "certificates_tests.rs"]
mod tests;
