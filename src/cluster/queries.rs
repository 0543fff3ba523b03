//! Single reads for commands that only display.

use super::client::error::Error;
use super::client::request::ResourceRef;
use super::client::resources;
use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::request::empty_if_forbidden;
use crate::cluster::json::{arc, is_deleting, items, seconds, text};
use crate::cluster::observe::parse::object;
use crate::cluster::observe::parse::types::ParsedBody;
use crate::state::facts::ImageImport;
use crate::state::key::{ClusterSide, ObjectKind};
use crate::state::names::{self, role};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use secrecy::SecretString;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Namespaces to search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NamespaceScope {
    /// The namespace of the client.
    Current,
    All,
}

/// A record as stored; its data are interpreted by their writer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RecordSnapshot {
    pub(crate) namespace: Arc<str>,
    /// The technical ID.
    pub(crate) name: Arc<str>,
    pub(crate) uid: Arc<str>,
    /// Seconds since 1970, by the server's clock.
    pub(crate) created: Option<i64>,
    pub(crate) leaving: bool,
    pub(crate) annotations: BTreeMap<String, String>,
    pub(crate) data: BTreeMap<String, String>,
}

/// A machine, for display.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MachineSnapshot {
    pub(crate) name: Arc<str>,
    pub(crate) pool: Arc<str>,
    /// Name of the zone.
    pub(crate) zone: Arc<str>,
    /// Index of the zone in the pool, from 0.
    pub(crate) zone_index: usize,
    pub(crate) ordinal: u32,
    pub(crate) hash: crate::state::hash::Hash,
    /// Printable status of KubeVirt; Deleting during deletion.
    pub(crate) status: Arc<str>,
    pub(crate) ready: bool,
    /// Marked for drain and deletion.
    pub(crate) draining: bool,
    /// Node of the provider cluster.
    pub(crate) host: Option<Arc<str>>,
    /// Addresses of all interfaces, in order.
    pub(crate) addresses: Vec<Arc<str>>,
    /// Golden volume that it was cloned from.
    pub(crate) image: Option<Arc<str>>,
    pub(crate) created: Option<i64>,
    /// Message of the first failed condition.
    pub(crate) complaint: Option<Arc<str>>,
}

/// A golden volume.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ImageSnapshot {
    pub(crate) name: Arc<str>,
    /// Technical ID of the shoot that it belongs to.
    pub(crate) shoot: Arc<str>,
    /// Name and version of the image.
    pub(crate) image: Arc<str>,
    pub(crate) phase: Arc<str>,
    /// In bytes.
    pub(crate) size: Option<u64>,
    pub(crate) import: ImageImport,
    pub(crate) created: Option<i64>,
}

impl ApiClient {
    /// All shoots, by namespace and name.
    pub(crate) async fn records(
        &self,
        resource_ref: NamespaceScope,
    ) -> Result<Vec<RecordSnapshot>, Error> {
        let namespace = match resource_ref {
            NamespaceScope::Current => Some(&**self.namespace()),
            NamespaceScope::All => None,
        };
        let selector = role_selector(role::RECORD);
        let resource_ref = ResourceRef::all(&resources::CONFIG_MAP, namespace);
        let listed = self.list(resource_ref, Some(&selector)).await?;
        let mut records: Vec<_> = listed.items.iter().map(record).collect();
        records.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
        Ok(records)
    }

    /// Names of all namespaces.
    pub(crate) async fn namespaces(&self) -> Result<Vec<String>, Error> {
        let listed = self
            .list(ResourceRef::all(&resources::NAMESPACE, None), None)
            .await?;
        let names = listed.items.iter().map(|it| text(&it["metadata"]["name"]));
        Ok(names.map(str::to_owned).collect())
    }

    /// The record of a shoot; None if the shoot does not exist.
    ///
    /// # Errors
    ///
    /// Also if a ConfigMap of that name does not belong to kvshoot.
    pub(crate) async fn record(&self, id: &str) -> Result<Option<RecordSnapshot>, Error> {
        let resource_ref = ResourceRef::one(&resources::CONFIG_MAP, self.namespace(), id);
        let existing = match self.get_with_retry(resource_ref).await {
            Err(Error::NotFound { .. }) => return Ok(None),
            other => other?,
        };
        let labels = &existing["metadata"]["labels"];
        if labels[names::MANAGED_BY] != names::KVSHOOT || labels[names::PART_OF] != id {
            return Err(Error::NotOwned {
                what: resource_ref.request_info("get"),
            });
        }
        Ok(Some(record(&existing)))
    }

    /// A value of a ConfigMap of the namespace; None without that key.
    pub(crate) async fn config_map_value(
        &self,
        config_map: &str,
        key: &str,
    ) -> Result<Option<String>, Error> {
        let resource_ref = ResourceRef::one(&resources::CONFIG_MAP, self.namespace(), config_map);
        let existing = self.get_with_retry(resource_ref).await?;
        Ok(existing["data"][key].as_str().map(str::to_owned))
    }

    /// A value of a Secret of the namespace; None without that key, or if it is not text.
    pub(crate) async fn secret_value(
        &self,
        secret: &str,
        key: &str,
    ) -> Result<Option<String>, Error> {
        let resource_ref = ResourceRef::one(&resources::SECRET, self.namespace(), secret);
        let existing = self.get_secret(resource_ref).await?;
        let bytes = STANDARD
            .decode(text(&existing["data"][key]))
            .unwrap_or_default();
        Ok(String::from_utf8(bytes).ok().filter(|it| !it.is_empty()))
    }

