//! Properties of a provider cluster that new manifests refer to: zones, StorageClasses, instancetypes and networks.

use super::client::api_client::ApiClient;
use super::client::error::Error;
use super::client::request::ResourceRef;
use super::client::resources::{self, Resource};
use super::objects::core::node::PartialNode;
use super::objects::core::service::PartialService;
use super::objects::kubevirt::instancetype::PartialInstancetype;
use super::objects::metadata::{PartialObject, PartialObjectMeta};
use super::objects::reader::{read, read_valid};
use super::objects::storage::PartialStorageClass;
use crate::state::names;
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};

/// Name of the region and the zone of nodes without topology labels.
const UNLABELED: &str = "default";
const ARCHITECTURE_LABEL: &str = "kubernetes.io/arch";
/// Set by KubeVirt on nodes that can run machines.
const SCHEDULABLE_LABEL: &str = "kubevirt.io/schedulable";
/// The default for disks of machines takes precedence over the general default.
const DEFAULT_CLASS_ANNOTATIONS: [&str; 2] = [
    "storageclass.kubevirt.io/is-default-virt-class",
    "storageclass.kubernetes.io/is-default-class",
];

/// Properties of a provider cluster that new manifests refer to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ProviderInventory {
    /// Zones by region, of the nodes that can run machines. Nodes without the labels are in `default`.
    pub(crate) regions: BTreeMap<String, BTreeSet<String>>,
    /// Architectures of these nodes, such as amd64.
    pub(crate) architectures: BTreeSet<String>,
    /// Pod address ranges of all nodes; empty if the pod network does not publish them.
    pub(crate) pod_ranges: BTreeSet<String>,
    /// ClusterIP of the Service `kubernetes`, the first address of the Service range.
    pub(crate) service_address: Option<String>,
    /// Names of the StorageClasses, the default one first.
    pub(crate) storage_classes: Vec<String>,
    /// Instancetypes without devices, hugepages, overcommitted memory or dedicated CPUs, the smallest first.
    pub(crate) instancetypes: Vec<InstancetypeSize>,
    /// Names of the NetworkAttachmentDefinitions in the namespace.
    pub(crate) networks: Vec<String>,
    /// Plural names of the resources that the user is not allowed to list.
    pub(crate) forbidden: Vec<&'static str>,
}

/// CPU and memory of an instancetype.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InstancetypeSize {
    pub(crate) name: String,
    pub(crate) cpus: u64,
    /// As a Kubernetes quantity.
    pub(crate) memory: String,
}

impl ApiClient {
    /// Lists the properties of the provider cluster that new manifests refer to.
    ///
    /// # Errors
    ///
    /// The server does not answer. Missing permissions and APIs are part of the result.
    pub(crate) async fn inventory(&self) -> Result<ProviderInventory, Error> {
        let mut inventory = ProviderInventory::default();
        let namespace = Some(&**self.namespace());
        let nodes = self.listed(&resources::NODE, None, &mut inventory).await?;
        inventory.add_nodes(&nodes);
        let classes = self.listed(&resources::STORAGE_CLASS, None, &mut inventory);
        inventory.storage_classes = storage_classes(classes.await?);
        let types = self.listed(&resources::CLUSTER_INSTANCETYPE, None, &mut inventory);
        let mut types = types.await?;
        let own = self.listed(&resources::INSTANCETYPE, namespace, &mut inventory);
        types.extend(own.await?);
        inventory.instancetypes = instancetypes(types);
        let networks = self.listed(&resources::NETWORK, namespace, &mut inventory);
        let networks: Vec<PartialObject> = networks.await?;
        let networks = networks.into_iter().map(|it| it.metadata);
        let networks = networks.filter(|it| !is_managed(it));
        inventory.networks = networks.map(|it| it.name).collect();
        inventory.networks.sort();
        inventory.service_address = self.service_address().await?;
        Ok(inventory)
    }

