//! One LIST and one WATCH per kind for several shoots of a namespace.

use super::observation_store::ObservationStore;
use super::watch_target::SharedStores;
use super::watcher::Watcher;
use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::error::Error;
use crate::state::key::{ClusterSide, ObjectKind};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Mutex as AsyncMutex;
use tokio::task::JoinSet;

/// Watches of the provider cluster that the shoots of one command share. They end when this is dropped.
pub(crate) struct SharedWatches {
    provider: ApiClient,
    /// Technical IDs of all shoots that may join.
    ids: Vec<String>,
    stores: Arc<SharedStores>,
    kinds: Mutex<HashMap<ObjectKind, Arc<SharedKind>>>,
    tasks: Mutex<JoinSet<()>>,
}

/// A kind, listed once for all shoots that wait for it.
#[derive(Default)]
struct SharedKind {
    /// Number of requests for a LIST.
    requested: AtomicU64,
    state: AsyncMutex<KindState>,
}

#[derive(Default)]
struct KindState {
    /// Requests before this one were made before the latest LIST began.
    served: u64,
    is_watched: bool,
}

impl SharedWatches {
    pub(crate) fn new(provider: &ApiClient, ids: Vec<String>) -> SharedWatches {
        SharedWatches {
            provider: provider.clone(),
            ids,
            stores: Arc::default(),
            kinds: Mutex::default(),
            tasks: Mutex::default(),
        }
    }

    pub(crate) fn provider(&self) -> &ApiClient {
        &self.provider
    }

    /// Delivers objects of the shoot to `store` until the result is dropped.
    pub(crate) fn join(self: &Arc<Self>, id: &str, store: Arc<ObservationStore>) -> Subscription {
        self.stores.add(id, store.clone());
        Subscription {
            watches: self.clone(),
            id: id.to_owned(),
            store,
        }
    }

    /// The state of a kind. Its lock is not held across requests to the server.
    fn kind(&self, kind: ObjectKind) -> Arc<SharedKind> {
        let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        kinds.entry(kind).or_default().clone()
    }

    fn spawn(&self, watcher: Watcher, version: String) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.spawn(watcher.run(version));
    }
}

/// Membership of a shoot in shared watches.
pub(crate) struct Subscription {
    watches: Arc<SharedWatches>,
    id: String,
    store: Arc<ObservationStore>,
}

impl Subscription {
    /// Returns once a LIST of the kind that began after this call was delivered to the shoot. From then on, the kind
    /// is watched.
    ///
    /// # Errors
    ///
    /// As those of [`Watcher::initial_list`]; an object of another shoot that cannot be read is none.
    pub(crate) async fn list_and_watch(&self, kind: ObjectKind) -> Result<(), Error> {
        self.shared_list(kind).await?;
        let scope = (ClusterSide::Provider, kind);
        if self.store.read(|cache| cache.is_listed(scope)) {
            return Ok(());
        }
        // An object of this shoot cannot be read, and the error names it.
        let own = Watcher::new(&self.watches.provider, &self.store, scope, &self.id);
        own.initial_list().await.map(drop)
    }

    /// Shoots that call this during a LIST share the next one.
    async fn shared_list(&self, kind: ObjectKind) -> Result<(), Error> {
        let shared = self.watches.kind(kind);
        let request = shared.requested.fetch_add(1, Ordering::SeqCst);
        let mut state = shared.state.lock().await;
        if request < state.served {
            return Ok(());
        }
        let requested = shared.requested.load(Ordering::SeqCst);
        let watcher = Watcher::shared(
            &self.watches.provider,
            &self.watches.stores,
            kind,
            &self.watches.ids,
        );
        let version = watcher.initial_list().await?;
        state.served = requested;
        if !state.is_watched {
            state.is_watched = true;
            self.watches.spawn(watcher, version);
        }
        Ok(())
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.watches.stores.remove_shoot(&self.id);
    }
}
