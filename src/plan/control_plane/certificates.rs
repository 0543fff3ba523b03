//! Roots, leaves and keys: one Secret each, and when it is made anew.

use crate::plan::planner::Planner;
use crate::render::control_plane::certificate::{KEYS, ROOTS, wanted};
use crate::render::control_plane::certificate_subjects::{self, Named, Reach};
use crate::state::action::{Action, Content, Issued, Leaf, Wanted};
use crate::state::facts::{Certificate, Fact, Facts, Object, Secret};
use crate::state::failure::{Class, Failure};
use crate::state::key::{Key, Kind};
use crate::state::names;
use crate::state::observed::Observed;
use crate::state::plan::{Need, State};
use crate::state::site::Site;
use crate::validate::ValidShoot;
use std::collections::HashMap;
use std::sync::Arc;

/// Roots and keys need the record alone, leaves their root; those that say how the API server is reached need that.
pub(crate) fn add(
    planner: &mut Planner,
    shoot: &ValidShoot,
    site: &Site,
    reach: Option<&Reach>,
    (record, services): (Need, Need),
) -> Vec<Need> {
    let observed = planner.observed;
    let mut one = |part: &str, title: String, issued: Option<Issued>, needs: &[Need]| {
        let state = match issued {
            Some(issued) => state(observed, wanted(site, part, issued)),
            None => State::Blocked,
        };
        let id = format!("certificate/{part}").into();
        let name = names::control_plane(site.id, part);
        planner.plan.parts.insert(Key::provider(Kind::Secret, name));
        planner.add(id, title, needs, state)
    };
    let mut needs = Vec::new();
    let mut roots: HashMap<Arc<str>, Need> = HashMap::new();
    for (part, common_name, of) in ROOTS {
        let title = format!("Make the root certificate of {of}");
        let need = one(part, title, Some(Issued::Root { common_name }), &[record]);
        roots.insert(names::control_plane(site.id, part).into(), need);
        needs.push(need);
    }
    for (part, title, issued) in KEYS {
        needs.push(one(part, title.to_owned(), Some(issued), &[record]));
    }
    for Named { part, of, leaf } in certificate_subjects::all(shoot, site, reach) {
        let root = leaf.as_ref().and_then(|it| roots.get(&it.root));
        let held_back: Vec<Need> = root.into_iter().copied().chain([services]).collect();
        let title = format!("Issue the certificate of {of}");
        needs.push(one(part, title, leaf.map(Issued::Leaf), &held_back));
    }
    needs
}

fn state(observed: &Observed, wanted: Wanted) -> State {
    let key = &wanted.key;
    let fail = |class, message| State::Failed(Failure::new(class, message));
    if observed.facts.foreign.contains_key(key) {
        let message = format!("{key} exists and is of another shoot of that name");
        return fail(Class::Foreign, message);
    }
    let Some(there) = observed.facts.objects.get(key) else {
        return State::Due(Action::Apply(wanted));
    };
    if there.leaving {
        return State::Waiting("the old one to be gone".into());
    }
    match &wanted.content {
        Content::Issue(issue) => match &issue.what {
            Issued::Leaf(leaf)
                if there.hash != wanted.hash || !is_good(observed, leaf, certificate(there)) =>
            {
                State::Due(Action::Apply(wanted))
            }
            // What was signed or encrypted with it would be lost with it, so it stays as it is.
            Issued::Root { .. } => match root_trouble(&observed.facts, there) {
                Some(trouble) => fail(Class::Infrastructure, format!("{key} {trouble}")),
                None => State::Done,
            },
            Issued::Leaf(_) | Issued::SigningKey | Issued::EncryptionKey => State::Done,
        },
        _ => State::Done,
    }
}

/// Superfluous names do no harm, so one that comes and goes does not change a certificate for ever.
fn is_good(observed: &Observed, leaf: &Leaf, there: Option<&Certificate>) -> bool {
    let facts = &observed.facts;
    let root = facts
        .objects
        .get(&Key::provider(Kind::Secret, leaf.root.clone()))
        .and_then(certificate);
    there.is_some_and(|it| {
        root.is_none_or(|root| root.key == it.issuer)
            && leaf.names.iter().all(|name| it.names.contains(&**name))
            && it.expires - facts.time >= (it.expires - it.issued) / 3
    })
}

fn root_trouble(facts: &Facts, there: &Object) -> Option<&'static str> {
    match (certificate(there), &secret(there)?.ca) {
        (Some(it), Some(_)) if it.expires > facts.time => None,
        (Some(_), Some(_)) => Some("holds a root certificate that has expired"),
        _ => Some("has lost the annotations that say what is in it"),
    }
}

fn certificate(object: &Object) -> Option<&Certificate> {
    secret(object)?.certificate.as_ref()
}

fn secret(object: &Object) -> Option<&Secret> {
    match &object.fact {
        Fact::Secret(it) => Some(it),
        _ => None,
    }
}

#[cfg(test)]
#[path = "certificates_tests.rs"]
mod tests;
