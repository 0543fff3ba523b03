//! All that is observed of one shoot, and the facts published from it.

use super::cache::World;
use crate::cluster::client::api_client::Provider;
use crate::cluster::client::error::Error;
use crate::cluster::client::resources::Source;
use crate::state::facts::Facts;
use crate::state::key::{Key, Side};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep};

/// Changes within this time are published together.
const TOGETHER: Duration = Duration::from_millis(50);

pub(crate) struct Shared {
    started: Instant,
    world: Mutex<(World, u64)>,
    changed: Notify,
    /// How many changes the published facts have.
    published: watch::Sender<u64>,
    pub(crate) facts: watch::Sender<Arc<Facts>>,
    /// Set once, by what finds the way there.
    pub(crate) inside: OnceLock<Provider>,
    troubles: Mutex<BTreeMap<Source, (Instant, String)>>,
    pub(crate) health: watch::Sender<Option<String>>,
    pub(crate) is_leaving: bool,
}

impl Shared {
    pub(crate) fn new(id: &str, started: Instant, is_leaving: bool) -> Shared {
        Shared {
            started,
            world: Mutex::new((World::new(id), 0)),
            changed: Notify::new(),
            published: watch::Sender::default(),
            facts: watch::Sender::default(),
            inside: OnceLock::new(),
            troubles: Mutex::default(),
            health: watch::Sender::default(),
            is_leaving,
        }
    }

    /// Changes what is known, and has it published.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut World, Duration) -> T) -> T {
        let result = {
            let (world, changes) = &mut *self.world();
            *changes += 1;
            change(world, self.started.elapsed())
        };
        self.changed.notify_one();
        result
    }

    /// Returns when all that is known by now is in the published facts.
    pub(crate) async fn settled(&self) {
        let known = self.world().1;
        let mut published = self.published.subscribe();
        // The sender is in `self`, so there is no end to wait for.
        let _ = published.wait_for(|it| *it >= known).await;
    }

    pub(crate) fn read<T>(&self, read: impl FnOnce(&World) -> T) -> T {
        read(&self.world().0)
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<Arc<Facts>> {
        self.facts.subscribe()
    }

    pub(crate) fn newest(&self) -> Arc<Facts> {
        self.facts.borrow().clone()
    }

    pub(crate) fn now(&self) -> Duration {
        self.started.elapsed()
    }

    pub(crate) fn tell_causes(&self, causes: HashMap<Key, Arc<str>>) {
        self.change(|world, _| world.tell_causes(causes));
    }

    pub(crate) fn trouble(&self, source: Source, error: &Error) {
        tracing::debug!(side = ?source.0, kind = %source.1, %error, "cannot look");
        if self.is_leaving && source.0 == Side::Shoot {
            // Its API server is on its way out, or was dead before.
            return;
        }
        let mut troubles = self.troubles.lock().unwrap_or_else(|it| it.into_inner());
        let trouble = troubles
            .entry(source)
            .or_insert_with(|| (Instant::now(), String::new()));
        trouble.1 = error.to_string();
        self.tell_health(&troubles);
    }

    pub(crate) fn fine(&self, source: Source) {
        let mut troubles = self.troubles.lock().unwrap_or_else(|it| it.into_inner());
        if troubles.remove(&source).is_some() {
            self.tell_health(&troubles);
        }
    }

    fn tell_health(&self, troubles: &BTreeMap<Source, (Instant, String)>) {
        let oldest = troubles.values().min_by_key(|(since, _)| *since);
        let health = oldest.map(|(since, text)| {
            let seconds = since.elapsed().as_secs();
            format!("cannot look since {seconds} s: {text}")
        });
        self.health.send_replace(health);
    }

    pub(crate) fn publish(&self) {
        let (facts, changes) = {
            let (world, changes) = &mut *self.world();
            (world.facts(self.started.elapsed()), *changes)
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
            sleep(TOGETHER).await;
        }
    }

    /// With the number of changes so far.
    fn world(&self) -> MutexGuard<'_, (World, u64)> {
        // Nothing in there panics half way through a change.
        self.world.lock().unwrap_or_else(|it| it.into_inner())
    }
}
