//! From an object as the API has it to the few facts that plans care about. Pure.

use super::deletion::Going;
use super::types::{Body, Instance, Seen, Vm, Volume};
use super::user_resources;
use super::workload;
use crate::cluster::client::error::Error;
use crate::cluster::client::request::Place;
use crate::cluster::client::resources::Resource;
use crate::cluster::client::resources::Source;
use crate::cluster::json::{arc, is_leaving, items, seconds, text};
use crate::state::hash::Hash;
use crate::state::key::{Kind, Side};
use crate::state::names::{self, MachineName};
use crate::state::record::{CLUSTER_IP, EXPIRY, SIZES};
use crate::state::store;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Imports are tried again by CDI for ever; after so many restarts they are told as failed.
const RESTARTS: i64 = 3;

/// The facts of one object of a kind.
///
/// # Errors
///
/// Its version is no number.
pub(crate) fn seen(source: Source, object: &Value) -> Result<store::Object<Seen>, Error> {
    let (side, kind) = source;
    let metadata = &object["metadata"];
    let labels = &metadata["labels"];
    let body = match kind {
        Kind::Record => Body::Record {
            sizes: sizes(object),
            cluster_ip: object["data"][CLUSTER_IP].as_str().map(Arc::from),
            expiry: object["data"][EXPIRY].as_str().map(Arc::from),
        },
        Kind::Node => Body::Node(workload::node(object)),
        Kind::Image if labels[names::COMPONENT] == names::role::MACHINE_VOLUME => Body::Disk {
            owner: arc(&metadata["ownerReferences"][0]["uid"]),
            machine: arc(&labels[names::KUBEVIRT_VM]),
        },
        Kind::Image => Body::Volume(volume(object)),
        Kind::Machine => Body::Machine(Box::new(machine(object))),
        Kind::Instance => Body::Instance(instance(object)),
        _ if kind.is_of_guest() => Body::Guest(user_resources::holds(kind, object)),
        _ => workload::fact(kind, object).map_or(Body::Plain, Body::Told),
    };
    // Another program's annotation is as good as none: it differs from what is wanted.
    let hash = Hash::parse(text(&metadata["annotations"][names::SPEC_HASH]));
    let hash = match kind {
        Kind::Machine => machine_name(object).map_or(hash.unwrap_or_default(), |it| it.hash(hash)),
        _ => hash.unwrap_or_default(),
    };
    Ok(store::Object {
        name: name_of(side, object),
        uid: arc(&metadata["uid"]),
        version: version(kind, text(&metadata["resourceVersion"]))?,
        fact: Seen {
            shoot: labels[names::SHOOT_UID].as_str().map(Arc::from),
            hash,
            leaving: is_leaving(object),
            body,
        },
    })
}

/// As it is called in keys: in the shoot with its namespace, if it has one.
pub(crate) fn name_of(side: Side, object: &Value) -> Arc<str> {
    let metadata = &object["metadata"];
    match (side, metadata["namespace"].as_str()) {
        (Side::Shoot, Some(namespace)) => format!("{namespace}/{}", text(&metadata["name"])).into(),
        _ => arc(&metadata["name"]),
    }
}

pub(crate) fn version(kind: Kind, text: &str) -> Result<store::Version, Error> {
    store::Version::parse(text).ok_or_else(|| Error::Version {
        what: Place::all(Resource::of(kind), None).what("list"),
        version: text.to_owned(),
    })
}

/// KubeVirt's word, or Running where neither that nor a condition is there. KubeVirt leaves the word out while it is no,
/// and calls a machine Running a moment before it is ready.
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

fn sizes(record: &Value) -> BTreeMap<Arc<str>, usize> {
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

fn machine(object: &Value) -> Vm {
    let metadata = &object["metadata"];
    let annotations = &metadata["annotations"];
    let spec = &object["spec"];
    let status = &object["status"];
    let labels = &metadata["labels"];
    let zone: usize = text(&labels[names::ZONE_INDEX]).parse().unwrap_or(1);
    let name = machine_name(object);
    let volume = &spec["dataVolumeTemplates"][0]["spec"]["source"]["pvc"]["name"];
    let networks = items(&spec["template"]["spec"]["networks"]);
    Vm {
        pool: name
            .as_ref()
            .map_or_else(|| arc(&labels[names::POOL]), |it| it.pool.into()),
        zone: name.map_or(zone.saturating_sub(1), |it| it.zone),
        ordinal: names::ordinal(text(&metadata["name"])).unwrap_or_default(),
        born: seconds(&metadata["creationTimestamp"])
            .and_then(|it| u64::try_from(it).ok())
            .unwrap_or_default(),
        ready: is_ready(object),
        broken: status["printableStatus"] == "CrashLoopBackOff",
        marked: annotations[names::LEAVING].is_string(),
        image: volume.as_str().map(Arc::from),
        networks: networks
            .iter()
            .filter_map(|it| it["multus"]["networkName"].as_str().map(Arc::from))
            .collect(),
        types: types(spec),
        metadata: arc(&annotations[names::POOL_METADATA]),
        status: arc(&status["printableStatus"]),
        complaint: complaint(status),
        going: Going::of(object),
    }
}

/// What it is made by that belongs to the namespace; where a VM names no kind, KubeVirt takes that of the cluster.
fn types(spec: &Value) -> Arc<[Arc<str>]> {
    let matchers = [
        (&spec["instancetype"], Kind::Instancetype),
        (&spec["preference"], Kind::Preference),
    ];
    let own = matchers.into_iter().filter_map(|(matcher, kind)| {
        let kind = kind.to_string();
        let is_own = text(&matcher["kind"]) == kind;
        is_own.then(|| format!("{kind} {}", text(&matcher["name"])).into())
    });
    own.collect()
}

/// KubeVirt moves an instance by itself, or lets it go, unless its strategy says that somebody else sees to it. Where a
/// VM names none, KubeVirt writes the one of the cluster onto the instance.
fn instance(object: &Value) -> Instance {
    let is_external = object["spec"]["evictionStrategy"] == "External";
    let host = text(&object["status"]["evacuationNodeName"]);
    Instance {
        owner: arc(&object["metadata"]["ownerReferences"][0]["uid"]),
        evacuating: is_external && !host.is_empty() && !is_leaving(object),
    }
}

/// Of several, what came first in the chain: a VM that could not be made tells more than one that is not ready.
fn complaint(status: &Value) -> Option<Arc<str>> {
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

fn volume(object: &Value) -> Volume {
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
    let gave_up = stumbles.is_some() && restarts >= RESTARTS;
    let done = phase == "Succeeded";
    let spec = &object["spec"];
    let request = [&spec["storage"], &spec["pvc"]]
        .into_iter()
        .find_map(|it| it["resources"]["requests"]["storage"].as_str());
    Volume {
        done,
        percent: percent(text(&status["progress"])),
        size: request.and_then(bytes),
        waits: (!done)
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
        dead: phase == "Failed",
    }
}

/// `43.10%`, or `N/A` before it begins.
fn percent(text: &str) -> Option<f32> {
    let number: f32 = text.strip_suffix('%')?.parse().ok()?;
    Some(number.clamp(0.0, 100.0))
}

/// A quantity of storage in bytes; None for what is no such quantity.
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
