//! Draining of nodes: cordon, then evict all pods as far as their disruption budgets allow.

use super::executor::Executor;
use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::backoff::Backoff;
use crate::cluster::client::error::Error;
use crate::cluster::client::request::{ListSelector, ResourceRef};
use crate::cluster::client::resources;
use crate::cluster::objects::core::node::PartialNode;
use crate::cluster::objects::core::pod::PartialPod;
use crate::cluster::objects::metadata::PartialObjectMeta;
use crate::cluster::objects::reader::{read, read_all};
use crate::cluster::objects::storage::PartialVolumeAttachment;
use crate::state::action::DeleteTarget;
use serde_json::json;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Interval between checks of the remaining pods.
const POLL_INTERVAL: Duration = Duration::from_secs(2);
/// Time that disruption budgets are respected when all nodes are drained at once: no other pod becomes ready, so that what
/// they refuse then, they refuse for ever.
const BUDGET_PATIENCE: Duration = Duration::from_secs(10);

/// Treatment of pods that disruption budgets keep from being evicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EvictionRule {
    /// They are waited for.
    Respected,
    /// They are deleted, after [`BUDGET_PATIENCE`].
    ThenDelete,
}

impl Executor {
    /// Returns when the machine's node has no more evictable pods, or at its drain timeout. A node that is not ready is
    /// not waited for, since its kubelet cannot terminate pods.
    pub(super) async fn drain_node(&self, target: &DeleteTarget) -> Result<(), Error> {
        self.drain_with(target, EvictionRule::Respected).await
    }

    /// Like [`Executor::drain_node`], with a rule for pods that disruption budgets protect.
    pub(super) async fn drain_with(
        &self,
        target: &DeleteTarget,
        rule: EvictionRule,
    ) -> Result<(), Error> {
        let Some(shoot) = self.observer.shoot_client() else {
            return Ok(());
        };
        let node = &*target.key.name;
        if !self.cordon(&shoot, node).await? {
            return Ok(());
        }
        let started = Instant::now();
        let ends = started + target.drain.unwrap_or_default();
        let mut backoff = Backoff::default();
        loop {
            self.fence.remaining()?;
            let deletes = rule == EvictionRule::ThenDelete && started.elapsed() > BUDGET_PATIENCE;
            let remaining = match self.remaining_on(&shoot, node, deletes).await {
                Ok(remaining) => remaining,
                Err(error) if Instant::now() < ends && error.is_ambiguous() => {
                    backoff.wait().await;
                    continue;
                }
                Err(error) => return Err(error),
            };
            let Some(what) = remaining else {
                return Ok(());
            };
            let is_timed_out = Instant::now() >= ends || target.unless_ready;
            if is_timed_out {
                tracing::debug!(
                    node,
                    what,
                    "drain timeout reached, continuing with remaining pods"
                );
                return Ok(());
            }
            self.observer.set_drain_status(&target.uid, &what);
            sleep(POLL_INTERVAL).await;
        }
    }

