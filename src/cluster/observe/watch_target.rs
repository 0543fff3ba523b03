//! The stores that a watch feeds: that of one shoot, or those of several shoots of a namespace.

use super::cache::Cache;
use super::observation_store::ObservationStore;
use crate::cluster::client::error::Error;
use crate::cluster::client::request::ObjectList;
use crate::cluster::client::resources::ResourceScope;
use crate::state::names::PART_OF;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Where a watch delivers its objects.
#[derive(Clone)]
pub(crate) enum WatchTarget {
    /// All objects belong to one shoot.
    Shoot(Arc<ObservationStore>),
    /// Objects belong to the shoot that their label names.
    Shared(Arc<SharedStores>),
}

impl WatchTarget {
    /// Delivers a complete LIST.
    ///
    /// # Errors
    ///
    /// An object or the version is malformed. With shared stores, that is a failure of the shoot of the object only.
    pub(crate) fn list(
        &self,
        scope: ResourceScope,
        listed: &ObjectList,
        time: Option<i64>,
    ) -> Result<(), Error> {
        match self {
            WatchTarget::Shoot(store) => {
                list(store, scope, &listed.version, &listed.items, time)?;
                store.report_success(scope);
                Ok(())
            }
            WatchTarget::Shared(stores) => {
                stores.list(scope, listed, time);
                Ok(())
            }
        }
    }

    /// Delivers an object that was added or modified.
    pub(crate) fn put(
        &self,
        scope: ResourceScope,
        object: &Value,
        time: Option<i64>,
    ) -> Result<(), Error> {
        match self {
            WatchTarget::Shoot(store) => {
                store.try_change(|cache, now| cache.put(scope, object, now, time))
            }
            WatchTarget::Shared(stores) => {
                stores.put(scope, object, time);
                Ok(())
            }
        }
    }

    /// Delivers an object that was deleted.
    pub(crate) fn remove(&self, scope: ResourceScope, object: &Value) -> Result<(), Error> {
        match self {
            WatchTarget::Shoot(store) => store.try_change(|cache, _| cache.remove(scope, object)),
            WatchTarget::Shared(stores) => {
                stores.remove(scope, object);
                Ok(())
            }
        }
    }

    pub(crate) fn report_failure(&self, scope: ResourceScope, error: &Error) {
        match self {
            WatchTarget::Shoot(store) => store.report_failure(scope, error),
            WatchTarget::Shared(stores) => {
                for subscriber in stores.lock().values() {
                    subscriber.store.report_failure(scope, error);
                }
            }
        }
    }

    pub(crate) fn report_success(&self, scope: ResourceScope) {
        match self {
            WatchTarget::Shoot(store) => store.report_success(scope),
            WatchTarget::Shared(stores) => {
                for subscriber in stores.lock().values() {
                    subscriber.report_success(scope);
                }
            }
        }
    }
}

/// Stores of the shoots that currently share watches, by technical ID.
#[derive(Default)]
pub(crate) struct SharedStores {
    subscribers: Mutex<BTreeMap<String, Subscriber>>,
}

/// A shoot that shares watches.
struct Subscriber {
    store: Arc<ObservationStore>,
    /// Kinds of which an object could not be read since their latest LIST.
    malformed: BTreeSet<ResourceScope>,
}

impl Subscriber {
    fn list(&mut self, scope: ResourceScope, version: &str, objects: &[Value], time: Option<i64>) {
        self.malformed.remove(&scope);
        let result = list(&self.store, scope, version, objects, time);
        self.report(scope, result);
        self.report_success(scope);
    }

    fn change(
        &mut self,
        scope: ResourceScope,
        change: impl FnOnce(&mut Cache, Duration) -> Result<(), Error>,
    ) {
        let result = self.store.try_change(change);
        self.report(scope, result);
    }

    fn report(&mut self, scope: ResourceScope, result: Result<(), Error>) {
        if let Err(error) = result {
            self.malformed.insert(scope);
            self.store.report_failure(scope, &error);
        }
    }

    /// The watch works; a kind with a malformed object is still not completely observed.
    fn report_success(&self, scope: ResourceScope) {
        if !self.malformed.contains(&scope) {
            self.store.report_success(scope);
        }
    }

    fn holds(&self, scope: ResourceScope, object: &Value) -> bool {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        self.store.read(|cache| cache.get(scope, name).is_some())
    }
}

impl SharedStores {
    pub(crate) fn add(&self, id: &str, store: Arc<ObservationStore>) {
        let subscriber = Subscriber {
            store,
            malformed: BTreeSet::new(),
        };
        self.lock().insert(id.to_owned(), subscriber);
    }

    pub(crate) fn remove_shoot(&self, id: &str) {
        self.lock().remove(id);
    }

    fn list(&self, scope: ResourceScope, listed: &ObjectList, time: Option<i64>) {
        let mut of_shoots: HashMap<&str, Vec<Value>> = HashMap::new();
        for object in &listed.items {
            let objects = of_shoots.entry(shoot_of(object)).or_default();
            objects.push(object.clone());
        }
        for (id, subscriber) in self.lock().iter_mut() {
            let objects = of_shoots.remove(id.as_str()).unwrap_or_default();
            subscriber.list(scope, &listed.version, &objects, time);
        }
    }

    fn put(&self, scope: ResourceScope, object: &Value, time: Option<i64>) {
        let shoot = shoot_of(object);
        for (id, subscriber) in self.lock().iter_mut() {
            if *id == shoot {
                subscriber.change(scope, |cache, now| cache.put(scope, object, now, time));
            } else if subscriber.holds(scope, object) {
                // Its label named that shoot before.
                subscriber.change(scope, |cache, _| cache.remove(scope, object));
            }
        }
    }

    fn remove(&self, scope: ResourceScope, object: &Value) {
        if let Some(subscriber) = self.lock().get_mut(shoot_of(object)) {
            subscriber.change(scope, |cache, _| cache.remove(scope, object));
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Subscriber>> {
        // No change panics halfway.
        self.subscribers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn list(
    store: &ObservationStore,
    scope: ResourceScope,
    version: &str,
    objects: &[Value],
    time: Option<i64>,
) -> Result<(), Error> {
    store.change(|cache, now| cache.list(scope, version, objects, now, time))
}

/// Technical ID of the shoot of an object; empty without the label.
fn shoot_of(object: &Value) -> &str {
    object["metadata"]["labels"][PART_OF]
        .as_str()
        .unwrap_or_default()
}
