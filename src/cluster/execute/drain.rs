//! Empties a node: nothing new comes, and what is there moves on as far as its disruption budgets allow.

use super::executor::Performer;
use crate::cluster::client::api_client::Provider;
use crate::cluster::client::backoff::Backoff;
use crate::cluster::client::error::Error;
use crate::cluster::client::request::{Place, Select};
use crate::cluster::client::resources;
use crate::cluster::json::{is_leaving, items, text};
use crate::state::action::Target;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Between two looks at what is still there.
const BETWEEN: Duration = Duration::from_secs(2);

impl Performer {
    /// Returns when nothing is on the machine's node any more that could move on, or when its time is up: a node
    /// that does not serve is not waited for, since nobody there could end a pod.
    pub(crate) async fn empty(&self, target: &Target) -> Result<(), Error> {
        let Some(inside) = self.observer.inside() else {
            return Ok(());
        };
        let node = &*target.key.name;
        if !self.cordon(&inside, node).await? {
            return Ok(());
        }
        let ends = Instant::now() + target.drain.unwrap_or_default();
        let mut backoff = Backoff::default();
        loop {
            self.fence.left()?;
            let left = match self.left_on(&inside, node).await {
                Ok(left) => left,
                Err(error) if Instant::now() < ends && error.is_ambiguous() => {
                    backoff.wait().await;
                    continue;
                }
                Err(error) => return Err(error),
            };
            let Some(what) = left else {
                return Ok(());
            };
            let is_up = Instant::now() >= ends || target.unless_ready;
            if is_up {
                tracing::debug!(node, what, "not empty, and goes all the same");
                return Ok(());
            }
            self.observer.draining(&target.uid, &what);
            sleep(BETWEEN).await;
        }
    }

    /// False when there is no such node.
    async fn cordon(&self, inside: &Provider, node: &str) -> Result<bool, Error> {
        let place = Place {
            name: Some(node),
            ..Place::all(&resources::NODE, None)
        };
        let patch = json!({ "spec": { "unschedulable": true } });
        match inside.patch(place, &patch, self.limit()?).await {
            Ok(_) => Ok(true),
            Err(Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Asks every pod to go, and says what is still there; None when the node is empty.
    async fn left_on(&self, inside: &Provider, node: &str) -> Result<Option<String>, Error> {
        let fields = format!("spec.nodeName={node}");
        let select = Select {
            labels: None,
            fields: Some(&fields),
        };
        let pods = inside.list_where(Place::all(&resources::POD, None), select);
        let pods = pods.await?.items;
        let mut left = Vec::new();
        for pod in pods.iter().filter(|it| moves_on(it)) {
            let (namespace, name) = (
                text(&pod["metadata"]["namespace"]),
                text(&pod["metadata"]["name"]),
            );
            let why = match is_leaving(pod) {
                true => Some("it ends".to_owned()),
                false => evict(inside, namespace, name, self.limit()?).await?,
            };
            left.extend(why.map(|why| format!("{namespace}/{name} ({why})")));
        }
        if let Some(first) = left.first() {
            let count = left.len();
            return Ok(Some(match count {
                1 => format!("pod {first} to leave"),
                _ => format!("{count} pods to leave, such as {first}"),
            }));
        }
        self.attached(inside, node).await
    }

    /// Volumes that are still attached to the node.
    async fn attached(&self, inside: &Provider, node: &str) -> Result<Option<String>, Error> {
        let all = inside.list(Place::all(&resources::VOLUME_ATTACHMENT, None), None);
        let all = all.await?.items;
        let here = all.iter().filter(|it| it["spec"]["nodeName"] == node);
        let volumes: Vec<&str> = here
            .map(|it| text(&it["spec"]["source"]["persistentVolumeName"]))
            .collect();
        Ok(volumes
            .first()
            .map(|first| format!("{} volumes to be detached, such as {first}", volumes.len())))
    }
}

/// What a DaemonSet or the node itself runs would only come again; what is over holds nobody up.
fn moves_on(pod: &Value) -> bool {
    let metadata = &pod["metadata"];
    let is_mirror = metadata["annotations"]["kubernetes.io/config.mirror"].is_string();
    let owners = items(&metadata["ownerReferences"]);
    let of_daemons = owners.iter().any(|it| it["kind"] == "DaemonSet");
    let is_over = matches!(text(&pod["status"]["phase"]), "Succeeded" | "Failed");
    !is_mirror && !of_daemons && !is_over
}

/// None when the pod goes or is gone; else what keeps it.
async fn evict(
    inside: &Provider,
    namespace: &str,
    name: &str,
    limit: Duration,
) -> Result<Option<String>, Error> {
    let place = Place::one(&resources::POD, namespace, name);
    let eviction = json!({
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": { "name": name, "namespace": namespace },
    });
    match inside.post_to(place, "eviction", &eviction, limit).await {
        Ok(_) => Ok(Some("it ends".to_owned())),
        Err(Error::NotFound { .. }) => Ok(None),
        // What a disruption budget answers.
        Err(Error::Throttled { message, .. }) => Ok(Some(message)),
        Err(error) if error.is_ambiguous() => Ok(Some(error.to_string())),
        Err(error) => Err(error),
    }
}
