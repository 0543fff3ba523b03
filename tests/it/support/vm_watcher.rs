//! Watches VirtualMachines and other objects while kvshoot changes them.

use super::provider::{self, Provider, Resource};
use futures::{StreamExt, TryStreamExt};
use kube::api::{DynamicObject, ListParams, WatchEvent, WatchParams};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Observed numbers of machines of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// Most machines at one time, including terminating ones.
    pub(crate) max_total: usize,
    /// Fewest ready machines at one time, without terminating ones.
    pub(crate) min_ready: usize,
}

/// A watch of the machines of a pool.
pub(crate) struct Watcher<'a> {
    provider: &'a Provider,
    history: Arc<Mutex<PoolHistory>>,
}

struct PoolHistory {
    pool: String,
    /// True for each machine that is ready and not terminating.
    machines: BTreeMap<String, bool>,
    bounds: Bounds,
    /// All changes, for the message of a failed assertion.
    log: Vec<String>,
}

impl PoolHistory {
    fn update(&mut self, object: &DynamicObject, exists: bool) {
        let labels = object.metadata.labels.iter().flatten();
        let mut pool = labels.filter(|it| it.0 == "kvshoot.io/pool");
        let is_wanted = |it: &String| self.pool.is_empty() || *it == self.pool;
        if !pool.next().is_some_and(|it| is_wanted(it.1)) {
            return;
        }
        let name = object.metadata.name.clone().unwrap();
        let mut marks = object.metadata.annotations.iter().flatten();
        let is_terminating = object.metadata.deletion_timestamp.is_some()
            || marks.any(|it| it.0 == "kvshoot.io/leaving");
        let is_ready = object.data["status"]["ready"] == true && !is_terminating;
        let status = &object.data["status"];
        self.log.push(format!(
            "{name} exists {exists} terminating {is_terminating} ready {} {} {}",
            status["ready"], status["printableStatus"], status["conditions"]
        ));
        match exists {
            true => self.machines.insert(name, is_ready),
            false => self.machines.remove(&name),
        };
    }

    fn record_extremes(&mut self) {
        let ready = self.machines.values().filter(|it| **it).count();
        self.bounds.max_total = self.bounds.max_total.max(self.machines.len());
        self.bounds.min_ready = self.bounds.min_ready.min(ready);
    }
}

impl<'a> Watcher<'a> {
    /// Watches all pools if `pool` is empty.
    pub(crate) fn start(provider: &'a Provider, pool: &str) -> Watcher<'a> {
        let listed = provider.api(provider::VM);
        let listed = provider.block_on(async { listed.list(&ListParams::default()).await });
        let listed = listed.unwrap();
        let mut history = PoolHistory {
            pool: pool.to_owned(),
            machines: BTreeMap::new(),
            bounds: Bounds {
                max_total: 0,
                min_ready: usize::MAX,
            },
            log: Vec::new(),
        };
        listed.items.iter().for_each(|it| history.update(it, true));
        history.record_extremes();
        let history = Arc::new(Mutex::new(history));
        let (writer, version) = (history.clone(), listed.metadata.resource_version.unwrap());
        watch(provider, provider::VM, version, move |event| {
            let mut history = writer.lock().unwrap();
            match event {
                WatchEvent::Added(it) | WatchEvent::Modified(it) => history.update(&it, true),
                WatchEvent::Deleted(it) => history.update(&it, false),
                _ => return,
            }
            history.record_extremes();
        });
        Watcher { provider, history }
    }

    /// Waits until the machines meet a condition. They are named, with true for ready ones.
    pub(crate) fn wait_for(&self, what: &str, holds: impl Fn(&BTreeMap<String, bool>) -> bool) {
        let end = Instant::now() + super::shoots::PATIENCE;
        while !holds(&self.history.lock().unwrap().machines) {
            assert!(Instant::now() < end, "timed out waiting for {what}");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }

    /// Asserts that the numbers of machines stayed within bounds.
    pub(crate) fn assert_within(self, what: &str, wanted: Bounds) {
        let machines = self.provider.list(provider::VM);
        let names = machines.into_iter().map(|it| it.metadata.name.unwrap());
        let names: std::collections::BTreeSet<String> = names.collect();
        self.wait_for("the watch to catch up", |machines| {
            machines.keys().all(|name| names.contains(name))
        });
        let history = self.history.lock().unwrap();
        let (most, fewest) = (history.bounds.max_total, history.bounds.min_ready);
        let holds = most <= wanted.max_total && fewest >= wanted.min_ready;
        let log = history.log.join("\n");
        assert!(holds, "{what}: {:?}, not {wanted:?}\n{log}", history.bounds);
    }
}

/// Watches deletions of a kind: the resource version of the first sign of each, by name.
pub(crate) fn watch_deletions(
    provider: &Provider,
    resource: Resource,
) -> Arc<Mutex<BTreeMap<String, u64>>> {
    let listed = provider.api(resource);
    let listed = provider.block_on(async { listed.list(&ListParams::default()).await });
    let version = listed.unwrap().metadata.resource_version.unwrap();
    let deleted = Arc::new(Mutex::new(BTreeMap::new()));
    let writer = deleted.clone();
    watch(provider, resource, version, move |event| {
        let (object, is_removed) = match event {
            WatchEvent::Modified(it) => (it, false),
            WatchEvent::Deleted(it) => (it, true),
            _ => return,
        };
        let metadata = object.metadata;
        let is_machine = object.types.is_some_and(|it| it.kind == provider::VM.2);
        // A machine exists until it is removed; for other kinds the deletion timestamp counts.
        if is_removed || (!is_machine && metadata.deletion_timestamp.is_some()) {
            let version = metadata.resource_version.unwrap().parse().unwrap();
            let name = metadata.name.unwrap();
            writer.lock().unwrap().entry(name).or_insert(version);
        }
    });
    deleted
}

/// Watches the labels of all objects of a kind, by name.
pub(crate) fn watch_labels(
    provider: &Provider,
    resource: Resource,
) -> Arc<Mutex<BTreeMap<String, BTreeMap<String, String>>>> {
    let listed = provider.api(resource);
    let listed = provider.block_on(async { listed.list(&ListParams::default()).await });
    let version = listed.unwrap().metadata.resource_version.unwrap();
    let labels = Arc::new(Mutex::new(BTreeMap::new()));
    let writer = labels.clone();
    watch(provider, resource, version, move |event| {
        if let WatchEvent::Added(it) | WatchEvent::Modified(it) = event {
            let metadata = it.metadata;
            let of_object = metadata.labels.unwrap_or_default();
            let mut labels = writer.lock().unwrap();
            labels.insert(metadata.name.unwrap(), of_object);
        }
    });
    labels
}

fn watch(
    provider: &Provider,
    resource: Resource,
    version: String,
    mut handle: impl FnMut(WatchEvent<DynamicObject>) + Send + 'static,
) {
    let api = provider.api(resource);
    provider.spawn(async move {
        let params = WatchParams::default();
        let mut events = api.watch(&params, &version).await.unwrap().boxed();
        while let Ok(Some(event)) = events.try_next().await {
            handle(event);
        }
    });
}
