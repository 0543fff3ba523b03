//! Snapshots of a control plane in the provider, and of a shoot through its own API server.

use super::client::error::Error;
use super::client::request::ResourceRef;
use super::client::resources::{self, Resource};
use super::observe::parse::status;
use crate::cluster::client::api_client::ApiClient;
use crate::cluster::json::{arc, items, seconds};
use crate::state::conditions::ComponentHealth;
use crate::state::facts::ObjectStatus;
use crate::state::key::ObjectKind;
use crate::state::names;
use futures::future::try_join_all;
use serde_json::Value;
use std::sync::Arc;

/// A node of the shoot, for display.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NodeSnapshot {
    pub(crate) name: Arc<str>,
    /// Readiness reported by its kubelet.
    pub(crate) ready: bool,
    /// Why it is not usable, ready or not; None if it is.
    pub(crate) why: Option<Arc<str>>,
    /// Marked unschedulable.
    pub(crate) cordoned: bool,
    pub(crate) roles: Vec<Arc<str>>,
    /// Version of its kubelet.
    pub(crate) version: Arc<str>,
    pub(crate) address: Option<Arc<str>>,
    pub(crate) created: Option<i64>,
}

/// A control plane in the provider namespace.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ControlPlaneSnapshot {
    pub(crate) workloads: Vec<ComponentHealth>,
    /// Earliest expiry of a certificate in seconds since 1970, with its Secret.
    pub(crate) expiry: Option<(i64, Arc<str>)>,
}

/// A shoot, read from its own API server.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ShootSnapshot {
    pub(crate) nodes: Vec<NodeSnapshot>,
    /// Deployments and DaemonSets of kube-system.
    pub(crate) workloads: Vec<ComponentHealth>,
    /// APIServices.
    pub(crate) answers: Vec<ComponentHealth>,
}

impl ApiClient {
    /// Workloads and certificates of a shoot's control plane. Data of Secrets are not read.
    pub(crate) async fn control_plane(&self, id: &str) -> Result<ControlPlaneSnapshot, Error> {
        let selector = names::selector(id);
        let namespace = Some(&**self.namespace());
        let list = async |resource: &'static Resource| {
            let listed = self.list(ResourceRef::all(resource, namespace), Some(&selector));
            listed.await.map(|it| it.items)
        };
        let (sets, deployments, expiry) = futures::try_join!(
            list(&resources::STATEFUL_SET),
            list(&resources::DEPLOYMENT),
            self.earliest_certificate_expiry(id),
        )?;
        let mut workloads = parts(ObjectKind::StatefulSet, &sets);
        workloads.extend(parts(ObjectKind::Deployment, &deployments));
        Ok(ControlPlaneSnapshot {
            workloads,
            expiry: expiry.map(|(end, name)| (end, name.into())),
        })
    }

    /// Reads from the shoot's own API server.
    ///
    /// # Errors
    ///
    /// It is not reachable; see [`ApiClient::shoot_client`].
    pub(crate) async fn shoot_snapshot(&self, id: &str) -> Result<ShootSnapshot, Error> {
        let shoot = self.shoot_client(id).await?;
        let places = [
            ResourceRef::all(&resources::NODE, None),
            ResourceRef::all(&resources::DEPLOYMENT, Some("kube-system")),
            ResourceRef::all(&resources::DAEMON_SET, Some("kube-system")),
            ResourceRef::all(&resources::API_SERVICE, None),
        ];
        let lists = places.map(async |it| shoot.list(it, None).await.map(|it| it.items));
        let lists = try_join_all(lists).await?;
        let [nodes, deployments, daemons, services] = &lists[..] else {
            unreachable!("four lists were requested");
        };
        let mut workloads = parts(ObjectKind::Deployment, deployments);
        workloads.extend(parts(ObjectKind::DaemonSet, daemons));
        let mut nodes: Vec<NodeSnapshot> = nodes.iter().map(node).collect();
        nodes.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(ShootSnapshot {
            nodes,
            workloads,
            answers: parts(ObjectKind::ApiService, services),
        })
    }
}

fn parts(kind: ObjectKind, objects: &[Value]) -> Vec<ComponentHealth> {
    let part = |object: &Value| ComponentHealth {
        name: arc(&object["metadata"]["name"]),
        why: match status::status_fact(kind, object) {
            Some(ObjectStatus::Rollout(rollout)) => rollout.why,
            Some(ObjectStatus::Answer(why)) => why,
            _ => None,
        },
    };
    objects.iter().map(part).collect()
}

fn node(object: &Value) -> NodeSnapshot {
    const ROLE: &str = "node-role.kubernetes.io/";
    let metadata = &object["metadata"];
    let labels = metadata["labels"].as_object();
    let roles = labels.into_iter().flat_map(|it| it.keys());
    let addresses = items(&object["status"]["addresses"]);
    let address = addresses.iter().find(|it| it["type"] == "InternalIP");
    let conditions = items(&object["status"]["conditions"]);
    NodeSnapshot {
        name: arc(&metadata["name"]),
        ready: conditions
            .iter()
            .any(|it| it["type"] == "Ready" && it["status"] == "True"),
        why: status::node(object).why,
        cordoned: object["spec"]["unschedulable"] == true,
        roles: roles
            .filter_map(|it| it.strip_prefix(ROLE))
            .map(Arc::from)
            .collect(),
        version: arc(&object["status"]["nodeInfo"]["kubeletVersion"]),
        address: address.map(|it| arc(&it["address"])),
        created: seconds(&metadata["creationTimestamp"]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_node_has_roles_and_a_reason_for_not_being_ready() {
        let object = json!({
            "metadata": {
                "name": "a", "labels": { "node-role.kubernetes.io/worker": "", "other": "x" },
                "creationTimestamp": "1970-01-01T00:01:00Z",
            },
            "spec": { "unschedulable": true },
            "status": {
                "conditions": [{ "type": "Ready", "status": "False", "message": "no network" }],
                "nodeInfo": { "kubeletVersion": "v1.33.1" },
                "addresses": [
                    { "type": "Hostname", "address": "a" },
                    { "type": "InternalIP", "address": "10.0.0.1" },
                ],
            },
        });
        let expected = NodeSnapshot {
            name: "a".into(),
            ready: false,
            why: Some("no network".into()),
            cordoned: true,
            roles: vec!["worker".into()],
            version: "v1.33.1".into(),
            address: Some("10.0.0.1".into()),
            created: Some(60),
        };
        assert_eq!(node(&object), expected);
    }
}
