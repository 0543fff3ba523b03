//! Observation of the shoot's own API server.

use super::observation_store::ObservationStore;
use super::watcher::Watcher;
use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::backoff::Backoff;
use crate::cluster::client::error::Error;
use crate::cluster::client::resources;
use crate::state::facts::{Facts, ObjectStatus, ShootApi};
use crate::state::key::{ClusterSide, ObjectKey, ObjectKind};
use crate::state::names;
use futures::future::try_join_all;
use std::sync::Arc;
use tokio::task::JoinSet;

/// Connects to the shoot once possible and watches it from then on. Never returns.
pub(crate) async fn watch_shoot(provider: ApiClient, store: Arc<ObservationStore>, id: String) {
    let mut facts = store.subscribe();
    let ready = facts.wait_for(|it| may_be_reachable(it, &id)).await.is_ok();
    if !ready {
        return;
    }
    let mut backoff = Backoff::default();
    let server = loop {
        match provider.shoot_client(&id).await {
            Ok(server) => break server,
            Err(error) => {
                tracing::debug!(%error, "the shoot's API server is not reachable");
                let why = format!("the shoot's API server is not reachable: {error}");
                store.change(|cache, _| {
                    cache.static_facts.shoot_api = ShootApi::Unreachable(why.into())
                });
            }
        }
        backoff.wait().await;
    };
    let mut backoff = Backoff::default();
    let mut tasks = JoinSet::new();
    loop {
        let kinds: &[ObjectKind] = match store.is_deletion {
            true => &resources::DELETION_SHOOT_KINDS,
            false => &resources::SHOOT_KINDS,
        };
        let watchers = kinds
            .iter()
            .map(|kind| Watcher::new(&server, &store, (ClusterSide::Shoot, *kind), &id));
        let first =
            watchers.map(async |watcher| Ok::<_, Error>((watcher.initial_list().await?, watcher)));
        match try_join_all(first).await {
            Ok(first) => {
                for (version, watcher) in first {
                    tasks.spawn(watcher.run(version));
                }
                break;
            }
            Err(error) => {
                let why = format!("the shoot cannot be observed: {error}");
                store.change(|cache, _| {
                    cache.static_facts.shoot_api = ShootApi::Unreachable(why.into())
                });
            }
        }
        backoff.wait().await;
    }
    // Before the facts are published: actions that follow need the client.
    let _ = store.shoot_client.set(server);
    store.change(|cache, _| cache.static_facts.shoot_api = ShootApi::Reachable);
    while tasks.join_next().await.is_some() {}
}

/// True once the Service has an address, the CA exists and a pod of the API server is available.
pub(crate) fn may_be_reachable(facts: &Facts, id: &str) -> bool {
    let fact = |kind, part| {
        let key = ObjectKey::provider(kind, names::control_plane(id, part));
        facts.objects.get(&key).map(|it| &it.status)
    };
    let has_root = fact(ObjectKind::Secret, names::part::CA).is_some();
    let is_up = fact(ObjectKind::Deployment, names::part::API_SERVER).is_some_and(|it| match it {
        ObjectStatus::Rollout(rollout) => rollout.available > 0,
        _ => false,
    });
    has_root && is_up && fact(ObjectKind::Service, names::part::API_SERVER).is_some()
}
