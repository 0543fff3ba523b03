//! Objects of the provider cluster that the restored shoot does not know: they are newer than the backup.

use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::error::Error;
use crate::cluster::client::request::{ResourceRef, WRITE_TIMEOUT};
use crate::cluster::client::resources::{self, Resource, ownership_selector};
use crate::cluster::objects::core::service::PartialService;
use crate::cluster::objects::metadata::PartialObject;
use crate::cluster::objects::reader::read_all;
use crate::cluster::objects::storage::PartialPersistentVolume;
use crate::render::system::storage::DRIVER;
use crate::state::key::ObjectKind;
use crate::state::names;
use std::collections::BTreeSet;

/// Labels of the cloud controller manager on a Service of the provider cluster: the Service in the shoot.
const SERVICE_NAME: &str = "cluster.x-k8s.io/tenant-service-name";
const SERVICE_NAMESPACE: &str = "cluster.x-k8s.io/tenant-service-namespace";

/// Objects of the provider cluster and of the restored shoot that do not belong together.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct UnmatchedObjects {
    /// DataVolumes without a PersistentVolume.
    pub(crate) volumes: Vec<String>,
    /// Services in the provider cluster without one in the shoot.
    pub(crate) balancers: Vec<UnmatchedBalancer>,
    /// PersistentVolumes whose DataVolume is gone.
    pub(crate) lost_volumes: Vec<String>,
}

/// A load balancer that the restored shoot has no Service for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnmatchedBalancer {
    /// Name in the provider cluster.
    pub(crate) name: String,
    /// Namespace and name of the Service that it was made for.
    pub(crate) service: String,
}

impl ApiClient {
    /// Compares volumes and load balancers of the provider cluster with those that the shoot knows.
    ///
    /// # Errors
    ///
    /// A kind cannot be listed.
    pub(crate) async fn unmatched_objects(
        &self,
        provider: &ApiClient,
        id: &str,
    ) -> Result<UnmatchedObjects, Error> {
        let kind = ObjectKind::ProviderDataVolume;
        let disks: Vec<PartialObject> =
            provider.of_shoot(&resources::DATA_VOLUME, kind, id).await?;
        let kind = ObjectKind::ProviderLoadBalancer;
        let mirrors: Vec<PartialObject> = provider.of_shoot(&resources::SERVICE, kind, id).await?;
        let volumes: Vec<PartialPersistentVolume> = self.everywhere(&resources::VOLUME).await?;
        let services: Vec<PartialService> = self.everywhere(&resources::SERVICE).await?;
        Ok(unmatched(&disks, &mirrors, &volumes, &services))
    }

    async fn of_shoot(
        &self,
        resource: &'static Resource,
        kind: ObjectKind,
        id: &str,
    ) -> Result<Vec<PartialObject>, Error> {
        let resource_ref = ResourceRef::all(resource, Some(self.namespace()));
        let selector = ownership_selector(kind, id);
        read_all(
            resource,
            &self.list(resource_ref, Some(&selector)).await?.items,
        )
    }

    async fn everywhere<T: serde::de::DeserializeOwned>(
        &self,
        resource: &'static Resource,
    ) -> Result<Vec<T>, Error> {
        read_all(
            resource,
            &self
                .list(ResourceRef::all(resource, None), None)
                .await?
                .items,
        )
    }

    /// Restarts machines without a Node, whose kubelets registered it after the backup and do not do so again while they
    /// run. Returns their names. `self` has the machines.
    ///
    /// # Errors
    ///
    /// Machines or Nodes cannot be listed, or an instance cannot be deleted. Repeating it restarts those that still have no
    /// Node.
    pub(crate) async fn restart_unknown_machines(
        &self,
        shoot: &ApiClient,
        id: &str,
    ) -> Result<Vec<String>, Error> {
        let nodes: Vec<PartialObject> = shoot.everywhere(&resources::NODE).await?;
        let nodes: BTreeSet<&str> = nodes.iter().map(|it| it.metadata.name.as_str()).collect();
        let resource = &resources::VIRTUAL_MACHINE_INSTANCE;
        let resource_ref = ResourceRef::all(resource, Some(self.namespace()));
        let listed = self.list(resource_ref, Some(&names::selector(id))).await?;
        let mut instances: Vec<PartialObject> = read_all(resource, &listed.items)?;
        instances.retain(|it| !nodes.contains(it.metadata.name.as_str()));
        let mut restarted = Vec::new();
        for instance in instances {
            let metadata = instance.metadata;
            let resource_ref = ResourceRef::one(resource, self.namespace(), &metadata.name);
            // The VM has the strategy Always: KubeVirt starts it again, with its disk.
            let deleted = self.delete(resource_ref, &metadata.uid, None, WRITE_TIMEOUT);
            match deleted.await {
                Ok(_) | Err(Error::NotFound { .. } | Error::Conflict { .. }) => {}
                Err(error) => return Err(error),
            }
            restarted.push(metadata.name);
        }
        Ok(restarted)
    }
}

