//! Shoots that are read back from their records.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;

use super::context::{LastApplied, LoadContext};
use super::judge::judge;
use crate::manifest::{Content, Manifest};
use crate::model::Shoot;
use crate::state::record;
use crate::validate::ValidShoot;

/// Returns what a record holds of the last apply; None when its manifests cannot be read.
pub(crate) fn last_applied(data: &BTreeMap<String, String>) -> Option<LastApplied> {
    let manifest = Manifest::parse(texts(data)?);
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

/// Returns the Shoot as it was last applied; None when its record cannot be read.
pub(crate) fn recorded_shoot(
    id: &str,
    data: &BTreeMap<String, String>,
    now: Timestamp,
) -> Option<ValidShoot> {
    let records = last_applied(data).map(|applied| (id.to_owned(), applied));
    let context = LoadContext {
        records: HashMap::from_iter(records),
        ..LoadContext::at(now)
    };
    let loaded = judge(Manifest::parse(texts(data)?), &context);
    loaded.shoots.into_iter().next()
}

fn texts(data: &BTreeMap<String, String>) -> Option<Vec<(String, Vec<u8>)>> {
    [record::SHOOT, record::PROFILE]
        .into_iter()
        .map(|key| Some((key.to_owned(), data.get(key)?.clone().into_bytes())))
        .collect()
}
