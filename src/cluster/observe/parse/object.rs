//! Parsing of API objects into the few facts that plans need. Pure functions.

use super::deletion::Deletion;
use super::status;
use super::types::{ParsedBody, ParsedInstance, ParsedMachine, ParsedObject, ParsedVolume};
use super::user_resources;
use crate::cluster::client::error::Error;
use crate::cluster::client::request::ResourceRef;
use crate::cluster::client::resources::Resource;
use crate::cluster::client::resources::ResourceScope;
use crate::cluster::json::{arc, is_deleting, items, seconds, text};
use crate::state::hash::Hash;
use crate::state::key::{ClusterSide, ObjectKind};
use crate::state::names::{self, MachineName};
use crate::state::record::{CLUSTER_IP, EXPIRY, SIZES};
use crate::state::store;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// CDI retries imports forever; after so many restarts they are reported as failed.
const MAX_RESTARTS: i64 = 3;

/// Parses an object of a kind.
///
/// # Errors
///
/// Its resourceVersion is not a number.
pub(crate) fn parse(
    scope: ResourceScope,
    object: &Value,
) -> Result<store::StoredObject<ParsedObject>, Error> {
    let (side, kind) = scope;
    let metadata = &object["metadata"];
    let labels = &metadata["labels"];
    let body = match kind {
        ObjectKind::Record => ParsedBody::Record {
            sizes: pool_sizes(object),
            cluster_ip: object["data"][CLUSTER_IP].as_str().map(Arc::from),
            expiry: object["data"][EXPIRY].as_str().map(Arc::from),
        },
        ObjectKind::Node => ParsedBody::Node(status::node(object)),
        ObjectKind::ImageVolume if labels[names::COMPONENT] == names::role::MACHINE_VOLUME => {
            ParsedBody::MachineDisk {
                owner: arc(&metadata["ownerReferences"][0]["uid"]),
                machine: arc(&labels[names::KUBEVIRT_VM]),
            }
        }
        ObjectKind::ImageVolume => ParsedBody::Image(volume(object)),
        ObjectKind::Machine => ParsedBody::Machine(Box::new(machine(object))),
        ObjectKind::VirtualMachineInstance => ParsedBody::Instance(instance(object)),
        _ if kind.is_user_resource() => {
            ParsedBody::UserResource(user_resources::held_claims(kind, object))
        }
        _ => status::status_fact(kind, object).map_or(ParsedBody::Plain, ParsedBody::Status),
    };
    // An invalid annotation counts as missing: it differs from the desired hash.
    let hash = Hash::parse(text(&metadata["annotations"][names::SPEC_HASH]));
    let hash = match kind {
        ObjectKind::Machine => {
            machine_name(object).map_or(hash.unwrap_or_default(), |it| it.hash(hash))
        }
        _ => hash.unwrap_or_default(),
    };
    Ok(store::StoredObject {
        name: key_name(side, object),
        uid: arc(&metadata["uid"]),
        version: version(kind, text(&metadata["resourceVersion"]))?,
        fact: ParsedObject {
            shoot: labels[names::SHOOT_UID].as_str().map(Arc::from),
            hash,
            deleting: is_deleting(object),
            body,
        },
    })
}

/// Name in keys: with the namespace for namespaced objects of a shoot.
pub(crate) fn key_name(side: ClusterSide, object: &Value) -> Arc<str> {
    let metadata = &object["metadata"];
    match (side, metadata["namespace"].as_str()) {
        (ClusterSide::Shoot, Some(namespace)) => {
            format!("{namespace}/{}", text(&metadata["name"])).into()
        }
        _ => arc(&metadata["name"]),
    }
}

pub(crate) fn version(kind: ObjectKind, text: &str) -> Result<store::ResourceVersion, Error> {
    store::ResourceVersion::parse(text).ok_or_else(|| Error::UnorderedVersion {
        what: ResourceRef::all(Resource::of(kind), None).request_info("list"),
        version: text.to_owned(),
    })
}

/// Ready by `status.ready`, otherwise by printable status and condition. KubeVirt omits the field while it is false,
/// and reports Running shortly before the machine is ready.
pub(crate) fn is_ready(machine: &Value) -> bool {
    let status = &machine["status"];
    let condition = items(&status["conditions"])
        .iter()
        .find(|it| it["type"] == "Ready");
    status["ready"].as_bool().unwrap_or_else(|| {
        let is_running = status["printableStatus"] == "Running";
        is_running && condition.is_none_or(|it| it["status"] == "True")
    })
}

fn pool_sizes(record: &Value) -> BTreeMap<Arc<str>, usize> {
    let sizes: BTreeMap<String, usize> =
        serde_json::from_str(text(&record["data"][SIZES])).unwrap_or_default();
    sizes
        .into_iter()
        .map(|(pool, it)| (pool.into(), it))
        .collect()
}

fn machine_name(object: &Value) -> Option<MachineName<'_>> {
    let metadata = &object["metadata"];
    MachineName::parse(
        text(&metadata["labels"][names::PART_OF]),
        text(&metadata["name"]),
    )
}

