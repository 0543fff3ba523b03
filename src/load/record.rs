//! Shoots that are read back from their records.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;

use super::context::{LastApplied, LoadContext};
use super::judge::judge;
use crate::manifest::{Content, Manifest};
use crate::model::Shoot;
use crate::state::record::{self, manifest_secret};
use crate::validate::ValidShoot;

/// Returns what a record holds of the last apply; None when its manifests cannot be read. User data that is in a Secret
/// is missing.
pub(crate) fn last_applied(data: &BTreeMap<String, String>) -> Option<LastApplied> {
    applied(&manifest(data)?)
}

/// Returns the Shoot as it was last applied; None when its record cannot be read, or its user data is still in a Secret.
pub(crate) fn recorded_shoot(
    id: &str,
    data: &BTreeMap<String, String>,
    now: Timestamp,
) -> Option<ValidShoot> {
    match manifest_secret::name(data) {
        // Its machines would be replaced by ones without user data.
        Some(_) => None,
        None => recorded_outline(id, data, now),
    }
}

/// Returns the Shoot as it was last applied, maybe without its user data; None when its record cannot be read. For
/// questions that do not depend on machines.
pub(crate) fn recorded_outline(
    id: &str,
    data: &BTreeMap<String, String>,
    now: Timestamp,
) -> Option<ValidShoot> {
    let manifest = manifest(data)?;
    let records = applied(&manifest).map(|applied| (id.to_owned(), applied));
    let context = LoadContext {
        records: HashMap::from_iter(records),
        ..LoadContext::at(now)
    };
    judge(manifest, &context).shoots.into_iter().next()
}

fn manifest(data: &BTreeMap<String, String>) -> Option<Manifest> {
    let texts: Option<Vec<_>> = [record::SHOOT, record::PROFILE]
        .into_iter()
        .map(|key| Some((key.to_owned(), data.get(key)?.clone().into_bytes())))
        .collect();
    Some(Manifest::parse(texts?))
}

fn applied(manifest: &Manifest) -> Option<LastApplied> {
    let (mut shoot, mut profile) = (None, None);
    for (_, content) in manifest.documents() {
        match content {
            Content::Shoot(it) => shoot = Some(Shoot::clone(it)),
            Content::CloudProfile(it) => profile = Some(it.as_ref().clone()),
            _ => {}
        }
    }
    Some((shoot?, profile?))
}
