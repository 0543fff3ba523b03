//! One kind: a LIST, then a WATCH for the rest of the run.

use super::observation_store::ObservationStore;
use super::watch_target::{SharedStores, WatchTarget};
use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::backoff::Backoff;
use crate::cluster::client::error::{Error, Retryability};
use crate::cluster::client::request::{ObjectList, ResourceRef};
use crate::cluster::client::resources::{self, Resource, ResourceScope};
use crate::state::key::{ClusterSide, ObjectKind};
use crate::state::names;
use futures::StreamExt as _;
use kube::core::WatchEvent;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// Silence after which a watch counts as dead: longer than the server keeps one open.
const IDLE_TIMEOUT: Duration = Duration::from_secs(320);
/// The same for servers that send bookmarks, which they do each minute.
const IDLE_TIMEOUT_WITH_BOOKMARKS: Duration = Duration::from_secs(130);
/// Limits for retries of the first LIST. The provider answered when the lock was acquired, so it may take several
/// attempts; a shoot's API server may be gone for good.
const PROVIDER_RETRY_WINDOW: Duration = Duration::from_secs(120);
const SHOOT_RETRY_WINDOW: Duration = Duration::from_secs(30);

/// Watches one kind in the provider namespace, of one or several shoots, or in a shoot.
#[derive(Clone)]
pub(crate) struct Watcher {
    server: ApiClient,
    target: WatchTarget,
    pub(crate) scope: ResourceScope,
    selector: String,
}

impl Watcher {
    pub(crate) fn new(
        server: &ApiClient,
        store: &Arc<ObservationStore>,
        scope: ResourceScope,
        id: &str,
    ) -> Watcher {
        Watcher {
            server: server.clone(),
            target: WatchTarget::Shoot(store.clone()),
            scope,
            selector: selector(scope, id),
        }
    }

    /// Watches a kind in the provider namespace that is labelled with its shoot, for several shoots.
    pub(super) fn shared(
        provider: &ApiClient,
        stores: &Arc<SharedStores>,
        kind: ObjectKind,
        ids: &[String],
    ) -> Watcher {
        let owners = names::selector_of_any(ids);
        let role = resources::role_selector(ClusterSide::Provider, kind);
        Watcher {
            server: provider.clone(),
            target: WatchTarget::Shared(stores.clone()),
            scope: (ClusterSide::Provider, kind),
            selector: join_selectors([owners, role]),
        }
    }

    fn resource_ref(&self) -> ResourceRef<'_> {
        resource_ref(&self.server, self.scope)
    }

    /// Runs the first LIST; returns the version to watch from.
    pub(crate) async fn initial_list(&self) -> Result<String, Error> {
        let begun = Instant::now();
        let patience = match self.scope.0 {
            ClusterSide::Provider => PROVIDER_RETRY_WINDOW,
            ClusterSide::Shoot => SHOOT_RETRY_WINDOW,
        };
        let mut backoff = Backoff::default();
        loop {
            match self.list().await {
                Ok(version) => return Ok(version),
                Err(error) if begun.elapsed() > patience => return Err(error),
                // Reading all pages took so long that their version expired.
                Err(Error::Expired { .. }) => {}
                Err(error) if error.retryability() == Retryability::Retry => {
                    self.target.report_failure(self.scope, &error);
                }
                Err(error) => return Err(error),
            }
            let what = self.resource_ref().request_info("list");
            let _in_flight = self.server.in_flight(&what);
            backoff.wait().await;
        }
    }

    async fn list(&self) -> Result<String, Error> {
        let listed = list_kind(&self.server, self.scope, &self.selector).await?;
        let time = self.server.server_time();
        self.target.list(self.scope, &listed, time)?;
        Ok(listed.version)
    }

    /// Watches from `version` on. Never returns.
    pub(crate) async fn run(self, mut version: String) {
        let mut backoff = Backoff::default();
        loop {
            let begun = Instant::now();
            let ended = match self.watch(&mut version).await {
                Err(Error::Expired { .. }) => match self.list().await {
                    Ok(newest) => {
                        version = newest;
                        Ok(())
                    }
                    Err(error) => Err(error),
                },
                other => other,
            };
            match ended {
                // Servers close watches now and then. One that is closed immediately is a failure.
                Ok(()) if begun.elapsed() > Duration::from_secs(5) => backoff.reset(),
                Ok(()) => backoff.wait().await,
                Err(error) => {
                    self.target.report_failure(self.scope, &error);
                    backoff.wait().await;
                }
            }
        }
    }

    async fn watch(&self, version: &mut String) -> Result<(), Error> {
        let events = self
            .server
            .watch(self.resource_ref(), &self.selector, version)
            .await?;
        self.target.report_success(self.scope);
        let mut events = std::pin::pin!(events);
        let mut idle = IDLE_TIMEOUT;
        loop {
            let Ok(event) = timeout(idle, events.next()).await else {
                return Err(Error::Timeout {
                    what: self.resource_ref().request_info("watch"),
                    after: idle,
                });
            };
            let Some(event) = event else {
                return Ok(());
            };
            match event? {
                WatchEvent::Bookmark(bookmark) => {
                    idle = IDLE_TIMEOUT_WITH_BOOKMARKS;
                    *version = bookmark.metadata.resource_version;
                }
                WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                    self.put(&object)?;
                    update_version(version, &object);
                }
                WatchEvent::Deleted(object) => {
                    self.target.remove(self.scope, &object)?;
                    update_version(version, &object);
                }
                WatchEvent::Error(status) => {
                    let what = self.resource_ref().request_info("watch");
                    return Err(Error::from_status(what, self.server.server(), &status));
                }
            }
        }
    }

    fn put(&self, object: &Value) -> Result<(), Error> {
        let time = self.server.server_time();
        self.target.put(self.scope, object, time)
    }
}

/// Selector of the objects of a kind by the labels of the shoot, for kinds that have them.
pub(crate) fn selector((side, kind): ResourceScope, id: &str) -> String {
    let parts = [
        resources::ownership_selector(kind, id),
        resources::role_selector(side, kind),
    ];
    join_selectors(parts)
}

fn join_selectors(parts: [String; 2]) -> String {
    let parts: Vec<String> = parts.into_iter().filter(|it| !it.is_empty()).collect();
    parts.join(",")
}

/// Lists a kind, in the namespace of the provider or in the whole shoot.
pub(crate) async fn list_kind(
    server: &ApiClient,
    scope: ResourceScope,
    selector: &str,
) -> Result<ObjectList, Error> {
    server
        .list(resource_ref(server, scope), Some(selector))
        .await
}

fn resource_ref(server: &ApiClient, (side, kind): ResourceScope) -> ResourceRef<'_> {
    let namespace = match side {
        ClusterSide::Provider => Some(&**server.namespace()),
        ClusterSide::Shoot => None,
    };
    ResourceRef::all(Resource::of(kind), namespace)
}

fn update_version(version: &mut String, object: &Value) {
    if let Some(newest) = object["metadata"]["resourceVersion"].as_str() {
        newest.clone_into(version);
    }
}
