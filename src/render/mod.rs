//! The objects of a desired state, complete, as they are sent. Costly, so only what is performed is rendered.

pub(crate) mod component;
pub(crate) mod control_plane;
mod image_volume;
pub(crate) mod images;
pub(crate) mod instancetype;
pub(crate) mod machine;
pub(crate) mod metadata;
mod network;
pub(crate) mod network_policy;
pub(crate) mod networking;
mod record;
mod storage_classes;
pub(crate) mod system;
mod user_data;

use crate::state::action::{Desired, Payload};
use crate::state::desired::PoolHashes;
use crate::state::facts::Facts;
use crate::state::key::ObjectKind;
use crate::state::prerequisite::PrerequisiteKind;
use crate::state::site::Site;
use crate::state::{desired, names};
use crate::validate::{PoolSpec, ValidShoot};
use control_plane::known::known;
use machine::{node, spec, token, virtual_machine};
use serde_json::{Map, Value, json};
use user_data::join::JoinConfig;

/// The objects that [`crate::state::action::Action::Apply`] sends; for a machine its user data first.
pub(crate) fn objects(shoot: &ValidShoot, facts: &Facts, wanted: &Desired) -> Vec<Value> {
    let site = Site::of(shoot, facts);
    match (&wanted.payload, wanted.key.kind) {
        (Payload::Plain, ObjectKind::Record) => vec![record::object(shoot, &site, facts)],
        (Payload::Plain, ObjectKind::Secret) => vec![record::secret(shoot, &site, wanted)],
        (Payload::Plain, ObjectKind::NetworkAttachmentDefinition) => {
            network::object(shoot, &site, &wanted.key.name, wanted.hash)
                .into_iter()
                .collect()
        }
        (Payload::Plain, ObjectKind::ImageVolume) => golden(shoot, facts, &site, &wanted.key.name)
            .into_iter()
            .collect(),
        (Payload::Plain, ObjectKind::Instancetype | ObjectKind::Preference) => {
            let own = instancetype::object(shoot, facts, &site, &wanted.key);
            own.into_iter().collect()
        }
        (Payload::Machine { pool, zone, .. }, _) => {
            machine(shoot, facts, site, wanted, pool, *zone)
        }
        (Payload::UserData { pool }, _) => find(shoot, pool)
            .map(|it| user_data(shoot, facts, &site, wanted, it))
            .into_iter()
            .collect(),
        (Payload::Token { machine }, _) => vec![token::object(&site, machine)],
        (Payload::Metadata { pool, .. }, ObjectKind::Node) => {
            let node = facts.nodes.get(&wanted.key.name);
            let pool = find(shoot, pool);
            let patch = node.zip(pool).map(|(node, pool)| {
                let wanted = desired::pool_metadata(pool);
                node::patch(node, &facts.namespace, pool, &wanted)
            });
            patch.into_iter().collect()
        }
        (Payload::Metadata { pool, .. }, _) => find(shoot, pool)
            .map(|it| metadata(shoot, facts, wanted, it))
            .into_iter()
            .collect(),
        (
            Payload::Start {
                resize: Some(resize),
                ..
            },
            _,
        ) => size(shoot, facts, site, wanted, &resize.pool)
            .into_iter()
            .collect(),
        (Payload::Objects(objects), _) => objects.to_vec(),
        (Payload::Manifests(bundle), _) => bundle.objects.clone(),
        (Payload::Issue(issue), _) => vec![issue.object.clone()],
        (
            Payload::Decision(_)
            | Payload::Repair(_)
            | Payload::EtcdRecord(_)
            | Payload::Rotation(_)
            | Payload::Hibernation(_)
            | Payload::Halt(_)
            | Payload::Migrate { .. }
            | Payload::CancelEvacuation { .. }
            | Payload::Start { resize: None, .. }
            | Payload::Etcd(_)
            | Payload::Plain,
            _,
        ) => Vec::new(),
    }
}

fn golden(shoot: &ValidShoot, facts: &Facts, site: &Site, name: &str) -> Option<Value> {
    let zones = shoot
        .pools
        .iter()
        .flat_map(|pool| (0..pool.zones.len()).map(move |zone| (pool, zone)));
    let golden = zones
        .filter_map(|(pool, zone)| desired::image_volume(shoot, facts, pool, zone))
        .chain(desired::disks(shoot, facts))
        .find(|it| *it.name == *name)?;
    Some(image_volume::object(&golden, site, facts))
}

