//! Everything observed of one shoot, and the facts published from it.

use super::cache::Cache;
use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::error::Error;
use crate::cluster::client::resources::ResourceScope;
use crate::state::facts::Facts;
use crate::state::key::{ClusterSide, ObjectKey};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep};

/// Changes within this interval are published together.
const COALESCE_INTERVAL: Duration = Duration::from_millis(50);

/// The cache of one shoot, its published facts, and the health of the observation.
pub(crate) struct ObservationStore {
    started: Instant,
    cache: Mutex<(Cache, u64)>,
    changed: Notify,
    /// Number of changes in the published facts.
    published: watch::Sender<u64>,
    pub(crate) facts: watch::Sender<Arc<Facts>>,
    /// Set once the shoot's API server is reached.
    pub(crate) shoot_client: OnceLock<ApiClient>,
    failures: Mutex<BTreeMap<ResourceScope, (Instant, String)>>,
    pub(crate) health: watch::Sender<Option<String>>,
    pub(crate) is_deletion: bool,
}

impl ObservationStore {
    pub(crate) fn new(id: &str, started: Instant, is_deletion: bool) -> ObservationStore {
        ObservationStore {
            started,
            cache: Mutex::new((Cache::new(id), 0)),
            changed: Notify::new(),
            published: watch::Sender::default(),
            facts: watch::Sender::default(),
            shoot_client: OnceLock::new(),
            failures: Mutex::default(),
            health: watch::Sender::default(),
            is_deletion,
        }
    }

    /// Changes the cache and schedules publication.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Cache, Duration) -> T) -> T {
        let result = {
            let (cache, changes) = &mut *self.lock_cache();
            *changes += 1;
            change(cache, self.started.elapsed())
        };
        self.changed.notify_one();
        result
    }

    /// As [`ObservationStore::change`], but nothing is published if nothing was changed.
    pub(crate) fn try_change(
        &self,
        change: impl FnOnce(&mut Cache, Duration) -> Result<(), Error>,
    ) -> Result<(), Error> {
        {
            let (cache, changes) = &mut *self.lock_cache();
            change(cache, self.started.elapsed())?;
            *changes += 1;
        }
        self.changed.notify_one();
        Ok(())
    }

    /// Returns once all changes so far are in the published facts.
    pub(crate) async fn wait_published(&self) {
        let known = self.lock_cache().1;
        let mut published = self.published.subscribe();
        // The sender is in `self`, so the channel stays open.
        let _ = published.wait_for(|it| *it >= known).await;
    }

    pub(crate) fn read<T>(&self, read: impl FnOnce(&Cache) -> T) -> T {
        read(&self.lock_cache().0)
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<Arc<Facts>> {
        self.facts.subscribe()
    }

    pub(crate) fn latest(&self) -> Arc<Facts> {
        self.facts.borrow().clone()
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    pub(crate) fn set_causes(&self, causes: HashMap<ObjectKey, Arc<str>>) {
        self.change(|cache, _| cache.set_causes(causes));
    }

    pub(crate) fn report_failure(&self, scope: ResourceScope, error: &Error) {
        tracing::debug!(side = ?scope.0, kind = %scope.1, %error, "cannot observe");
        if self.is_deletion && scope.0 == ClusterSide::Shoot {
            // The shoot's API server is being deleted, or did not work before.
            return;
        }
        let mut troubles = self.failures.lock().unwrap_or_else(|it| it.into_inner());
        let trouble = troubles
            .entry(scope)
            .or_insert_with(|| (Instant::now(), String::new()));
        trouble.1 = error.to_string();
        self.update_health(&troubles);
    }

    pub(crate) fn report_success(&self, scope: ResourceScope) {
        let mut troubles = self.failures.lock().unwrap_or_else(|it| it.into_inner());
        if troubles.remove(&scope).is_some() {
            self.update_health(&troubles);
        }
    }

    fn update_health(&self, troubles: &BTreeMap<ResourceScope, (Instant, String)>) {
        let oldest = troubles.values().min_by_key(|(since, _)| *since);
        let health = oldest.map(|(since, text)| {
            let seconds = since.elapsed().as_secs();
            format!("observation failing for {seconds}s: {text}")
        });
        self.health.send_replace(health);
    }

    pub(crate) fn publish(&self) {
        let (facts, changes) = {
            let (cache, changes) = &mut *self.lock_cache();
            (cache.facts(self.started.elapsed()), *changes)
        };
        self.facts.send_if_modified(|before| {
            let differs = **before != facts;
            if differs {
                *before = Arc::new(facts);
            }
            differs
        });
        self.published.send_replace(changes);
    }

    pub(crate) async fn publish_changes(&self) {
        loop {
            self.changed.notified().await;
            self.publish();
            sleep(COALESCE_INTERVAL).await;
        }
    }

    /// The cache, with the number of changes so far.
    fn lock_cache(&self) -> MutexGuard<'_, (Cache, u64)> {
        // No change panics halfway.
        self.cache.lock().unwrap_or_else(|it| it.into_inner())
    }
}
