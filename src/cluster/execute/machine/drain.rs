//! Draining of nodes: cordon, then evict all pods as far as their disruption budgets allow.

use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::backoff::Backoff;
use crate::cluster::client::error::Error;
use crate::cluster::client::request::{ListSelector, ResourceRef, WRITE_TIMEOUT};
use crate::cluster::client::resources;
use crate::cluster::execute::executor::Executor;
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
pub(super) const BUDGET_PATIENCE: Duration = Duration::from_secs(10);

/// Treatment of pods that disruption budgets keep from being evicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EvictionRule {
    /// They are waited for.
    Respected,
    /// They are deleted after this time.
    ThenDelete(Duration),
}

/// Pods that remain on a node that is being drained, then attached volumes, each as a clause.
pub(crate) type Remaining = Vec<String>;

impl Executor {
    /// Returns when the machine's node has no more evictable pods, or at its drain timeout. A node that is not ready is
    /// not waited for, since its kubelet cannot terminate pods.
    pub(in crate::cluster::execute) async fn drain_node(
        &self,
        target: &DeleteTarget,
    ) -> Result<(), Error> {
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
        match shoot.cordon(node, self.write_timeout()?).await {
            Ok(()) => {}
            Err(Error::NotFound { .. }) => return Ok(()),
            Err(error) => return Err(error),
        }
        let started = Instant::now();
        let ends = started + target.drain.unwrap_or_default();
        let mut backoff = Backoff::default();
        loop {
            self.fence.remaining()?;
            let deletes = match rule {
                EvictionRule::Respected => false,
                EvictionRule::ThenDelete(patience) => started.elapsed() >= patience,
            };
            let limit = || self.write_timeout();
            let remaining = match shoot.evict_all(node, deletes, limit).await {
                Ok(remaining) => remaining,
                Err(error) if Instant::now() < ends && error.is_ambiguous() => {
                    backoff.wait().await;
                    continue;
                }
                Err(error) => return Err(error),
            };
            let Some(what) = summary(&remaining) else {
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
}

impl ApiClient {
    /// Drains a node of a shoot outside of a run. `report` is called with a summary of what remains.
    ///
    /// Returns what remains at `limit`; nothing if the node is drained.
    ///
    /// # Errors
    ///
    /// The node does not exist, or the shoot's API server does not answer.
    pub(crate) async fn drain(
        &self,
        id: &str,
        node: &str,
        limit: Duration,
        report: impl Fn(&str),
    ) -> Result<Remaining, Error> {
        let shoot = self.shoot_client(id).await?;
        shoot.cordon(node, WRITE_TIMEOUT).await?;
        let begun = Instant::now();
        let mut remaining = Vec::new();
        loop {
            match shoot.evict_all(node, false, || Ok(WRITE_TIMEOUT)).await {
                Ok(found) => remaining = found,
                Err(error) if begun.elapsed() < limit && error.is_ambiguous() => {
                    report(&error.to_string());
                }
                Err(error) => return Err(error),
            }
            match summary(&remaining) {
                None => return Ok(remaining),
                Some(_) if begun.elapsed() >= limit => return Ok(remaining),
                Some(what) => report(&what),
            }
            sleep(POLL_INTERVAL).await;
        }
    }

    /// Keeps new pods off a node. A node that is cordoned is not written again, so that a run that repeats the drain of
    /// another one makes progress with its first write.
    async fn cordon(&self, node: &str, limit: Duration) -> Result<(), Error> {
        let one = || ResourceRef {
            name: Some(node),
            ..ResourceRef::all(&resources::NODE, None)
        };
        let found: PartialNode = read(&resources::NODE, &self.get(one()).await?)?;
        if found.spec.unschedulable {
            return Ok(());
        }
        let patch = json!({ "spec": { "unschedulable": true } });
        self.patch(one(), &patch, limit).await.map(drop)
    }

    /// Evicts all pods of a node, and returns what remains. `deletes` deletes pods instead of evicting them. `limit` is
    /// asked before each request.
    async fn evict_all(
        &self,
        node: &str,
        deletes: bool,
        limit: impl Fn() -> Result<Duration, Error>,
    ) -> Result<Remaining, Error> {
        let fields = format!("spec.nodeName={node}");
        let select = ListSelector {
            labels: None,
            fields: Some(&fields),
        };
        let pods = self.list_selected(ResourceRef::all(&resources::POD, None), select);
        let pods: Vec<PartialPod> = read_all(&resources::POD, &pods.await?.items)?;
        let mut remaining = Vec::new();
        for pod in pods.iter().filter(|it| is_evictable(it)) {
            let metadata = &pod.metadata;
            let (namespace, name) = (metadata.namespace.as_deref(), metadata.name.as_str());
            let namespace = namespace.unwrap_or_default();
            let why = match metadata.is_deleting() {
                true => Some("is terminating".to_owned()),
                false if deletes => delete(self, metadata, limit()?).await?,
                false => evict(self, namespace, name, limit()?).await?,
            };
            remaining.extend(why.map(|why| format!("pod {namespace}/{name} {why}")));
        }
        if remaining.is_empty() {
            remaining = self.attached_volumes(node).await?;
        }
        Ok(remaining)
    }

    /// Volumes that are still attached to a node.
    async fn attached_volumes(&self, node: &str) -> Result<Remaining, Error> {
        let all = self.list(ResourceRef::all(&resources::VOLUME_ATTACHMENT, None), None);
        let all: Vec<PartialVolumeAttachment> =
            read_all(&resources::VOLUME_ATTACHMENT, &all.await?.items)?;
        let here = all.iter().filter(|it| it.spec.node_name == node);
        let volumes = here.map(|it| format!("volume {} is still attached", it.volume()));
        Ok(volumes.collect())
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

/// The first of what remains, and the number of all; None once the node is empty.
fn summary(remaining: &Remaining) -> Option<String> {
    let first = remaining.first()?;
    Some(match remaining.len() {
        1 => first.clone(),
        count => format!("{first} ({count} remain)"),
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_what_remains_is_named_with_the_number_of_all() {
        assert_eq!(summary(&Vec::new()), None);
        let pod = "pod default/web is terminating".to_owned();
        assert_eq!(summary(&vec![pod.clone()]), Some(pod.clone()));
        let two = vec![pod, "pod default/db is terminating".to_owned()];
        let text = "pod default/web is terminating (2 remain)";
        assert_eq!(summary(&two).as_deref(), Some(text));
    }
}
