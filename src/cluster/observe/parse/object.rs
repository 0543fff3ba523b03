//! Parsing of API objects into the few facts that plans and commands need. Pure functions.

use super::types::{ParsedBody, ParsedObject};
use super::{etcd, image, machine, node, secret, signing_request, user_resources};
use crate::cluster::client::error::Error;
use crate::cluster::client::request::ResourceRef;
use crate::cluster::client::resources::{self, Resource, ResourceScope};
use crate::cluster::objects::api_service::PartialApiService;
use crate::cluster::objects::core::config_map::PartialConfigMap;
use crate::cluster::objects::core::node::PartialNode;
use crate::cluster::objects::core::service::PartialService;
use crate::cluster::objects::kubevirt::data_volume::PartialDataVolume;
use crate::cluster::objects::kubevirt::virtual_machine::PartialVirtualMachine;
use crate::cluster::objects::kubevirt::virtual_machine_instance::PartialVirtualMachineInstance;
use crate::cluster::objects::metadata::{PartialObject, PartialObjectMeta};
use crate::cluster::objects::reader::{MAX_NAME, read};
use crate::cluster::objects::signing_request::PartialSigningRequest;
use crate::cluster::objects::workload::{PartialDaemonSet, PartialReplicatedWorkload};
use crate::state::desired::SizesByPool;
use crate::state::facts::{ObjectStatus, Rollout};
use crate::state::hash::Hash;
use crate::state::key::{ClusterSide, ObjectKind};
use crate::state::names;
use crate::state::record::backup::{LAST_BACKUP, LastBackup};
use crate::state::record::hibernation::HIBERNATION;
use crate::state::record::rotation::RotationOperation;
use crate::state::record::{CLUSTER_IP, ETCD, EXPIRY, ROTATION, SIZES};
use crate::state::store;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::sync::Arc;

/// Parses an object of a kind.
///
/// # Errors
///
/// A field that is needed is missing, a field has another type, its resourceVersion is not a number, or its name or UID
/// is longer than Kubernetes allows.
pub(crate) fn parse(
    scope: ResourceScope,
    object: &Value,
) -> Result<store::StoredObject<ParsedObject>, Error> {
    let (side, kind) = scope;
    let (metadata, body) = parse_body(kind, object)?;
    check_names(kind, &metadata)?;
    // An invalid annotation counts as missing: it differs from the desired hash.
    let hash = metadata.annotation(names::SPEC_HASH).and_then(Hash::parse);
    let hash = match kind {
        ObjectKind::Machine => {
            machine::machine_name(&metadata).map_or(hash.unwrap_or_default(), |it| it.hash(hash))
        }
        _ => hash.unwrap_or_default(),
    };
    Ok(store::StoredObject {
        name: stored_name(side, metadata.namespace.as_deref(), &metadata.name),
        uid: metadata.uid.as_str().into(),
        version: version(kind, &metadata.resource_version)?,
        fact: ParsedObject {
            shoot: metadata.label(names::SHOOT_UID).map(Into::into),
            hash,
            deleting: metadata.is_deleting(),
            size: body.size(),
            body,
        },
    })
}

/// Names are remembered after the object was deleted.
fn check_names(kind: ObjectKind, metadata: &PartialObjectMeta) -> Result<(), Error> {
    let namespace = metadata.namespace.as_deref().unwrap_or_default();
    let shoot = metadata.label(names::SHOOT_UID).unwrap_or_default();
    let names = [&metadata.name, &metadata.uid, namespace, shoot];
    match names.iter().all(|it| it.len() <= MAX_NAME) {
        true => Ok(()),
        false => Err(Error::InvalidObject {
            what: ResourceRef::all(Resource::of(kind), None).request_info("get"),
            message: format!(".metadata has a name of more than {MAX_NAME} bytes"),
        }),
    }
}

fn parse_body(kind: ObjectKind, object: &Value) -> Result<(PartialObjectMeta, ParsedBody), Error> {
    let resource = Resource::of(kind);
    Ok(match kind {
        ObjectKind::Record => {
            let it: PartialConfigMap = read(resource, object)?;
            let body = record(&it)?;
            (it.metadata, body)
        }
        ObjectKind::Node => {
            let it: PartialNode = read(resource, object)?;
            let body = ParsedBody::Node(node::parse_node(&it));
            (it.metadata, body)
        }
        ObjectKind::SigningRequest => {
            let it: PartialSigningRequest = read(resource, object)?;
            let parsed = signing_request::parse_signing_request(&it);
            (
                it.metadata,
                ParsedBody::SigningRequest(parsed.map(Arc::new)),
            )
        }
        ObjectKind::ImageVolume => {
            let it: PartialDataVolume = read(resource, object)?;
            let body = data_volume(&it);
            (it.metadata, body)
        }
        ObjectKind::Machine => {
            let it: PartialVirtualMachine = read(resource, object)?;
            let body = ParsedBody::Machine(Box::new(machine::parse_machine(&it)));
            (it.metadata, body)
        }
        ObjectKind::VirtualMachineInstance => {
            let it: PartialVirtualMachineInstance = read(resource, object)?;
            let body = ParsedBody::Instance(machine::parse_instance(&it));
            (it.metadata, body)
        }
        _ if kind.is_user_resource() => {
            let (metadata, claims) = user_resources::parse_user_resource(kind, object)?;
            (metadata, ParsedBody::UserResource(claims))
        }
        _ => {
            let (metadata, status) = parse_status(kind, object)?;
            (
                metadata,
                status.map_or(ParsedBody::Plain, ParsedBody::Status),
            )
        }
    })
}

