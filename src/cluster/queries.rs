//! One look at what is there, for commands that only show.

use super::client::error::Error;
use super::client::request::Place;
use super::client::resources;
use crate::cluster::client::api_client::Provider;
use crate::cluster::client::request::if_allowed;
use crate::cluster::json::{arc, is_leaving, items, seconds, text};
use crate::cluster::observe::parse::object;
use crate::cluster::observe::parse::types::Body;
use crate::state::facts::Import;
use crate::state::key::{Kind, Side};
use crate::state::names::{self, role};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use secrecy::SecretString;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Where to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Where {
    /// In the namespace of the connection.
    Namespace,
    AllNamespaces,
}

/// A record as it stands. What its data mean is the matter of who wrote it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RecordSeen {
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

/// A machine as people want to see it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MachineSeen {
    pub(crate) name: Arc<str>,
    pub(crate) pool: Arc<str>,
    /// Name of the zone.
    pub(crate) zone: Arc<str>,
    /// Index of the zone in the pool, from 0.
    pub(crate) zone_index: usize,
    pub(crate) ordinal: u32,
    pub(crate) hash: crate::state::hash::Hash,
    /// KubeVirt's word; Deleting once it was deleted.
    pub(crate) status: Arc<str>,
    pub(crate) ready: bool,
    /// Chosen to go.
    pub(crate) draining: bool,
    /// The provider's node that it runs on.
    pub(crate) host: Option<Arc<str>>,
    /// Of all its interfaces, in their order.
    pub(crate) addresses: Vec<Arc<str>>,
    /// The golden volume that it was cloned from.
    pub(crate) image: Option<Arc<str>>,
    pub(crate) created: Option<i64>,
    /// What KubeVirt complains of.
    pub(crate) complaint: Option<Arc<str>>,
}

/// A golden volume.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ImageSeen {
    pub(crate) name: Arc<str>,
    /// Technical ID of the shoot that it belongs to.
    pub(crate) shoot: Arc<str>,
    /// Name and version of the image.
    pub(crate) image: Arc<str>,
    pub(crate) phase: Arc<str>,
    /// In bytes.
    pub(crate) size: Option<u64>,
    pub(crate) import: Import,
    pub(crate) created: Option<i64>,
}

impl Provider {
    /// All shoots, by namespace and name.
    pub(crate) async fn records(&self, place: Where) -> Result<Vec<RecordSeen>, Error> {
        let namespace = match place {
            Where::Namespace => Some(&**self.namespace()),
            Where::AllNamespaces => None,
        };
        let selector = all_of(role::RECORD);
        let place = Place::all(&resources::CONFIG_MAP, namespace);
        let listed = self.list(place, Some(&selector)).await?;
        let mut records: Vec<_> = listed.items.iter().map(record).collect();
        records.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
        Ok(records)
    }

    /// Names of all namespaces.
    pub(crate) async fn namespaces(&self) -> Result<Vec<String>, Error> {
        let listed = self
            .list(Place::all(&resources::NAMESPACE, None), None)
            .await?;
        let names = listed.items.iter().map(|it| text(&it["metadata"]["name"]));
        Ok(names.map(str::to_owned).collect())
    }

    /// The record of one shoot; None when there is no such shoot.
    ///
    /// # Errors
    ///
    /// Also when a ConfigMap of that name is not kvshoot's.
    pub(crate) async fn record(&self, id: &str) -> Result<Option<RecordSeen>, Error> {
        let place = Place::one(&resources::CONFIG_MAP, self.namespace(), id);
        let there = match self.get_again(place).await {
            Err(Error::NotFound { .. }) => return Ok(None),
            other => other?,
        };
        let labels = &there["metadata"]["labels"];
        if labels[names::MANAGED_BY] != names::KVSHOOT || labels[names::PART_OF] != id {
            return Err(Error::Foreign {
                what: place.what("get"),
            });
        }
        Ok(Some(record(&there)))
    }

    /// One value of a ConfigMap of the namespace; None when there is none of that key.
    pub(crate) async fn value(&self, config_map: &str, key: &str) -> Result<Option<String>, Error> {
        let place = Place::one(&resources::CONFIG_MAP, self.namespace(), config_map);
        let there = self.get_again(place).await?;
        Ok(there["data"][key].as_str().map(str::to_owned))
    }

    /// The same of a Secret; None as well for what is no text.
    pub(crate) async fn secret_value(
        &self,
        secret: &str,
        key: &str,
    ) -> Result<Option<String>, Error> {
        let place = Place::one(&resources::SECRET, self.namespace(), secret);
        let there = self.get_secret(place).await?;
        let bytes = STANDARD
            .decode(text(&there["data"][key]))
            .unwrap_or_default();
        Ok(String::from_utf8(bytes).ok().filter(|it| !it.is_empty()))
    }

