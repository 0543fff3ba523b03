//! Items of keys and certificates: one Secret each, and its renewal.

use crate::plan::planner::Planner;
use crate::render::control_plane::certificate::{KEYS, ROOTS, wanted};
use crate::render::control_plane::certificate_subjects::{
    self, ApiServerAddresses, CertificateSubject,
};
use crate::state::action::{Action, Desired, KeyMaterial, LeafCertificate, Payload};
use crate::state::facts::{
    Facts, ObjectStatus, ObservedCertificate, ObservedObject, ObservedSecret,
};
use crate::state::failure::{ErrorClass, Failure};
use crate::state::key::{ObjectKey, ObjectKind};
use crate::state::names;
use crate::state::observed::Observed;
use crate::state::plan::{Dependency, ItemKind, ItemState};
use crate::state::site::Site;
use crate::validate::ValidShoot;
use std::collections::HashMap;
use std::sync::Arc;

/// Dependencies of certificates.
pub(crate) struct CertificateNeeds<'a> {
    pub(crate) record: Dependency,
    /// Dependencies of all certificates: the addresses inside the provider cluster.
    pub(crate) addresses: &'a [Dependency],
    /// Dependencies of the API server's serving certificate.
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
    let mut one = |part: &str, title: String, issued: Option<KeyMaterial>, needs: &[Dependency]| {
        let state = match issued {
            Some(issued) => state(observed, wanted(site, part, issued)),
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
            Some(KeyMaterial::Root { common_name }),
            &[record],
        );
        roots.insert(names::control_plane(site.id, part).into(), need);
        needs.push(need);
    }
    for (part, title, issued) in KEYS {
        needs.push(one(part, title.to_owned(), Some(issued), &[record]));
    }
    for CertificateSubject { part, of, leaf } in certificate_subjects::all(shoot, site, reach) {
        let root = leaf.as_ref().and_then(|it| roots.get(&it.root));
        let addresses = match part == names::part::API_SERVER {
            true => given.serving,
            false => given.addresses,
        };
        let held_back: Vec<Dependency> = root.into_iter().chain(addresses).copied().collect();
        let title = format!("Issue certificate of {of}");
        needs.push(one(part, title, leaf.map(KeyMaterial::Leaf), &held_back));
    }
    needs
}

fn state(observed: &Observed, wanted: Desired) -> ItemState {
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
                ItemState::Due(Action::Apply(wanted))
            }
            // Everything signed or encrypted with it would be lost, so it is never replaced.
            KeyMaterial::Root { .. } => match root_trouble(&observed.facts, there) {
                Some(trouble) => fail(ErrorClass::Infrastructure, format!("{key} {trouble}")),
                None => ItemState::Done,
            },
            KeyMaterial::Leaf(_) | KeyMaterial::SigningKey | KeyMaterial::EncryptionKey => {
                ItemState::Done
            }
        },
        _ => ItemState::Done,
    }
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
        .and_then(certificate);
    there.is_some_and(|certificate| {
        root.is_none_or(|root| root.key == certificate.issuer)
            && leaf
                .names
                .iter()
                .all(|name| certificate.names.contains(&**name))
            && certificate.expires - facts.time >= (certificate.expires - certificate.issued) / 3
    })
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