fn machine(
    shoot: &ValidShoot,
    facts: &Facts,
    site: Site,
    wanted: &Desired,
    pool: &str,
    zone: usize,
) -> Vec<Value> {
    let Some(pool) = find(shoot, pool).filter(|it| zone < it.zones.len()) else {
        return Vec::new();
    };
    let machine = machine_context(shoot, facts, site, wanted, pool, zone);
    vec![
        user_data(shoot, facts, &site, wanted, pool),
        token::object(&site, &wanted.key.name),
        virtual_machine::object(&machine),
    ]
}

/// A merge patch that gives an existing machine the size of a pool. None if the machine or the pool does not exist.
fn size(
    shoot: &ValidShoot,
    facts: &Facts,
    site: Site,
    wanted: &Desired,
    pool: &str,
) -> Option<Value> {
    let machine = facts.machines.get(pool)?.get(&wanted.key.name)?;
    let pool = find(shoot, pool).filter(|it| machine.zone < it.zones.len())?;
    let mut resized = machine_context(shoot, facts, site, wanted, pool, machine.zone);
    // A restart changes neither its CAs nor whether it takes new ones.
    resized.content.roots = machine.content.as_ref().and_then(|it| it.roots.clone());
    Some(virtual_machine::size(&resized))
}

fn machine_context<'a>(
    shoot: &'a ValidShoot,
    facts: &Facts,
    site: Site<'a>,
    wanted: &'a Desired,
    pool: &'a PoolSpec,
    zone: usize,
) -> spec::MachineContext<'a> {
    spec::MachineContext {
        site,
        region: &shoot.region,
        pool,
        hash: wanted.hash,
        content: pool_hashes(shoot, facts, pool).content,
        zone,
        name: &wanted.key.name,
        mtu: shoot.profile.spec.provider_config.mtu,
        attachments: desired::attachments(shoot, facts),
        golden: desired::image_volume(shoot, facts, pool, zone),
        instancetype: instancetype::matcher(shoot, facts, pool, PrerequisiteKind::Instancetype),
        preference: instancetype::matcher(shoot, facts, pool, PrerequisiteKind::Preference),
    }
}

fn user_data(
    shoot: &ValidShoot,
    facts: &Facts,
    site: &Site,
    wanted: &Desired,
    pool: &PoolSpec,
) -> Value {
    let known = known(shoot, facts);
    let record = facts.record.as_ref();
    let join = JoinConfig {
        machine: &wanted.key.name,
        namespace: site.namespace,
        pool,
        shoot,
        node_address: &known.node_address,
        ca: &known.ca,
        roots: record
            .map(|it| it.rotation.machine_roots())
            .unwrap_or_default(),
    };
    user_data::object(site, wanted.hash, &join)
}

fn pool_hashes(shoot: &ValidShoot, facts: &Facts, pool: &PoolSpec) -> PoolHashes {
    let rotation = facts.record.as_ref().map(|it| &it.rotation);
    desired::pool_hashes(shoot, pool, &desired::attachments(shoot, facts), rotation)
}

/// A merge patch: the pool's metadata, and null for what it no longer sets.
fn metadata(shoot: &ValidShoot, facts: &Facts, wanted: &Desired, pool: &PoolSpec) -> Value {
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
    // Machines of earlier versions of kvshoot.
    let hashes = pool_hashes(shoot, facts, pool);
    let mut content = hashes.content;
    if machine.is_some_and(|it| it.content.is_none() && it.hash == hashes.all) {
        content.roots = None;
        annotations.extend(virtual_machine::content_annotations(&content));
    }
    let node = facts.nodes.get(&wanted.key.name);
    let own = machine.and_then(|it| it.content.as_ref());
    if own
        .zip(node)
        .is_some_and(|(it, node)| it.has_taken_roots(&content, &node.roots))
    {
        annotations.extend(virtual_machine::roots_annotations(&content));
    }
    json!({ "metadata": { "labels": node::merged(&before["labels"], &pool.labels), "annotations": annotations } })
}

fn find<'a>(shoot: &'a ValidShoot, pool: &str) -> Option<&'a PoolSpec> {
    shoot.pools.iter().find(|it| it.name == pool)
}

/// Copy of an object with the data of Secrets masked.
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

/// The Lease that a run holds, without holder and times.
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