    /// Returns false if the node does not exist. A node that is cordoned is not written again, so that a run that repeats
    /// the drain of another one makes progress with its first write.
    async fn cordon(&self, shoot: &ApiClient, node: &str) -> Result<bool, Error> {
        let one = || ResourceRef {
            name: Some(node),
            ..ResourceRef::all(&resources::NODE, None)
        };
        let found = match shoot.get(one()).await {
            Ok(found) => found,
            Err(Error::NotFound { .. }) => return Ok(false),
            Err(error) => return Err(error),
        };
        let found: PartialNode = read(&resources::NODE, &found)?;
        if found.spec.unschedulable {
            return Ok(true);
        }
        let patch = json!({ "spec": { "unschedulable": true } });
        match shoot.patch(one(), &patch, self.write_timeout()?).await {
            Ok(_) => Ok(true),
            Err(Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Evicts all pods and describes what remains; None once the node is empty. `deletes` deletes pods that cannot be
    /// evicted.
    async fn remaining_on(
        &self,
        shoot: &ApiClient,
        node: &str,
        deletes: bool,
    ) -> Result<Option<String>, Error> {
        let fields = format!("spec.nodeName={node}");
        let select = ListSelector {
            labels: None,
            fields: Some(&fields),
        };
        let pods = shoot.list_selected(ResourceRef::all(&resources::POD, None), select);
        let pods: Vec<PartialPod> = read_all(&resources::POD, &pods.await?.items)?;
        let mut remaining = Vec::new();
        for pod in pods.iter().filter(|it| is_evictable(it)) {
            let metadata = &pod.metadata;
            let (namespace, name) = (metadata.namespace.as_deref(), metadata.name.as_str());
            let namespace = namespace.unwrap_or_default();
            let why = match metadata.is_deleting() {
                true => Some("is terminating".to_owned()),
                false if deletes => delete(shoot, metadata, self.write_timeout()?).await?,
                false => evict(shoot, namespace, name, self.write_timeout()?).await?,
            };
            remaining.extend(why.map(|why| format!("{namespace}/{name} {why}")));
        }
        if let Some(first) = remaining.first() {
            let count = remaining.len();
            return Ok(Some(match count {
                1 => format!("pod {first}"),
                _ => format!("pod {first} ({count} pods remain)"),
            }));
        }
        self.attached_volumes(shoot, node).await
    }

    /// Describes volumes that are still attached to the node.
    async fn attached_volumes(
        &self,
        shoot: &ApiClient,
        node: &str,
    ) -> Result<Option<String>, Error> {
        let all = shoot.list(ResourceRef::all(&resources::VOLUME_ATTACHMENT, None), None);
        let all: Vec<PartialVolumeAttachment> =
            read_all(&resources::VOLUME_ATTACHMENT, &all.await?.items)?;
        let here = all.iter().filter(|it| it.spec.node_name == node);
        let volumes: Vec<&str> = here.map(PartialVolumeAttachment::volume).collect();
        Ok(volumes.first().map(|first| {
            format!(
                "{} volumes still attached, for example {first}",
                volumes.len()
            )
        }))
    }
}

/// None if the pod is gone; otherwise its state.
async fn delete(
    shoot: &ApiClient,
    pod: &PartialObjectMeta,
    limit: Duration,
) -> Result<Option<String>, Error> {
    let namespace = pod.namespace.as_deref().unwrap_or_default();
    let resource_ref = ResourceRef::one(&resources::POD, namespace, &pod.name);
    match shoot.delete(resource_ref, &pod.uid, None, limit).await {
        Ok(_) => Ok(Some("is terminating".to_owned())),
        Err(Error::NotFound { .. } | Error::Conflict { .. }) => Ok(None),
        Err(error) if error.is_ambiguous() => Ok(Some(format!("cannot be deleted: {error}"))),
        Err(error) => Err(error),
    }
}

/// Pods of DaemonSets and static pods would be recreated; finished pods block nothing.
fn is_evictable(pod: &PartialPod) -> bool {
    let metadata = &pod.metadata;
    let mirror = metadata.annotation("kubernetes.io/config.mirror");
    let mut owners = metadata.owner_references.iter();
    mirror.is_none() && !owners.any(|it| it.kind == "DaemonSet") && !pod.is_over()
}

/// None if the pod is gone; otherwise its state.
async fn evict(
    shoot: &ApiClient,
    namespace: &str,
    name: &str,
    limit: Duration,
) -> Result<Option<String>, Error> {
    let resource_ref = ResourceRef::one(&resources::POD, namespace, name);
    let eviction = json!({
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": { "name": name, "namespace": namespace },
    });
    match shoot
        .create_subresource(resource_ref, "eviction", &eviction, limit)
        .await
    {
        Ok(_) => Ok(Some("is terminating".to_owned())),
        Err(Error::NotFound { .. }) => Ok(None),
        // Response of a disruption budget.
        Err(Error::Throttled { message, .. }) => Ok(Some(format!("cannot be evicted: {message}"))),
        Err(error) if error.is_ambiguous() => Ok(Some(format!("cannot be evicted: {error}"))),
        Err(error) => Err(error),
    }
}
