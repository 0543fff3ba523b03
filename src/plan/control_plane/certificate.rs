//! Certificate authorities, certificates and keys: one Secret each, and the rules for their renewal.

use super::leaf::{self, Named, Reach};
use crate::plan::item::{
    Action, Class, Content, Failure, Issue, Issued, Key, Kind, Leaf, Need, Plan, State, Wanted,
};
use crate::plan::names::{self, role};
use crate::plan::object::metadata;
use crate::plan::observed::{Certificate, Fact, Facts, Object, Observed, Secret};
use crate::plan::{Hash, Site};
use crate::validate::ValidShoot;
use serde_json::json;
use std::collections::HashMap;
use std::sync::Arc;

/// Suffix of the Secret's name, common name, and end of the title.
const ROOTS: [(&str, &str, &str); 3] = [
    (leaf::CA, "kubernetes", "Kubernetes"),
    (leaf::ETCD_CA, "etcd-ca", "etcd"),
    (leaf::FRONT_PROXY_CA, "front-proxy-ca", "front proxy"),
];

const KEYS: [(&str, &str, Issued); 2] = [
    (
        "service-account-key",
        "Create key for service account tokens",
        Issued::SigningKey,
    ),
    (
        "encryption-key",
        "Create key for Secret encryption",
        Issued::EncryptionKey,
    ),
];

/// CAs and keys need only the record. Certificates need their CA, and those that contain addresses need the Services.
pub(in crate::plan) fn add(
    plan: &mut Plan,
    observed: &Observed,
    shoot: &ValidShoot,
    site: &Site,
    reach: Option<&Reach>,
    (record, services): (Need, Need),
) -> Vec<Need> {
    let mut one = |part: &str, title: String, issued: Option<Issued>, needs: &[Need]| {
        let state = match issued {
            Some(issued) => state(observed, wanted(site, part, issued)),
            None => State::Blocked,
        };
        let id = format!("certificate/{part}").into();
        let name = names::control_plane(site.id, part);
        plan.parts.insert(Key::provider(Kind::Secret, name));
        plan.add(observed, id, title, needs, state)
    };
    let mut needs = Vec::new();
    let mut roots: HashMap<Arc<str>, Need> = HashMap::new();
    for (part, common_name, of) in ROOTS {
        let title = format!("Create CA of {of}");
        let need = one(part, title, Some(Issued::Root { common_name }), &[record]);
        roots.insert(names::control_plane(site.id, part).into(), need);
        needs.push(need);
    }
    for (part, title, issued) in KEYS {
        needs.push(one(part, title.to_owned(), Some(issued), &[record]));
    }
    for Named { part, of, leaf } in leaf::all(shoot, site, reach) {
        let root = leaf.as_ref().and_then(|it| roots.get(&it.root));
        let held_back: Vec<Need> = root.into_iter().copied().chain([services]).collect();
        let title = format!("Issue certificate of {of}");
        needs.push(one(part, title, leaf.map(Issued::Leaf), &held_back));
    }
    needs
}

fn wanted(site: &Site, part: &str, issued: Issued) -> Wanted {
    let name = names::control_plane(site.id, part);
    let hash = match &issued {
        Issued::Root { common_name } => Hash::of(&json!(["root", common_name])),
        // Names are not part of the hash: they are compared separately, as a certificate may have extra ones.
        Issued::Leaf(it) => Hash::of(&json!([
            "leaf",
            &*it.root,
            it.common_name,
            it.organization,
            it.server,
            it.client,
            it.kubeconfig,
        ])),
        Issued::SigningKey => Hash::of(&json!(["signing key"])),
        Issued::EncryptionKey => Hash::of(&json!(["encryption key"])),
    };
    let object = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "Opaque",
        "metadata": metadata(site, role::CERTIFICATE, &name, hash),
    });
    Wanted {
        key: Key::provider(Kind::Secret, name),
        hash,
        content: Content::Issue(Arc::new(Issue {
            object,
            what: issued,
        })),
    }
}

fn state(observed: &Observed, wanted: Wanted) -> State {
    let key = &wanted.key;
    let fail = |class, message| State::Failed(Failure::new(class, message));
    if observed.facts.foreign.contains_key(key) {
        let message =
            format!("{key} already exists and belongs to another shoot with the same name");
        return fail(Class::Foreign, message);
    }
    let Some(there) = observed.facts.objects.get(key) else {
        return State::Due(Action::Apply(wanted));
    };
    if there.leaving {
        return State::Waiting(format!("old {key} is being deleted"));
    }
    match &wanted.content {
        Content::Issue(issue) => match &issue.what {
            Issued::Leaf(leaf)
                if there.hash != wanted.hash || !is_good(observed, leaf, certificate(there)) =>
            {
                State::Due(Action::Apply(wanted))
            }
            // Kept as it is: everything signed or encrypted with it depends on it.
            Issued::Root { .. } => match root_trouble(&observed.facts, there) {
                Some(trouble) => fail(Class::Infrastructure, format!("{key} {trouble}")),
                None => State::Done,
            },
            Issued::Leaf(_) | Issued::SigningKey | Issued::EncryptionKey => State::Done,
        },
        _ => State::Done,
    }
}

/// Extra names do no harm, so an address that disappears does not change a certificate.
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
        (Some(_), Some(_)) => Some("contains an expired CA certificate"),
        _ => Some("has no annotations that describe its certificate"),
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
#[path = "certificate_tests.rs"]
mod tests;
