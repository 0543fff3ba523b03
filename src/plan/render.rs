//! The complete objects of an action, as they are sent. Rendering is expensive, so only performed actions are rendered.

use super::item::{Action, Content, Kind, Side, State, Wanted};
use super::observed::{Facts, Inside, Observed, Record};
use super::relied::Family;
use super::user_data::Join;
use super::{
    Hash, NO_UID, Site, control_plane, desired, image, names, network, node, object, record, token,
    types, user_data, virtual_machine,
};
use crate::validate::{Pool, ValidShoot};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap};

/// Objects that `action` sends, for a machine its user data first. Empty for actions that send no object.
pub(crate) fn objects(shoot: &ValidShoot, facts: &Facts, action: &Action) -> Vec<Value> {
    let Action::Apply(wanted) = action else {
        return Vec::new();
    };
    let uid = facts.record.as_ref().map_or(NO_UID, |it| &it.uid);
    let site = Site {
        id: &shoot.id,
        namespace: &facts.namespace,
        uid,
    };
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
            let own = types::object(shoot, facts, &site, &wanted.key);
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

/// Every object that a first apply would create, with its side and in order.
///
/// Values that the provider assigns are placeholders: addresses are 0.0.0.0, and Secrets of certificates are empty.
pub(crate) fn first_apply(shoot: &ValidShoot, facts: &Facts) -> Vec<(Side, Value)> {
    let nothing = Facts {
        record: facts.record.clone().map(|it| Record {
            hash: Hash::default(),
            leaving: false,
            ..it
        }),
        objects: HashMap::new(),
        machines: BTreeMap::new(),
        foreign: BTreeMap::new(),
        nodes: BTreeMap::new(),
        inside: Inside::Observed,
        ..facts.clone()
    };
    let observed = Observed {
        facts: nothing.into(),
        ahead: true,
        ..Observed::default()
    };
    let plan = super::plan(shoot, &observed);
    let mut all = Vec::new();
    for item in &plan.items {
        let State::Due(action) = &item.state else {
            continue;
        };
        for object in objects(shoot, &observed.facts, action) {
            // The action that creates a machine also writes its token.
            let is_token = object["metadata"]["labels"][names::COMPONENT] == names::role::TOKEN;
            let side = if is_token {
                Side::Shoot
            } else {
                action.key().side
            };
            all.push((side, object));
        }
    }
    all
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
    Some(image::object(&golden, site, facts))
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
    let machine = virtual_machine::Machine {
        site,
        region: &shoot.region,
        pool,
        hash: wanted.hash,
        zone,
        name: &wanted.key.name,
        attachments: &desired::attachments(shoot, facts),
        golden: golden.as_ref(),
        instancetype: types::matcher(shoot, facts, pool, Family::Instancetype),
        preference: types::matcher(shoot, facts, pool, Family::Preference),
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
    let known = control_plane::known(shoot, facts);
    let join = Join {
        machine: &wanted.key.name,
        pool,
        shoot,
        node_address: &known.node_address,
        ca: &known.ca,
    };
    user_data::object(site, wanted.hash, &join)
}

/// A merge patch: the pool's values, and null for values that it no longer has.
fn metadata(facts: &Facts, wanted: &Wanted, pool: &Pool) -> Value {
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

/// Replaces the data of a Secret by asterisks.
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

/// The Lease that a run holds, without its holder and times.
pub(crate) fn lease(shoot: &ValidShoot, facts: &Facts) -> Value {
    let uid = facts.record.as_ref().map_or(NO_UID, |it| &it.uid);
    let site = Site {
        id: &shoot.id,
        namespace: &facts.namespace,
        uid,
    };
    json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "name": site.id,
            "namespace": site.namespace,
            "labels": object::labels(&site, names::role::LOCK),
            "ownerReferences": [object::owner(&site)],
        },
        "spec": { "leaseDurationSeconds": 15 },
    })
}
