//! The record that a shoot should have.

use super::manifest::{manifest_of, used_part, written};
use super::manifest_secret;
use crate::state::action::{Desired, Payload};
use crate::state::desired::{self, SizesByPool};
use crate::state::facts::Facts;
use crate::state::hash::Hash;
use crate::state::key::{ObjectKey, ObjectKind};
use crate::validate::ValidShoot;

pub(crate) fn wanted(shoot: &ValidShoot, facts: &Facts) -> Desired {
    let content = (
        manifest_of(&shoot.manifest),
        written(&used_part(&shoot.profile, shoot)),
        sizes(shoot, facts),
    );
    let secret = manifest_secret::wanted(shoot);
    let hash = match &secret {
        // Records of earlier builds have the whole manifest.
        Some(secret) => Hash::of(&(content, &*secret.key.name)),
        None => Hash::of(&content),
    };
    Desired {
        key: ObjectKey::provider(ObjectKind::Record, shoot.id.as_str()),
        hash,
        payload: Payload::Plain,
    }
}

pub(crate) fn sizes(shoot: &ValidShoot, facts: &Facts) -> SizesByPool {
    shoot
        .pools
        .iter()
        .map(|it| (it.name.clone(), desired::pool_size(facts, it)))
        .collect()
}
