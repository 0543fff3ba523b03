//! Looks at the hosts of the provider while machines have to leave them, to see whether they are still drained.

use super::observation_store::ObservationStore;
use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::error::Error;
use crate::cluster::client::request::ResourceRef;
use crate::cluster::client::resources;
use crate::cluster::objects::core::node::PartialNode;
use crate::cluster::objects::reader::read_all;
use crate::state::facts::Facts;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

const INTERVAL: Duration = Duration::from_secs(3);

/// Hosts that were cordoned while a machine had to leave one.
#[derive(Debug, Default)]
struct HostMemory {
    cordoned: BTreeSet<Arc<str>>,
}

impl HostMemory {
    /// Adds a look at the hosts that are `cordoned`, and returns those that were and no longer are.
    fn look(&mut self, cordoned: &BTreeSet<Arc<str>>) -> BTreeSet<Arc<str>> {
        self.cordoned.extend(cordoned.iter().cloned());
        self.cordoned.difference(cordoned).cloned().collect()
    }
}

/// Publishes hosts that are schedulable again while a machine has to leave one. Returns if nodes of the provider cannot be read.
///
/// A host that was never cordoned is not among them: something else than a drain wants its machines to leave it.
pub(crate) async fn watch_drained_hosts(provider: ApiClient, store: Arc<ObservationStore>) {
    let mut facts = store.subscribe();
    let mut memory = HostMemory::default();
    loop {
        let seen = facts.borrow_and_update().clone();
        if !is_any_evacuated(&seen) {
            // A later drain of the same host is not this one.
            memory = HostMemory::default();
            publish(&store, &seen, BTreeSet::new());
            if facts.changed().await.is_err() {
                return;
            }
            continue;
        }
        match cordoned_hosts(&provider).await {
            Ok(cordoned) => publish(&store, &seen, memory.look(&cordoned)),
            Err(Error::Forbidden { .. }) => return,
            Err(error) => tracing::debug!(%error, "cannot read the nodes of the provider"),
        }
        sleep(INTERVAL).await;
    }
}

fn publish(store: &ObservationStore, seen: &Facts, hosts: BTreeSet<Arc<str>>) {
    if seen.uncordoned_hosts != hosts {
        store.change(|cache, _| cache.static_facts.uncordoned_hosts = hosts);
    }
}

fn is_any_evacuated(facts: &Facts) -> bool {
    let mut machines = facts.machines.values().flat_map(|it| it.values());
    // One that is being emptied leaves its host in any case.
    machines.any(|it| it.evacuation.is_some() && !it.is_draining())
}

async fn cordoned_hosts(provider: &ApiClient) -> Result<BTreeSet<Arc<str>>, Error> {
    let all = ResourceRef::all(&resources::NODE, None);
    let nodes = provider.list(all, None).await?;
    let nodes: Vec<PartialNode> = read_all(&resources::NODE, &nodes.items)?;
    let cordoned = nodes.iter().filter(|it| it.spec.unschedulable);
    Ok(cordoned
        .map(|it| it.metadata.name.as_str().into())
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::facts::{Evacuation, MachinePhase};
    use crate::state::testing::machine;
    use http::{Request, Response};
    use kube::client::Body;
    use serde_json::json;
    use std::io;
    use std::sync::atomic::{AtomicBool, Ordering};
    use tokio::time::Instant;

    /// Serves one node of the provider, which may be cordoned.
    fn provider(is_cordoned: &Arc<AtomicBool>) -> ApiClient {
        let is_cordoned = is_cordoned.clone();
        let service = tower::service_fn(move |_: Request<Body>| {
            let node = json!({
                "metadata": { "name": "a", "uid": "n", "resourceVersion": "1" },
                "spec": { "unschedulable": is_cordoned.load(Ordering::Relaxed) },
            });
            let list = json!({ "metadata": { "resourceVersion": "9" }, "items": [node] });
            let answer = Response::builder().header("Date", "Thu, 01 Jan 2026 00:00:00 GMT");
            let answer = answer.body(Body::from(list.to_string().into_bytes()));
            async move { answer.map_err(io::Error::other) }
        });
        let client = kube::Client::new(service, "ns");
        ApiClient::new(client, "https://server".to_owned(), "ns", Vec::new())
    }

    #[tokio::test(start_paused = true)]
    async fn an_eviction_after_a_drain_has_ended_is_not_part_of_it() {
        let is_cordoned = Arc::new(AtomicBool::new(true));
        let store = Arc::new(ObservationStore::new("a", Instant::now(), false));
        tokio::spawn(watch_drained_hosts(provider(&is_cordoned), store.clone()));
        let uncordoned = || store.change(|cache, _| cache.static_facts.uncordoned_hosts.clone());
        let evict = |is_evicted: bool| {
            let mut facts = Facts {
                uncordoned_hosts: uncordoned(),
                ..Facts::default()
            };
            let mut machine = machine(MachinePhase::Ready);
            machine.evacuation = is_evicted.then_some(Evacuation::Replacement);
            let pool = facts.machines.entry("cpu".into()).or_default();
            pool.insert("a-cpu-z1-12345-0".into(), machine);
            store.facts.send_replace(Arc::new(facts));
        };
        let after_a_look = async || {
            sleep(2 * INTERVAL).await;
            uncordoned().len()
        };
        evict(true);
        assert_eq!(after_a_look().await, 0);
        is_cordoned.store(false, Ordering::Relaxed);
        assert_eq!(after_a_look().await, 1);
        evict(false);
        assert_eq!(after_a_look().await, 0);
        evict(true);
        assert_eq!(after_a_look().await, 0);
    }

    #[test]
    fn only_hosts_that_were_cordoned_are_uncordoned() {
        let hosts = |names: &[&str]| names.iter().map(|it| Arc::from(*it)).collect();
        let mut memory = HostMemory::default();
        assert_eq!(memory.look(&hosts(&[])), hosts(&[]));
        assert_eq!(memory.look(&hosts(&["a", "b"])), hosts(&[]));
        assert_eq!(memory.look(&hosts(&["b"])), hosts(&["a"]));
        assert_eq!(memory.look(&hosts(&[])), hosts(&["a", "b"]));
        assert_eq!(memory.look(&hosts(&["a"])), hosts(&["b"]));
    }
}