fn unmatched(
    disks: &[PartialObject],
    mirrors: &[PartialObject],
    volumes: &[PartialPersistentVolume],
    services: &[PartialService],
) -> UnmatchedObjects {
    let disks: BTreeSet<&str> = disks.iter().map(|it| it.metadata.name.as_str()).collect();
    let handles: BTreeSet<&str> = volumes
        .iter()
        .filter_map(|it| it.spec.handle(DRIVER))
        .collect();
    let is_lost = |it: &&PartialPersistentVolume| {
        it.spec
            .handle(DRIVER)
            .is_some_and(|handle| !disks.contains(handle))
    };
    let known: BTreeSet<String> = services
        .iter()
        .filter(|it| it.spec.kind == "LoadBalancer")
        .map(|it| balancer_name(&it.metadata.uid))
        .collect();
    let unknown = mirrors
        .iter()
        .filter(|it| !known.contains(&it.metadata.name));
    let label = |it: &PartialObject, key| it.metadata.label(key).unwrap_or_default().to_owned();
    UnmatchedObjects {
        volumes: disks
            .difference(&handles)
            .map(|it| (*it).to_owned())
            .collect(),
        balancers: unknown
            .map(|it| UnmatchedBalancer {
                name: it.metadata.name.clone(),
                service: format!(
                    "{}/{}",
                    label(it, SERVICE_NAMESPACE),
                    label(it, SERVICE_NAME)
                ),
            })
            .collect(),
        lost_volumes: volumes
            .iter()
            .filter(is_lost)
            .map(|it| it.metadata.name.clone())
            .collect(),
    }
}

/// Name of the Service in the provider cluster that a Service of the shoot gets, by its UID: that of
/// `cloudprovider.DefaultLoadBalancerName`.
fn balancer_name(uid: &str) -> String {
    let name = format!("a{}", uid.replace('-', ""));
    name.chars().take(32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::objects::testing::object;
    use serde_json::json;

    const UID: &str = "0f8fad5b-d9cb-469f-a165-70867728950e";

    fn objects() -> [Vec<PartialObject>; 2] {
        let named = |name: &str| object(json!({ "metadata": { "name": name } }));
        let labels = json!({ SERVICE_NAMESPACE: "shop", SERVICE_NAME: "web" });
        let metadata = |name: &str| json!({ "metadata": { "name": name, "labels": labels } });
        [
            vec![named("pvc-old"), named("pvc-new")],
            vec![
                object(metadata("a0f8fad5bd9cb469fa16570867728950")),
                object(metadata("anew")),
            ],
        ]
    }

    #[test]
    fn volumes_and_load_balancers_that_the_backup_does_not_know_are_found() {
        let volume = |name: &str, handle: &str, driver: &str| {
            object(json!({
                "metadata": { "name": name },
                "spec": { "csi": { "driver": driver, "volumeHandle": handle } },
            }))
        };
        let volumes = [
            volume("old", "pvc-old", "csi.kubevirt.io"),
            volume("lost", "pvc-lost", "csi.kubevirt.io"),
            volume("other", "x", "nfs.csi.k8s.io"),
        ];
        let service = |kind: &str, uid: &str| {
            object(json!({ "metadata": { "name": "web", "uid": uid }, "spec": { "type": kind } }))
        };
        let services = [service("LoadBalancer", UID), service("ClusterIP", "new")];
        let [disks, mirrors] = objects();
        let wanted = UnmatchedObjects {
            volumes: vec!["pvc-new".to_owned()],
            balancers: vec![UnmatchedBalancer {
                name: "anew".to_owned(),
                service: "shop/web".to_owned(),
            }],
            lost_volumes: vec!["lost".to_owned()],
        };
        assert_eq!(unmatched(&disks, &mirrors, &volumes, &services), wanted);
    }
}
