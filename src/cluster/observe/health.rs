//! Looks at the Leases of nodes, as long as a node of a machine is suspected.

use super::observation_store::ObservationStore;
use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::error::Error;
use crate::cluster::client::request::ResourceRef;
use crate::cluster::client::resources;
use crate::cluster::objects::condition::PartialCondition;
use crate::cluster::objects::core::node::PartialNode;
use crate::cluster::objects::lease::PartialLease;
use crate::cluster::objects::reader::{read, read_all};
use crate::state::facts::{
    Facts, LeaseLook, LeaseWatch, MachinePhase, NodeConditions, ObservedHealth, ShootApi,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, sleep};

const INTERVAL: Duration = Duration::from_secs(10);
const NODE_LEASES: &str = "kube-node-lease";

/// Memory of earlier looks. Runs that follow each other share it.
pub(crate) struct HealthMemory {
    started: Instant,
    watch: Mutex<LeaseWatch>,
}

impl Default for HealthMemory {
    fn default() -> Self {
        HealthMemory {
            started: Instant::now(),
            watch: Mutex::default(),
        }
    }
}

impl HealthMemory {
    fn forget(&self) {
        self.change(LeaseWatch::forget);
    }

    fn look(&self, look: LeaseLook) -> ObservedHealth {
        let now = self.started.elapsed();
        self.change(|watch| watch.look(look, now))
    }

    fn change<T>(&self, change: impl FnOnce(&mut LeaseWatch) -> T) -> T {
        // No change panics halfway.
        let mut watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut watch)
    }
}

/// Publishes the health of nodes while one is suspected. Never returns.
pub(crate) async fn watch_health(
    provider: ApiClient,
    store: Arc<ObservationStore>,
    memory: Arc<HealthMemory>,
) {
    let mut facts = store.subscribe();
    loop {
        let seen = facts.borrow_and_update().clone();
        let suspects = suspects(&seen);
        let shoot = store.shoot_client.get().filter(|_| !suspects.is_empty());
        let Some(shoot) = shoot else {
            // Before the shoot is observed, nothing is known that contradicts an earlier run.
            if seen.shoot_api == ShootApi::Reachable {
                memory.forget();
            }
            publish(&store, &seen, None);
            if facts.changed().await.is_err() {
                return;
            }
            continue;
        };
        match look(&provider, shoot, suspects).await {
            Ok(look) => {
                let health = ObservedHealth {
                    at: store.elapsed(),
                    ..memory.look(look)
                };
                publish(&store, &seen, Some(Arc::new(health)));
            }
            Err(error) => {
                tracing::debug!(%error, "cannot look at the leases of nodes");
                memory.forget();
                publish(&store, &seen, None);
            }
        }
        sleep(INTERVAL).await;
    }
}

fn publish(store: &ObservationStore, seen: &Facts, health: Option<Arc<ObservedHealth>>) {
    if seen.health.is_some() || health.is_some() {
        store.change(|cache, _| cache.static_facts.health = health);
    }
}

/// Machines that were ready once and run, without a node that is healthy.
fn suspects(facts: &Facts) -> BTreeSet<Arc<str>> {
    if facts.shoot_api != ShootApi::Reachable {
        return BTreeSet::new();
    }
    let machines = facts.machines.values().flatten();
    let suspects = machines.filter(|(name, machine)| {
        let has_joined = matches!(machine.phase, MachinePhase::Ready | MachinePhase::NotReady);
        let node = facts.nodes.get(*name).map(|it| &it.conditions);
        let is_healthy = node.is_some_and(NodeConditions::is_healthy);
        has_joined && machine.instance.is_running && !is_healthy
    });
    suspects.map(|it| it.0.clone()).collect()
}

async fn look(
    provider: &ApiClient,
    shoot: &ApiClient,
    suspects: BTreeSet<Arc<str>>,
) -> Result<LeaseLook, Error> {
    let manager = ResourceRef::one(&resources::LEASE, "kube-system", "kube-controller-manager");
    let manager = match shoot.get(manager).await {
        Ok(lease) => renewal(&read(&resources::LEASE, &lease)?),
        Err(Error::NotFound { .. }) => None,
        Err(error) => return Err(error),
    };
    let leases = ResourceRef::all(&resources::LEASE, Some(NODE_LEASES));
    let leases = shoot.list(leases, None).await?;
    let local = crate::clock::now().as_second();
    let time = shoot.server_time().unwrap_or_default();
    let leases: Vec<PartialLease> = read_all(&resources::LEASE, &leases.items)?;
    let leases = leases.iter().filter_map(|it| {
        let node: Arc<str> = it.metadata.name.as_str().into();
        Some((node, renewal(it)?))
    });
    Ok(LeaseLook {
        time,
        clock_difference: local.saturating_sub(time),
        leases: leases.collect::<BTreeMap<_, _>>(),
        manager,
        suspects,
        bad_hosts: bad_hosts(provider).await?,
    })
}

fn renewal(lease: &PartialLease) -> Option<Arc<str>> {
    lease.renewal().map(Into::into)
}

/// Nodes of the provider that are not ready; empty without permission to list them.
async fn bad_hosts(provider: &ApiClient) -> Result<BTreeSet<Arc<str>>, Error> {
    let nodes = match provider
        .list(ResourceRef::all(&resources::NODE, None), None)
        .await
    {
        Err(Error::Forbidden { .. }) => return Ok(BTreeSet::new()),
        other => other?,
    };
    let nodes: Vec<PartialNode> = read_all(&resources::NODE, &nodes.items)?;
    let is_bad = |it: &&PartialNode| !it.ready_condition().is_none_or(PartialCondition::is_true);
    let bad = nodes.iter().filter(is_bad);
    Ok(bad.map(|it| it.metadata.name.as_str().into()).collect())
}