fn machine(object: &Value) -> ParsedMachine {
    let metadata = &object["metadata"];
    let annotations = &metadata["annotations"];
    let spec = &object["spec"];
    let status = &object["status"];
    let labels = &metadata["labels"];
    let zone: usize = text(&labels[names::ZONE_INDEX]).parse().unwrap_or(1);
    let name = machine_name(object);
    let volume = &spec["dataVolumeTemplates"][0]["spec"]["source"]["pvc"]["name"];
    let networks = items(&spec["template"]["spec"]["networks"]);
    ParsedMachine {
        pool: name
            .as_ref()
            .map_or_else(|| arc(&labels[names::POOL]), |it| it.pool.into()),
        zone: name.map_or(zone.saturating_sub(1), |it| it.zone),
        ordinal: names::ordinal(text(&metadata["name"])).unwrap_or_default(),
        created: seconds(&metadata["creationTimestamp"])
            .and_then(|it| u64::try_from(it).ok())
            .unwrap_or_default(),
        ready: is_ready(object),
        broken: status["printableStatus"] == "CrashLoopBackOff",
        drain_requested: annotations[names::LEAVING].is_string(),
        image: volume.as_str().map(Arc::from),
        networks: networks
            .iter()
            .filter_map(|it| it["multus"]["networkName"].as_str().map(Arc::from))
            .collect(),
        types: instancetypes(spec),
        metadata: arc(&annotations[names::POOL_METADATA]),
        status: arc(&status["printableStatus"]),
        failure_message: failure_message(status),
        deletion: Deletion::of(object),
    }
}

/// Instancetype and preference in the namespace; without a kind KubeVirt uses the cluster-wide ones.
fn instancetypes(spec: &Value) -> Arc<[Arc<str>]> {
    let matchers = [
        (&spec["instancetype"], ObjectKind::Instancetype),
        (&spec["preference"], ObjectKind::Preference),
    ];
    let own = matchers.into_iter().filter_map(|(matcher, kind)| {
        let kind = kind.to_string();
        let is_own = text(&matcher["kind"]) == kind;
        is_own.then(|| format!("{kind} {}", text(&matcher["name"])).into())
    });
    own.collect()
}

/// KubeVirt evacuates an instance itself unless its eviction strategy is External. A VM without a strategy gets that of
/// the cluster on its instance.
fn instance(object: &Value) -> ParsedInstance {
    let is_external = object["spec"]["evictionStrategy"] == "External";
    let host = text(&object["status"]["evacuationNodeName"]);
    ParsedInstance {
        owner: arc(&object["metadata"]["ownerReferences"][0]["uid"]),
        evacuating: is_external && !host.is_empty() && !is_deleting(object),
    }
}

/// The first failed condition: a VM that could not be created explains more than one that is not ready.
fn failure_message(status: &Value) -> Option<Arc<str>> {
    let conditions = items(&status["conditions"]);
    let of = |name: &str, value: &str| {
        conditions
            .iter()
            .find(|it| it["type"] == name && it["status"] == value)
            .map(|it| text(&it["message"]))
            .filter(|it| !it.is_empty())
    };
    of("Failure", "True")
        .or_else(|| of("Synchronized", "False"))
        .or_else(|| of("PodScheduled", "False"))
        .map(Arc::from)
}

fn volume(object: &Value) -> ParsedVolume {
    let status = &object["status"];
    let phase = text(&status["phase"]);
    let condition = |name: &str| {
        items(&status["conditions"])
            .iter()
            .find(|it| it["type"] == name)
    };
    let message = |it: Option<&Value>| {
        it.map(|it| text(&it["message"]))
            .filter(|it| !it.is_empty())
            .map(Arc::from)
    };
    let running = condition("Running");
    let bound = condition("Bound").filter(|it| it["status"] == "False");
    let stumbles = running.filter(|it| it["reason"] == "Error");
    let restarts = status["restartCount"].as_i64().unwrap_or_default();
    let gave_up = stumbles.is_some() && restarts >= MAX_RESTARTS;
    let done = phase == "Succeeded";
    let spec = &object["spec"];
    let request = [&spec["storage"], &spec["pvc"]]
        .into_iter()
        .find_map(|it| it["resources"]["requests"]["storage"].as_str());
    ParsedVolume {
        done,
        percent: percent(text(&status["progress"])),
        size: request.and_then(bytes),
        waiting_reason: (!done)
            .then(|| {
                message(stumbles)
                    .or_else(|| message(bound))
                    .or_else(|| message(running))
            })
            .flatten(),
        failed: (!done && (phase == "Failed" || gave_up)).then(|| {
            message(running)
                .or_else(|| message(bound))
                .unwrap_or_else(|| "the import failed".into())
        }),
        restarts,
        failed_permanently: phase == "Failed",
    }
}

/// Parses `43.10%`; `N/A` before the import begins.
fn percent(text: &str) -> Option<f32> {
    let number: f32 = text.strip_suffix('%')?.parse().ok()?;
    Some(number.clamp(0.0, 100.0))
}

/// Parses a quantity of storage into bytes; None if invalid.
pub(crate) fn bytes(quantity: &str) -> Option<u64> {
    const UNITS: [(&str, u64); 10] = [
        ("Ki", 1 << 10),
        ("Mi", 1 << 20),
        ("Gi", 1 << 30),
        ("Ti", 1 << 40),
        ("Pi", 1 << 50),
        ("k", 1_000),
        ("M", 1_000_000),
        ("G", 1_000_000_000),
        ("T", 1_000_000_000_000),
        ("P", 1_000_000_000_000_000),
    ];
    let (number, unit) = UNITS
        .iter()
        .find_map(|(suffix, unit)| Some((quantity.strip_suffix(suffix)?, *unit)))
        .unwrap_or((quantity, 1));
    match number.parse::<u64>() {
        Ok(number) => number.checked_mul(unit),
        Err(_) => {
            let number = number.parse::<f64>().ok().filter(|it| *it >= 0.0)?;
            Some((number * unit as f64) as u64)
        }
    }
}

#[cfg(test)]
#[path = "object_tests.rs"]
mod tests;
