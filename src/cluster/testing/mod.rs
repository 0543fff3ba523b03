//! A recorded observation of a healthy shoot with three machines, for tests of the commands that read it.
//!
//! `cargo test --test it observation -- --ignored` records it on the sandbox.

use super::diagnose::cause_chain::CauseChain;
use super::diagnose::diagnosis::cause_chains;
use super::list_facts::FactsScope;
use crate::cluster::client::resources::{Resource, ResourceScope, SHOOT_KINDS};
use crate::cluster::observe::cache::Cache;
use crate::state::facts::{Facts, ShootApi};
use crate::state::key::{ClusterSide, ObjectKind};
use serde_json::Value;
use std::collections::HashMap;
use std::time::Duration;

/// Technical ID of the shoot.
pub(crate) const ID: &str = "shoot--dev--demo";
/// UID of its record.
pub(crate) const RECORD_UID: &str = "0b6c2f6e-90a1-4a0e-9a53-2c6a5d0a7c11";

/// Newer than the resource versions of all objects.
const LISTED_VERSION: &str = "1000000000";

/// The time of the recording, and the objects of each resource, by side: `observation["shoot"]["nodes"]`.
pub(crate) fn observation() -> Value {
    serde_json::from_str(include_str!("observation.json")).expect("the file is JSON")
}

/// The facts of a command that lists what it needs.
pub(crate) fn listed_facts(observation: &Value, scope: FactsScope) -> Facts {
    let cache = Cache::of_record(ID, &RECORD_UID.into());
    facts(cache, observation, &scope.kinds())
}

/// Kinds of the provider's side that a run observes, as far as they were recorded.
const PROVIDER_KINDS: [ObjectKind; 9] = [
    ObjectKind::Record,
    ObjectKind::Machine,
    ObjectKind::VirtualMachineInstance,
    ObjectKind::ImageVolume,
    ObjectKind::UserData,
    ObjectKind::StatefulSet,
    ObjectKind::Deployment,
    ObjectKind::Service,
    ObjectKind::Secret,
];

/// The kinds that a run observes.
fn observed_scopes() -> Vec<ResourceScope> {
    let provider = PROVIDER_KINDS.map(|it| (ClusterSide::Provider, it));
    let shoot = SHOOT_KINDS.map(|it| (ClusterSide::Shoot, it));
    [&provider[..], &shoot].concat()
}

/// The facts of a run, and of `plan` and `why`, which observe every kind.
pub(crate) fn observed_facts(observation: &Value) -> Facts {
    facts(Cache::new(ID), observation, &observed_scopes())
}

/// As [`observed_facts`], without objects that cannot be read.
pub(crate) fn readable_facts(observation: &Value, time: i64) -> Facts {
    let mut cache = Cache::new(ID);
    for scope in observed_scopes() {
        for object in items(observation, scope) {
            let _ = cache.put(scope, object, Duration::ZERO, Some(time));
        }
    }
    finished(cache, time)
}

fn facts(mut cache: Cache, observation: &Value, scopes: &[ResourceScope]) -> Facts {
    for scope in scopes {
        let items = items(observation, *scope);
        let listed = cache.list(*scope, LISTED_VERSION, items, Duration::ZERO, None);
        listed.expect("the objects are valid");
    }
    finished(cache, observation["time"].as_i64().expect("seconds"))
}

/// The objects of a kind.
fn items(observation: &Value, (side, kind): ResourceScope) -> &[Value] {
    let side = match side {
        ClusterSide::Provider => "provider",
        ClusterSide::Shoot => "shoot",
    };
    let resource = match kind {
        ObjectKind::UserData => "user-data",
        // They have the resource of others.
        ObjectKind::BootstrapToken => return &[],
        kind => Resource::of(kind).plural,
    };
    let items = observation[side][resource].as_array();
    items.map_or(&[], Vec::as_slice)
}

fn finished(mut cache: Cache, time: i64) -> Facts {
    cache.static_facts.shoot_api = ShootApi::Reachable;
    cache.static_facts.namespace = "clusters".into();
    cache.static_facts.time = time;
    cache.facts(Duration::ZERO)
}

/// Causes that `why` reports from facts alone.
pub(crate) fn causes(facts: &Facts) -> Vec<CauseChain> {
    cause_chains(facts, ID, &HashMap::new())
}
