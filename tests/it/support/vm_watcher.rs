//! Looks on while machines are replaced: every change of a VirtualMachine, as the server tells it.

use super::provider::{self, Provider, Resource};
use futures::{StreamExt, TryStreamExt};
use kube::api::{DynamicObject, ListParams, WatchEvent, WatchParams};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// What was seen of one pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// Most machines at one time, leaving ones too.
    pub(crate) max_total: usize,
    /// Fewest that served at one time, leaving ones not counted.
    pub(crate) min_ready: usize,
}

/// Watches a pool from now on.
pub(crate) struct Watcher<'a> {
    provider: &'a Provider,
    seen: Arc<Mutex<PoolHistory>>,
}

struct PoolHistory {
    pool: String,
    /// Whether each machine serves.
    machines: BTreeMap<String, bool>,
    bounds: Bounds,
    /// Every change, for whom a test fails.
    log: Vec<String>,
}

impl PoolHistory {
    fn put(&mut self, object: &DynamicObject, is_there: bool) {
        let labels = object.metadata.labels.iter().flatten();
        let mut pool = labels.filter(|it| it.0 == "kvshoot.io/pool");
        if pool.next().is_none_or(|it| *it.1 != self.pool) {
            return;
        }
        let name = object.metadata.name.clone().unwrap();
        let mut marks = object.metadata.annotations.iter().flatten();
        let is_leaving = object.metadata.deletion_timestamp.is_some()
            || marks.any(|it| it.0 == "kvshoot.io/leaving");
        let serves = object.data["status"]["ready"] == true && !is_leaving;
        let status = &object.data["status"];
        self.log.push(format!(
            "{name} there {is_there} leaving {is_leaving} ready {} {} {}",
            status["ready"], status["printableStatus"], status["conditions"]
        ));
        match is_there {
            true => self.machines.insert(name, serves),
            false => self.machines.remove(&name),
        };
    }

    fn judge(&mut self) {
        let ready = self.machines.values().filter(|it| **it).count();
        self.bounds.max_total = self.bounds.max_total.max(self.machines.len());
        self.bounds.min_ready = self.bounds.min_ready.min(ready);
    }
}

impl<'a> Watcher<'a> {
    pub(crate) fn start(provider: &'a Provider, pool: &str) -> Watcher<'a> {
        let listed = provider.api(provider::VM);
        let listed = provider.block_on(async { listed.list(&ListParams::default()).await });
        let listed = listed.unwrap();
        let mut seen = PoolHistory {
            pool: pool.to_owned(),
            machines: BTreeMap::new(),
            bounds: Bounds {
                max_total: 0,
                min_ready: usize::MAX,
            },
            log: Vec::new(),
        };
        listed.items.iter().for_each(|it| seen.put(it, true));
        seen.judge();
        let seen = Arc::new(Mutex::new(seen));
        let (writer, version) = (seen.clone(), listed.metadata.resource_version.unwrap());
        watch(provider, provider::VM, version, move |event| {
            let mut seen = writer.lock().unwrap();
            match event {
                WatchEvent::Added(it) | WatchEvent::Modified(it) => seen.put(&it, true),
                WatchEvent::Deleted(it) => seen.put(&it, false),
                _ => return,
            }
            seen.judge();
        });
        Watcher { provider, seen }
    }

    /// Waits until something moved since the start.
    pub(crate) fn wait_for(&self, what: &str, holds: impl Fn(&BTreeMap<String, bool>) -> bool) {
        let end = Instant::now() + super::shoots::PATIENCE;
        while !holds(&self.seen.lock().unwrap().machines) {
            assert!(Instant::now() < end, "timed out waiting for {what}");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }

    /// There were never more machines than `most`, and never fewer that served than `fewest`.
    pub(crate) fn assert_within(self, what: &str, wanted: Bounds) {
        let there = self.provider.list(provider::VM);
        let names = there.into_iter().map(|it| it.metadata.name.unwrap());
        let names: std::collections::BTreeSet<String> = names.collect();
        self.wait_for("the watch to see it all", |it| {
            it.keys().all(|it| names.contains(it))
        });
        let seen = self.seen.lock().unwrap();
        let (most, fewest) = (seen.bounds.max_total, seen.bounds.min_ready);
        let holds = most <= wanted.max_total && fewest >= wanted.min_ready;
        let log = seen.log.join("\n");
        assert!(holds, "{what}: {:?}, not {wanted:?}\n{log}", seen.bounds);
    }
}

/// When each object of a kind was deleted from now on, as the server counts: the first that is seen of it.
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
        let (object, is_gone) = match event {
            WatchEvent::Modified(it) => (it, false),
            WatchEvent::Deleted(it) => (it, true),
            _ => return,
        };
        let metadata = object.metadata;
        let is_machine = object.types.is_some_and(|it| it.kind == provider::VM.2);
        // A machine counts until it is gone, the others until somebody wants them to go.
        if is_gone || (!is_machine && metadata.deletion_timestamp.is_some()) {
            let version = metadata.resource_version.unwrap().parse().unwrap();
            let name = metadata.name.unwrap();
            writer.lock().unwrap().entry(name).or_insert(version);
        }
    });
    deleted
}

/// The labels of every object of a kind that there is at some time from now on, by name.
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
    mut see: impl FnMut(WatchEvent<DynamicObject>) + Send + 'static,
) {
    let api = provider.api(resource);
    provider.spawn(async move {
        let params = WatchParams::default();
        let mut events = api.watch(&params, &version).await.unwrap().boxed();
        while let Ok(Some(event)) = events.try_next().await {
            see(event);
        }
    });
}
