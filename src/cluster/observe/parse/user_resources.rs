//! What users of a shoot have that is something in the provider as well. Pure.
use crate::cluster::json::{items, text};
use crate::render::system::storage::DRIVER;
use crate::state::facts::{Fact, Facts, Inside, Object};
use crate::state::key::{Key, Kind};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

/// How those who delete a shoot got on with what is in it.
#[derive(Debug, Default)]
pub(crate) struct Leaving {
    is_seen: bool,
    /// UIDs of what was there at the last look, and whether it was on its way out.
    there: BTreeSet<(Arc<str>, bool)>,
    moved: Duration,
}

impl Leaving {
    /// Leaves what holds nothing out, and says when something last moved: what comes is no progress, what goes is.
    pub(crate) fn look(&mut self, facts: &mut Facts, now: Duration) {
        let things = &mut facts.guests.things;
        only_relevant(things);
        // Who brings webhooks back again and again gets on with nothing.
        let counted = things.iter().filter(|it| !is_webhook(it.0.kind));
        let there: BTreeSet<(Arc<str>, bool)> = counted
            .map(|(_, it)| (it.uid.clone(), it.leaving))
            .collect();
        let is_seen = facts.inside == Inside::Observed;
        if !self.there.is_subset(&there) || (is_seen && !self.is_seen) {
            self.moved = now;
        }
        (self.there, self.is_seen) = (there, is_seen);
        facts.guests.moved = self.moved;
    }
}

/// A claim counts while a volume of ours is bound to it, a pod while it mounts such a claim.
fn only_relevant(things: &mut BTreeMap<Key, Object>) {
    let volumes = things.iter().filter(|it| it.0.kind == Kind::Volume);
    let bound: HashSet<Arc<str>> = volumes.flat_map(|it| held(it.1)).cloned().collect();
    things.retain(|key, object| match key.kind {
        Kind::Claim => bound.contains(&key.name),
        Kind::Pod => held(object).any(|it| bound.contains(it)),
        _ => true,
    });
    debug_assert!(things.keys().all(|it| it.kind.is_of_guest()));
}

fn held(object: &Object) -> impl Iterator<Item = &Arc<str>> {
    let claims: &[Arc<str>] = match &object.fact {
        Fact::Holds(claims) => claims,
        _ => &[],
    };
    claims.iter()
}

fn is_webhook(kind: Kind) -> bool {
    matches!(kind, Kind::ValidatingWebhook | Kind::MutatingWebhook)
}

/// The claims that an object of a guest's kind holds; None where it is nothing to the provider.
pub(crate) fn holds(kind: Kind, object: &Value) -> Option<Arc<[Arc<str>]>> {
    let spec = &object["spec"];
    match kind {
        Kind::Balancer => (spec["type"] == "LoadBalancer").then(|| [].into()),
        Kind::VolumeClass => (object["provisioner"] == DRIVER).then(|| [].into()),
        // A volume to be kept does not go with its claim.
        Kind::Volume => {
            let goes = spec["persistentVolumeReclaimPolicy"] == "Delete";
            let claim = &spec["claimRef"];
            let name = format!("{}/{}", text(&claim["namespace"]), text(&claim["name"]));
            (goes && spec["csi"]["driver"] == DRIVER).then(|| [name.into()].into())
        }
        Kind::Pod => {
            let phase = text(&object["status"]["phase"]);
            let is_over = matches!(phase, "Succeeded" | "Failed");
            (spec["nodeName"].is_string() && !is_over).then(|| claims(object))
        }
        _ => Some([].into()),
    }
}

/// By `namespace/name`; one that comes and goes with the pod is named after both.
fn claims(pod: &Value) -> Arc<[Arc<str>]> {
    let metadata = &pod["metadata"];
    let volumes = items(&pod["spec"]["volumes"]).iter().filter_map(|it| {
        let name = match it["persistentVolumeClaim"]["claimName"].as_str() {
            Some(name) => name.to_owned(),
            None if it["ephemeral"].is_object() => {
                format!("{}-{}", text(&metadata["name"]), text(&it["name"]))
            }
            None => return None,
        };
        Some(format!("{}/{name}", text(&metadata["namespace"])).into())
    });
    volumes.collect()
}

#[cfg(test)]
#[path = "user_resources_tests.rs"]
mod tests;