    /// The kubeconfig in a Secret of the namespace; None if it does not exist or reading it is forbidden.
    pub(crate) async fn kubeconfig(
        &self,
        secret: &str,
        key: &str,
    ) -> Result<Option<SecretString>, Error> {
        match self.secret_value(secret, key).await {
            Err(Error::NotFound { .. } | Error::Forbidden { .. }) => Ok(None),
            other => Ok(other?.map(SecretString::from)),
        }
    }

    /// All machines of a shoot, by name.
    pub(crate) async fn machines(&self, id: &str) -> Result<Vec<MachineSnapshot>, Error> {
        let selector = shoot_role_selector(id, role::MACHINE);
        let all = names::selector(id);
        let namespace = Some(&**self.namespace());
        let (machines, instances) = futures::future::join(
            self.list(
                ResourceRef::all(&resources::VIRTUAL_MACHINE, namespace),
                Some(&selector),
            ),
            self.list(
                ResourceRef::all(&resources::VIRTUAL_MACHINE_INSTANCE, namespace),
                Some(&all),
            ),
        )
        .await;
        let instances = empty_if_forbidden(instances.map(|it| it.items))?;
        let by_name: HashMap<&str, &Value> = instances
            .iter()
            .map(|it| (text(&it["metadata"]["name"]), it))
            .collect();
        let mut snapshots = Vec::new();
        for object in &machines?.items {
            let instance = by_name.get(text(&object["metadata"]["name"])).copied();
            snapshots.extend(machine(object, instance)?);
        }
        snapshots.sort_by(|a, b| {
            (&a.pool, a.zone_index, &a.name).cmp(&(&b.pool, b.zone_index, &b.name))
        });
        Ok(snapshots)
    }

    /// Golden volumes of one shoot, or of all shoots in the namespace.
    pub(crate) async fn images(&self, id: Option<&str>) -> Result<Vec<ImageSnapshot>, Error> {
        let selector = match id {
            Some(id) => shoot_role_selector(id, role::IMAGE),
            None => role_selector(role::IMAGE),
        };
        let resource_ref = ResourceRef::all(&resources::DATA_VOLUME, Some(self.namespace()));
        let listed = self.list(resource_ref, Some(&selector)).await?;
        let mut images = Vec::new();
        for object in &listed.items {
            images.extend(image(object)?);
        }
        images.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(images)
    }
}

fn role_selector(role: &str) -> String {
    format!(
        "{}={},{}={role}",
        names::MANAGED_BY,
        names::KVSHOOT,
        names::COMPONENT
    )
}

fn shoot_role_selector(id: &str, role: &str) -> String {
    format!("{},{}={role}", names::selector(id), names::COMPONENT)
}

fn record(object: &Value) -> RecordSnapshot {
    let metadata = &object["metadata"];
    RecordSnapshot {
        namespace: arc(&metadata["namespace"]),
        name: arc(&metadata["name"]),
        uid: arc(&metadata["uid"]),
        created: seconds(&metadata["creationTimestamp"]),
        leaving: is_deleting(object),
        annotations: string_map(&metadata["annotations"]),
        data: string_map(&object["data"]),
    }
}

fn machine(object: &Value, instance: Option<&Value>) -> Result<Option<MachineSnapshot>, Error> {
    let parsed = object::parse((ClusterSide::Provider, ObjectKind::Machine), object)?;
    let ParsedBody::Machine(vm) = parsed.fact.body else {
        return Ok(None);
    };
    let metadata = &object["metadata"];
    let status = instance.map(|it| &it["status"]);
    let interfaces = status.map_or(&[][..], |it| items(&it["interfaces"]));
    Ok(Some(MachineSnapshot {
        name: parsed.name,
        pool: vm.pool,
        zone: arc(&metadata["annotations"][names::ZONE]),
        zone_index: vm.zone,
        ordinal: vm.ordinal,
        hash: parsed.fact.hash,
        status: match parsed.fact.deleting {
            true => "Deleting".into(),
            false => vm.status,
        },
        ready: vm.ready,
        draining: vm.drain_requested,
        host: status.and_then(|it| it["nodeName"].as_str().map(Arc::from)),
        addresses: interfaces.iter().flat_map(addresses).collect(),
        image: vm.image,
        created: seconds(&metadata["creationTimestamp"]),
        complaint: vm.failure_message,
    }))
}

/// An interface with several addresses lists all of them, and the first one separately.
fn addresses(interface: &Value) -> Vec<Arc<str>> {
    let all = items(&interface["ipAddresses"]);
    let one = std::slice::from_ref(&interface["ipAddress"]);
    let addresses = if all.is_empty() { one } else { all };
    let addresses = addresses.iter().filter_map(Value::as_str);
    addresses
        .filter(|it| !it.is_empty())
        .map(Arc::from)
        .collect()
}

fn image(object: &Value) -> Result<Option<ImageSnapshot>, Error> {
    let parsed = object::parse((ClusterSide::Provider, ObjectKind::ImageVolume), object)?;
    let ParsedBody::Image(volume) = parsed.fact.body else {
        return Ok(None);
    };
    let metadata = &object["metadata"];
    Ok(Some(ImageSnapshot {
        name: parsed.name,
        shoot: arc(&metadata["labels"][names::PART_OF]),
        image: arc(&metadata["annotations"][names::IMAGE]),
        phase: arc(&object["status"]["phase"]),
        size: volume.size,
        import: ImageImport {
            done: volume.done,
            percent: volume.percent,
            speed: None,
            waits: volume.waiting_reason,
            failed: volume.failed,
        },
        created: seconds(&metadata["creationTimestamp"]),
    }))
}

fn string_map(map: &Value) -> BTreeMap<String, String> {
    let entries = map.as_object().into_iter().flatten();
    entries
        .filter_map(|(key, it)| Some((key.clone(), it.as_str()?.to_owned())))
        .collect()
}