    async fn service_address(&self) -> Result<Option<String>, Error> {
        let service = ResourceRef::one(&resources::SERVICE, "default", "kubernetes");
        match self.get_with_retry(service).await {
            Ok(service) => {
                let service: PartialService = read(&resources::SERVICE, &service)?;
                Ok(service.observed().cluster_ip.map(|it| it.to_string()))
            }
            Err(Error::NotFound { .. } | Error::Forbidden { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Lists objects; none if the API is not served or the user is not allowed to.
    async fn listed<T: DeserializeOwned>(
        &self,
        resource: &'static Resource,
        namespace: Option<&str>,
        inventory: &mut ProviderInventory,
    ) -> Result<Vec<T>, Error> {
        match self.list(ResourceRef::all(resource, namespace), None).await {
            Ok(listed) => Ok(read_valid(resource, &listed.items)),
            Err(Error::NotFound { .. }) => Ok(Vec::new()),
            Err(Error::Forbidden { .. }) => {
                inventory.forbidden.push(resource.plural);
                Ok(Vec::new())
            }
            Err(error) => Err(error),
        }
    }
}

impl ProviderInventory {
    fn add_nodes(&mut self, nodes: &[PartialNode]) {
        let is_schedulable =
            |it: &PartialNode| it.metadata.label(SCHEDULABLE_LABEL) == Some("true");
        let without_label = !nodes.iter().any(is_schedulable);
        for node in nodes {
            let range = &node.spec.pod_cidr;
            if !range.is_empty() {
                self.pod_ranges.insert(range.clone());
            }
            if !without_label && !is_schedulable(node) {
                continue;
            }
            let label = |key| node.metadata.label(key).filter(|it| !it.is_empty());
            let place = |key| label(key).unwrap_or(UNLABELED).to_owned();
            let zones = self.regions.entry(place(names::REGION_LABEL)).or_default();
            zones.insert(place(names::ZONE_LABEL));
            let architecture = label(ARCHITECTURE_LABEL).map(str::to_owned);
            self.architectures.extend(architecture);
        }
    }
}

fn storage_classes(classes: Vec<PartialStorageClass>) -> Vec<String> {
    let rank = |class: &PartialObjectMeta| {
        let mut keys = DEFAULT_CLASS_ANNOTATIONS.iter();
        let rank = keys.position(|key| class.annotation(key) == Some("true"));
        rank.unwrap_or(DEFAULT_CLASS_ANNOTATIONS.len())
    };
    let classes = classes.into_iter().map(|it| it.metadata);
    let mut ranked: Vec<_> = classes.map(|it| (rank(&it), it.name)).collect();
    ranked.sort();
    ranked.into_iter().map(|it| it.1).collect()
}

/// CPU and memory are all that a machine type of a CloudProfile has, so types with other properties are left out.
fn instancetypes(types: Vec<PartialInstancetype>) -> Vec<InstancetypeSize> {
    let size = |it: PartialInstancetype| {
        let is_offered = it.spec.has_only_cpu_and_memory() && !is_managed(&it.metadata);
        let size = InstancetypeSize {
            name: it.metadata.name,
            cpus: it.spec.cpu.guest?,
            memory: it.spec.memory.guest?,
        };
        is_offered.then_some(size)
    };
    let mut sizes: Vec<_> = types.into_iter().filter_map(size).collect();
    sizes.sort_by(|a, b| (a.cpus, &a.name).cmp(&(b.cpus, &b.name)));
    let mut known = BTreeSet::new();
    sizes.retain(|it| known.insert(it.name.clone()));
    sizes
}

fn is_managed(metadata: &PartialObjectMeta) -> bool {
    metadata.label(names::MANAGED_BY) == Some(names::KVSHOOT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::objects::testing::object;
    use serde_json::{Value, json};

    fn node(labels: &Value, range: &str) -> PartialNode {
        object(
            json!({ "metadata": { "name": "n", "labels": labels }, "spec": { "podCIDR": range } }),
        )
    }

    #[test]
    fn nodes_without_topology_labels_are_in_the_default_region_and_zone() {
        let mut inventory = ProviderInventory::default();
        inventory.add_nodes(&[node(&json!({}), "10.244.0.0/24")]);
        let zones = BTreeSet::from(["default".to_owned()]);
        let regions = BTreeMap::from([("default".to_owned(), zones)]);
        assert_eq!(inventory.regions, regions);
        assert_eq!(inventory.pod_ranges.len(), 1);
    }

    #[test]
    fn zones_are_those_of_nodes_that_can_run_machines() {
        let labels = |zone: &str, runs: &str| json!({ names::ZONE_LABEL: zone, names::REGION_LABEL: "r", SCHEDULABLE_LABEL: runs, ARCHITECTURE_LABEL: "arm64" });
        let mut inventory = ProviderInventory::default();
        inventory.add_nodes(&[
            node(&labels("a", "true"), "10.244.0.0/24"),
            node(&labels("b", "false"), "10.244.1.0/24"),
        ]);
        let zones = BTreeSet::from(["a".to_owned()]);
        assert_eq!(inventory.regions["r"], zones);
        assert_eq!(inventory.architectures.len(), 1);
        assert_eq!(inventory.pod_ranges.len(), 2);
    }

    #[test]
    fn the_default_storage_class_of_machines_is_first() {
        let class = |name: &str, key: &str| -> PartialStorageClass {
            object(json!({ "metadata": { "name": name, "annotations": { key: "true" } } }))
        };
        let [machines, general] = DEFAULT_CLASS_ANNOTATIONS;
        let classes = [class("a", "x"), class("b", general), class("c", machines)];
        assert_eq!(storage_classes(classes.into()), ["c", "b", "a"]);
    }

    #[test]
    fn instancetypes_with_devices_and_those_of_shoots_are_left_out() {
        let spec = |cpus: u64| json!({ "cpu": { "guest": cpus }, "memory": { "guest": "2Gi" } });
        let mut gpu = spec(1);
        gpu["gpus"] = json!([{ "name": "gpu" }]);
        let mut overcommitted = spec(2);
        overcommitted["memory"]["overcommitPercent"] = json!(50);
        let own = json!({ names::MANAGED_BY: names::KVSHOOT });
        let types = [
            json!({ "metadata": { "name": "large" }, "spec": spec(8) }),
            json!({ "metadata": { "name": "small" }, "spec": spec(1) }),
            json!({ "metadata": { "name": "gpu" }, "spec": gpu }),
            json!({ "metadata": { "name": "o1.large" }, "spec": overcommitted }),
            json!({ "metadata": { "name": "own", "labels": own }, "spec": spec(1) }),
            json!({ "metadata": { "name": "broken" } }),
        ];
        let found = instancetypes(types.map(object).into());
        let names: Vec<&str> = found.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["small", "large"]);
    }
}