    /// The kubeconfig in a Secret of the namespace; None when there is none, or none that may be read.
    pub(crate) async fn kubeconfig(
        &self,
        secret: &str,
        key: &str,
    ) -> Result<Option<SecretString>, Error> {
        match self.secret_value(secret, key).await {
            Err(Error::NotFound { .. } | Error::NotAllowed { .. }) => Ok(None),
            other => Ok(other?.map(SecretString::from)),
        }
    }

    /// All machines of a shoot, by name.
    pub(crate) async fn machines(&self, id: &str) -> Result<Vec<MachineSeen>, Error> {
        let selector = of_shoot(id, role::MACHINE);
        let all = names::selector(id);
        let namespace = Some(&**self.namespace());
        let (machines, instances) = futures::future::join(
            self.list(
                Place::all(&resources::VIRTUAL_MACHINE, namespace),
                Some(&selector),
            ),
            self.list(
                Place::all(&resources::VIRTUAL_MACHINE_INSTANCE, namespace),
                Some(&all),
            ),
        )
        .await;
        let instances = if_allowed(instances.map(|it| it.items))?;
        let by_name: HashMap<&str, &Value> = instances
            .iter()
            .map(|it| (text(&it["metadata"]["name"]), it))
            .collect();
        let mut seen = Vec::new();
        for object in &machines?.items {
            let instance = by_name.get(text(&object["metadata"]["name"])).copied();
            seen.extend(machine(object, instance)?);
        }
        seen.sort_by(|a, b| {
            (&a.pool, a.zone_index, &a.name).cmp(&(&b.pool, b.zone_index, &b.name))
        });
        Ok(seen)
    }

    /// Golden volumes of one shoot, or of all in the namespace.
    pub(crate) async fn images(&self, id: Option<&str>) -> Result<Vec<ImageSeen>, Error> {
        let selector = match id {
            Some(id) => of_shoot(id, role::IMAGE),
            None => all_of(role::IMAGE),
        };
        let place = Place::all(&resources::DATA_VOLUME, Some(self.namespace()));
        let listed = self.list(place, Some(&selector)).await?;
        let mut images = Vec::new();
        for object in &listed.items {
            images.extend(image(object)?);
        }
        images.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(images)
    }
}

fn all_of(role: &str) -> String {
    format!(
        "{}={},{}={role}",
        names::MANAGED_BY,
        names::KVSHOOT,
        names::COMPONENT
    )
}

fn of_shoot(id: &str, role: &str) -> String {
    format!("{},{}={role}", names::selector(id), names::COMPONENT)
}

fn record(object: &Value) -> RecordSeen {
    let metadata = &object["metadata"];
    RecordSeen {
        namespace: arc(&metadata["namespace"]),
        name: arc(&metadata["name"]),
        uid: arc(&metadata["uid"]),
        created: seconds(&metadata["creationTimestamp"]),
        leaving: is_leaving(object),
        annotations: texts(&metadata["annotations"]),
        data: texts(&object["data"]),
    }
}

fn machine(object: &Value, instance: Option<&Value>) -> Result<Option<MachineSeen>, Error> {
    let seen = object::seen((Side::Provider, Kind::Machine), object)?;
    let Body::Machine(vm) = seen.fact.body else {
        return Ok(None);
    };
    let metadata = &object["metadata"];
    let status = instance.map(|it| &it["status"]);
    let interfaces = status.map_or(&[][..], |it| items(&it["interfaces"]));
    Ok(Some(MachineSeen {
        name: seen.name,
        pool: vm.pool,
        zone: arc(&metadata["annotations"][names::ZONE]),
        zone_index: vm.zone,
        ordinal: vm.ordinal,
        hash: seen.fact.hash,
        status: match seen.fact.leaving {
            true => "Deleting".into(),
            false => vm.status,
        },
        ready: vm.ready,
        draining: vm.marked,
        host: status.and_then(|it| it["nodeName"].as_str().map(Arc::from)),
        addresses: interfaces.iter().flat_map(addresses).collect(),
        image: vm.image,
        created: seconds(&metadata["creationTimestamp"]),
        complaint: vm.complaint,
    }))
}

/// An interface with several addresses has them all in a list, the first once more by itself.
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

fn image(object: &Value) -> Result<Option<ImageSeen>, Error> {
    let seen = object::seen((Side::Provider, Kind::Image), object)?;
    let Body::Volume(volume) = seen.fact.body else {
        return Ok(None);
    };
    let metadata = &object["metadata"];
    Ok(Some(ImageSeen {
        name: seen.name,
        shoot: arc(&metadata["labels"][names::PART_OF]),
        image: arc(&metadata["annotations"][names::IMAGE]),
        phase: arc(&object["status"]["phase"]),
        size: volume.size,
        import: Import {
            done: volume.done,
            percent: volume.percent,
            speed: None,
            waits: volume.waits,
            failed: volume.failed,
        },
        created: seconds(&metadata["creationTimestamp"]),
    }))
}

fn texts(map: &Value) -> BTreeMap<String, String> {
    let entries = map.as_object().into_iter().flatten();
    entries
        .filter_map(|(key, it)| Some((key.clone(), it.as_str()?.to_owned())))
        .collect()
}
