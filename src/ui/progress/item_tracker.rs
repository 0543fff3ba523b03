//! What was told of the items so far.

use super::short_names::subject;
use crate::flow::ItemStatus;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

#[derive(Debug, Default)]
pub(super) struct ItemTracker {
    items: BTreeMap<String, TrackedItem>,
    /// Machines and other things by their own name: items may swap places.
    subjects: HashMap<String, ItemStatus>,
    /// How many were ever told of: the next one's place in the order.
    told: usize,
}

#[derive(Debug, Clone)]
pub(super) struct TrackedItem {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) status: ItemStatus,
    pub(super) why: Option<String>,
    /// When it began to run, or was told of for the first time.
    pub(super) since: Duration,
    order: usize,
}

/// Machines of one pool that are as they should be, and all of them.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct PoolProgress {
    pub(super) ready: usize,
    pub(super) all: usize,
}

impl ItemTracker {
    /// Takes over the state of an item, and gives what it was before.
    pub(super) fn take(
        &mut self,
        at: Duration,
        id: &str,
        title: &str,
        status: ItemStatus,
        why: Option<&str>,
    ) -> Option<TrackedItem> {
        let before = self.items.get(id).cloned();
        let goes_on = before.as_ref().filter(|it| it.runs() && runs(status));
        let order = before.as_ref().map_or(self.told, |it| it.order);
        self.told += usize::from(before.is_none());
        let now = TrackedItem {
            id: id.to_owned(),
            title: title.to_owned(),
            status,
            why: why.map(str::to_owned),
            since: goes_on.map_or(at, |it| it.since),
            order,
        };
        self.items.insert(id.to_owned(), now);
        before
    }

    /// Takes over the state of what a title is about, and gives what it was before.
    ///
    /// What is held back has no state of its own yet.
    pub(super) fn subject(&mut self, title: &str, status: ItemStatus) -> Option<ItemStatus> {
        let subject = subject(title);
        match status {
            ItemStatus::Blocked => self.subjects.get(subject).copied(),
            _ => self.subjects.insert(subject.to_owned(), status),
        }
    }

    /// Takes over why an item that runs is not through yet, and gives it if that is news.
    pub(super) fn retried(&mut self, id: &str, cause: &str) -> Option<&TrackedItem> {
        let item = self.items.get_mut(id)?;
        let news = item.why.as_deref() != Some(cause);
        item.why = Some(cause.to_owned());
        news.then_some(item)
    }

    pub(super) fn gone(&mut self, id: &str) -> Option<TrackedItem> {
        let item = self.items.remove(id)?;
        // Another one may take its name.
        self.subjects.remove(subject(&item.title));
        if id.starts_with("remove/") {
            let name = item.title.rsplit(' ').next().unwrap_or_default();
            self.subjects.remove(name);
        }
        Some(item)
    }

    /// In the order in which they were first told of, which is that of the plan.
    pub(super) fn running(&self) -> Vec<&TrackedItem> {
        let mut running: Vec<_> = self.items.values().filter(|it| it.runs()).collect();
        running.sort_by_key(|it| it.order);
        running
    }

    /// What runs longest, the first of the plan if several do.
    pub(super) fn longest(&self) -> Option<&TrackedItem> {
        self.running().into_iter().min_by_key(|it| it.since)
    }

    pub(super) fn pools(&self) -> BTreeMap<&str, PoolProgress> {
        let mut pools: BTreeMap<&str, PoolProgress> = BTreeMap::new();
        for item in self.items.values() {
            if let Some(pool) = item.pool() {
                let counts = pools.entry(pool).or_default();
                counts.all += 1;
                counts.ready += usize::from(item.status == ItemStatus::Done);
            }
        }
        pools
    }
}

impl TrackedItem {
    pub(super) fn runs(&self) -> bool {
        runs(self.status)
    }

    pub(super) fn pool(&self) -> Option<&str> {
        let (pool, place) = self.id.strip_prefix("machine/")?.split_once('/')?;
        place.starts_with('z').then_some(pool)
    }
}

pub(super) fn runs(status: ItemStatus) -> bool {
    matches!(status, ItemStatus::Working | ItemStatus::Waiting)
}
