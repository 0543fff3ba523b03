//! The objects of an action, complete, as they are sent. Costly, so only what is performed is rendered.

pub(crate) mod component;
pub(crate) mod control_plane;
mod image_volume;
pub(crate) mod images;
pub(crate) mod instancetype;
pub(crate) mod machine;
pub(crate) mod metadata;
mod network;
pub(crate) mod network_policy;
mod networking;
mod record;
mod storage_classes;
pub(crate) mod system;
mod user_data;

use crate::state::action::{Action, Content, Wanted};
use crate::state::facts::Facts;
use crate::state::key::Kind;
use crate::state::prerequisite::Family;
use crate::state::site::Site;
use crate::state::{desired, names};
use crate::validate::{Pool, ValidShoot};
use control_plane::known::known;
use machine::{node, spec, token, virtual_machine};
use serde_json::{Map, Value, json};
use user_data::join::Join;

/// What `action` sends: for a machine its user data first. Empty for what sends no object.
pub(crate) fn objects(shoot: &ValidShoot, facts: &Facts, action: &Action) -> Vec<Value> {
    let Action::Apply(wanted) = action else {
        return Vec::new();
    };
    let site = Site::of(shoot, facts);
    match (&wanted.content, wanted.key.kind) {
        (Content::Plain, Kind::Record) => vec![record::object(shoot, &site, facts)],
        (Content::Plain, Kind::Network) => {
            network::object(shoot, &site, &wanted.key.name, wanted.hash)
                .into_iter()
                .collect()
        }
        (Content::Plain, Kind::Image) => golden(shoot, facts, &site, &wanted.key.name)
            .into_iter()
            .collect(),
        (Content::Plain, Kind::Instancetype | Kind::Preference) => {
            let own = instancetype::object(shoot, facts, &site, &wanted.key);
            own.into_iter().collect()
        }
        (Content::Machine { pool, zone, .. }, _) => {
            machine(shoot, facts, site, wanted, pool, *zone)
        }
        (Content::UserData { pool }, _) => find(shoot, pool)
            .map(|it| user_data(shoot, facts, &site, wanted, it))
            .into_iter()
            .collect(),
        (Content::Token { machine }, _) => vec![token::object(&site, machine)],
        (Content::Metadata { pool, .. }, Kind::Node) => {
            let node = facts.nodes.get(&wanted.key.name);
            let pool = find(shoot, pool);
            let patch = node.zip(pool).map(|(node, pool)| {
                let wanted = desired::pool_metadata(pool);
                node::patch(node, &facts.namespace, pool, &wanted)
            });
            patch.into_iter().collect()
        }
        (Content::Metadata { pool, .. }, _) => find(shoot, pool)
            .map(|it| metadata(facts, wanted, it))
            .into_iter()
            .collect(),
        (Content::Objects(objects), _) => objects.to_vec(),
        (Content::Bundle(bundle), _) => bundle.objects.clone(),
        (Content::Issue(issue), _) => vec![issue.object.clone()],
        (Content::Plain, _) => Vec::new(),
    }
}

fn golden(shoot: &ValidShoot, facts: &Facts, site: &Site, name: &str) -> Option<Value> {
    let zones = shoot
        .pools
        .iter()
        .flat_map(|pool| (0..pool.zones.len()).map(move |zone| (pool, zone)));
    let golden = zones
        .filter_map(|(pool, zone)| desired::golden(shoot, facts, pool, zone))
        .chain(desired::disks(shoot, facts))
        .find(|it| *it.name == *name)?;
    Some(image_volume::object(&golden, site, facts))
}

fn machine(
    shoot: &ValidShoot,
    facts: &Facts,
    site: Site,
    wanted: &Wanted,
    pool: &str,
    zone: usize,
) -> Vec<Value> {
    let Some(pool) = find(shoot, pool).filter(|it| zone < it.zones.len()) else {
        return Vec::new();
    };
    let golden = desired::golden(shoot, facts, pool, zone);
    let machine = spec::Machine {
        site,
        region: &shoot.region,
        pool,
        hash: wanted.hash,
        zone,
        name: &wanted.key.name,
        attachments: &desired::attachments(shoot, facts),
        golden: golden.as_ref(),
        instancetype: instancetype::matcher(shoot, facts, pool, Family::Instancetype),
        preference: instancetype::matcher(shoot, facts, pool, Family::Preference),
    };
    vec![
        user_data(shoot, facts, &site, wanted, pool),
        token::object(&site, &wanted.key.name),
        virtual_machine::object(&machine),
    ]
}

fn user_data(
    shoot: &ValidShoot,
    facts: &Facts,
    site: &Site,
    wanted: &Wanted,
    pool: &Pool,
) -> Value {
    let known = known(shoot, facts);
    let join = Join {
        machine: &wanted.key.name,
        pool,
        shoot,
        node_address: &known.node_address,
        ca: &known.ca,
    };
    user_data::object(site, wanted.hash, &join)
}

/// A merge patch: what the pool wants, and nothing for what it no longer wants.
pub(crate) fn metadata(facts: &Facts, wanted: &Wanted, pool: &Pool) -> Value {
    let machine = facts
        .machines
        .get(pool.name.as_str())
        .and_then(|it| it.get(&wanted.key.name));
    let before: Value = machine
        .and_then(|it| serde_json::from_str(&it.metadata).ok())
        .unwrap_or_default();
    let mut annotations = node::merged(&before["annotations"], &pool.annotations);
    annotations.insert(
        names::POOL_METADATA.into(),
        json!(desired::pool_metadata(pool)),
    );
    json!({ "metadata": { "labels": node::merged(&before["labels"], &pool.labels), "annotations": annotations } })
}

fn find<'a>(shoot: &'a ValidShoot, pool: &str) -> Option<&'a Pool> {
    shoot.pools.iter().find(|it| it.name == pool)
}

/// Secret bytes as a person may see them.
pub(crate) fn masked(object: &Value) -> Value {
    let mut object = object.clone();
    if object["kind"] == "Secret" {
        for field in ["data", "stringData"] {
            let bytes = object.get_mut(field).and_then(Value::as_object_mut);
            for value in bytes.into_iter().flat_map(Map::values_mut) {
                *value = json!("***");
            }
        }
    }
    object
}

/// The Lease that a run holds, without who holds it and since when.
pub(crate) fn lease(shoot: &ValidShoot, facts: &Facts) -> Value {
    let site = Site::of(shoot, facts);
    json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "name": site.id,
            "namespace": site.namespace,
            "labels": metadata::labels(&site, names::role::LOCK),
            "ownerReferences": [metadata::owner(&site)],
        },
        "spec": { "leaseDurationSeconds": 15 },
    })
}