/// The status of the remaining kinds; None for kinds without a status that matters.
fn parse_status(
    kind: ObjectKind,
    object: &Value,
) -> Result<(PartialObjectMeta, Option<ObjectStatus>), Error> {
    let resource = Resource::of(kind);
    Ok(match kind {
        ObjectKind::Secret => {
            let it: PartialObject = read(resource, object)?;
            let status = ObjectStatus::Secret(secret::parse_secret(&it.metadata));
            (it.metadata, Some(status))
        }
        ObjectKind::BootstrapToken => {
            let it: PartialObject = read(resource, object)?;
            let status = ObjectStatus::Token(it.metadata.created().unwrap_or_default());
            (it.metadata, Some(status))
        }
        ObjectKind::Service => {
            let it: PartialService = read(resource, object)?;
            let status = ObjectStatus::Service(it.observed());
            (it.metadata, Some(status))
        }
        ObjectKind::Deployment | ObjectKind::StatefulSet => {
            let it: PartialReplicatedWorkload = read(resource, object)?;
            let rollout = Rollout {
                etcd: etcd::parse_role(&it),
                ..it.rollout()
            };
            let status = ObjectStatus::Rollout(rollout);
            (it.metadata, Some(status))
        }
        ObjectKind::DaemonSet => {
            let it: PartialDaemonSet = read(resource, object)?;
            let status = ObjectStatus::Rollout(it.rollout());
            (it.metadata, Some(status))
        }
        ObjectKind::ApiService => {
            let it: PartialApiService = read(resource, object)?;
            let status = ObjectStatus::Answer(it.failure().map(Into::into));
            (it.metadata, Some(status))
        }
        _ => {
            let it: PartialObject = read(resource, object)?;
            (it.metadata, None)
        }
    })
}

/// Name in keys of an object that kvshoot rendered, or that was read.
pub(crate) fn key_name(side: ClusterSide, object: &Value) -> Arc<str> {
    let metadata = &object["metadata"];
    let name = metadata["name"].as_str().unwrap_or_default();
    stored_name(side, metadata["namespace"].as_str(), name)
}

/// Name in keys: with the namespace for namespaced objects of a shoot.
fn stored_name(side: ClusterSide, namespace: Option<&str>, name: &str) -> Arc<str> {
    match (side, namespace) {
        (ClusterSide::Shoot, Some(namespace)) => format!("{namespace}/{name}").into(),
        _ => name.into(),
    }
}

pub(crate) fn version(kind: ObjectKind, text: &str) -> Result<store::ResourceVersion, Error> {
    store::ResourceVersion::parse(text).ok_or_else(|| Error::UnorderedVersion {
        what: ResourceRef::all(Resource::of(kind), None).request_info("list"),
        version: text.chars().take(100).collect(),
    })
}

/// # Errors
///
/// The cluster of etcd, a rotation or the hibernation is not readable: it must not be taken for a missing one.
fn record(record: &PartialConfigMap) -> Result<ParsedBody, Error> {
    let sizes = record.value(SIZES).unwrap_or_default();
    let sizes: SizesByPool = serde_json::from_str(sizes).unwrap_or_default();
    let sizes = sizes.into_iter();
    let operation = record.metadata.annotation(names::OPERATION);
    let last_backup = record
        .metadata
        .annotation(LAST_BACKUP)
        .and_then(LastBackup::parse);
    Ok(ParsedBody::Record {
        sizes: sizes.map(|(pool, it)| (pool.into(), it)).collect(),
        cluster_ip: record.value(CLUSTER_IP).map(Into::into),
        expiry: record.value(EXPIRY).map(Into::into),
        etcd: json_value(record, ETCD)?,
        rotation: json_value(record, ROTATION)?.unwrap_or_default(),
        hibernation: json_value(record, HIBERNATION)?.unwrap_or_default(),
        operation: operation.and_then(RotationOperation::parse),
        repairs: repairs(record),
        last_backup: last_backup.and_then(|it| it.time()),
    })
}

/// Times of repairs, in seconds since 1970.
fn repairs(record: &PartialConfigMap) -> Arc<[i64]> {
    let text = record
        .metadata
        .annotation(names::REPAIRS)
        .unwrap_or_default();
    text.split(',').filter_map(|it| it.parse().ok()).collect()
}

fn json_value<T: DeserializeOwned>(
    record: &PartialConfigMap,
    key: &str,
) -> Result<Option<T>, Error> {
    let value = record.value(key).map(serde_json::from_str).transpose();
    value.map_err(|error| Error::InvalidObject {
        what: ResourceRef::all(&resources::CONFIG_MAP, None).request_info("get"),
        message: format!(".data[{key:?}]: {error}"),
    })
}

/// A golden volume, or a disk of a machine.
fn data_volume(volume: &PartialDataVolume) -> ParsedBody {
    let metadata = &volume.metadata;
    if metadata.label(names::COMPONENT) != Some(names::role::MACHINE_VOLUME) {
        return ParsedBody::Image(image::parse_image(volume));
    }
    ParsedBody::MachineDisk {
        owner: metadata.owner_uid().unwrap_or_default().into(),
        machine: metadata
            .label(names::KUBEVIRT_VM)
            .unwrap_or_default()
            .into(),
    }
}

#[cfg(test)]
#[path = "object_tests.rs"]
mod tests;
