//! One look at a control plane from outside, and at a shoot from inside.

use super::client::error::Error;
use super::client::request::Place;
use super::client::resources::{self, Resource};
use super::observe::parse::workload;
use crate::cluster::client::api_client::Provider;
use crate::cluster::json::{arc, items, seconds};
use crate::state::conditions::Part;
use crate::state::facts::Fact;
use crate::state::key::Kind;
use crate::state::names;
use futures::future::try_join_all;
use serde_json::Value;
use std::sync::Arc;

/// A node of the shoot as people want to see it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NodeSeen {
    pub(crate) name: Arc<str>,
    /// Its kubelet says that it is.
    pub(crate) ready: bool,
    /// Why it does not serve, ready or not; None when it does.
    pub(crate) why: Option<Arc<str>>,
    /// Takes no new pods.
    pub(crate) cordoned: bool,
    pub(crate) roles: Vec<Arc<str>>,
    /// Of its kubelet.
    pub(crate) version: Arc<str>,
    pub(crate) address: Option<Arc<str>>,
    pub(crate) created: Option<i64>,
}

/// What a control plane looks like in the provider namespace.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ControlPlaneSeen {
    pub(crate) workloads: Vec<Part>,
    /// The certificate that ends first: seconds since 1970, and its Secret.
    pub(crate) expiry: Option<(i64, Arc<str>)>,
}

/// What the shoot tells of itself.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ShootSeen {
    pub(crate) nodes: Vec<NodeSeen>,
    /// Deployments and DaemonSets of kube-system.
    pub(crate) workloads: Vec<Part>,
    /// APIServices.
    pub(crate) answers: Vec<Part>,
}

impl Provider {
    /// Workloads and certificates of a shoot's control plane. What the Secrets hold is not read.
    pub(crate) async fn control_plane(&self, id: &str) -> Result<ControlPlaneSeen, Error> {
        let selector = names::selector(id);
        let namespace = Some(&**self.namespace());
        let list = async |resource: &'static Resource| {
            let listed = self.list(Place::all(resource, namespace), Some(&selector));
            listed.await.map(|it| it.items)
        };
        let (sets, deployments, expiry) = futures::try_join!(
            list(&resources::STATEFUL_SET),
            list(&resources::DEPLOYMENT),
            self.first_expiry(id),
        )?;
        let mut workloads = parts(Kind::StatefulSet, &sets);
        workloads.extend(parts(Kind::Deployment, &deployments));
        Ok(ControlPlaneSeen {
            workloads,
            expiry: expiry.map(|(end, name)| (end, name.into())),
        })
    }

    /// Asks the shoot's own API server.
    ///
    /// # Errors
    ///
    /// It is not reached; see [`Provider::inside`].
    pub(crate) async fn shoot_seen(&self, id: &str) -> Result<ShootSeen, Error> {
        let shoot = self.inside(id).await?;
        let places = [
            Place::all(&resources::NODE, None),
            Place::all(&resources::DEPLOYMENT, Some("kube-system")),
            Place::all(&resources::DAEMON_SET, Some("kube-system")),
            Place::all(&resources::API_SERVICE, None),
        ];
        let lists = places.map(async |it| shoot.list(it, None).await.map(|it| it.items));
        let lists = try_join_all(lists).await?;
        let [nodes, deployments, daemons, services] = &lists[..] else {
            unreachable!("four were asked for");
        };
        let mut workloads = parts(Kind::Deployment, deployments);
        workloads.extend(parts(Kind::DaemonSet, daemons));
        let mut nodes: Vec<NodeSeen> = nodes.iter().map(node).collect();
        nodes.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(ShootSeen {
            nodes,
            workloads,
            answers: parts(Kind::ApiService, services),
        })
    }
}

fn parts(kind: Kind, objects: &[Value]) -> Vec<Part> {
    let part = |object: &Value| Part {
        name: arc(&object["metadata"]["name"]),
        why: match workload::fact(kind, object) {
            Some(Fact::Rollout(rollout)) => rollout.why,
            Some(Fact::Answer(why)) => why,
            _ => None,
        },
    };
    objects.iter().map(part).collect()
}

fn node(object: &Value) -> NodeSeen {
    const ROLE: &str = "node-role.kubernetes.io/";
    let metadata = &object["metadata"];
    let labels = metadata["labels"].as_object();
    let roles = labels.into_iter().flat_map(|it| it.keys());
    let addresses = items(&object["status"]["addresses"]);
    let address = addresses.iter().find(|it| it["type"] == "InternalIP");
    let conditions = items(&object["status"]["conditions"]);
    NodeSeen {
        name: arc(&metadata["name"]),
        ready: conditions
            .iter()
            .any(|it| it["type"] == "Ready" && it["status"] == "True"),
        why: workload::node(object).why,
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
    fn a_node_tells_its_roles_and_why_it_is_not_ready() {
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
        let expected = NodeSeen {
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
