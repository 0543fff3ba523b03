//! State of the items reported so far.

use super::percentage::percent;
use super::short_names::subject;
use crate::flow::ItemStatus;
use crate::state::plan::ItemKind;
use crate::ui::format::relative_time::elapsed;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

/// Time after which a percentage that has not changed is shown as such.
const STALL: Duration = Duration::from_secs(30);

#[derive(Debug, Default)]
pub(super) struct ItemTracker {
    items: BTreeMap<String, TrackedItem>,
    /// Status of machines and other objects by name, since machines may swap their slots.
    subjects: HashMap<String, ItemStatus>,
    /// Number of items reported so far, the position of the next one.
    count: usize,
}

#[derive(Debug, Clone)]
pub(super) struct TrackedItem {
    pub(super) kind: ItemKind,
    pub(super) title: String,
    pub(super) status: ItemStatus,
    pub(super) why: Option<String>,
    /// Start of the item, or its first report if it is not running.
    pub(super) since: Duration,
    /// When status or reason last changed.
    changed: Duration,
    order: usize,
}

/// Number of ready machines of a pool, and of all its machines.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct PoolProgress {
    pub(super) ready: usize,
    pub(super) all: usize,
}

impl ItemTracker {
    /// Stores the state of an item and returns the previous one.
    pub(super) fn update(
        &mut self,
        at: Duration,
        (id, kind): (&str, &ItemKind),
        title: &str,
        status: ItemStatus,
        why: Option<&str>,
    ) -> Option<TrackedItem> {
        let before = self.items.get(id).cloned();
        let still_running = before
            .as_ref()
            .filter(|it| it.is_running() && is_running(status));
        let order = before.as_ref().map_or(self.count, |it| it.order);
        self.count += usize::from(before.is_none());
        let now = TrackedItem {
            kind: kind.clone(),
            title: title.to_owned(),
            status,
            why: why.map(str::to_owned),
            since: still_running.map_or(at, |it| it.since),
            changed: before
                .as_ref()
                .filter(|it| it.status == status && it.why.as_deref() == why)
                .map_or(at, |it| it.changed),
            order,
        };
        self.items.insert(id.to_owned(), now);
        before
    }

    /// Stores the status of the subject of an item and returns the previous one. Blocked subjects have no status yet.
    pub(super) fn update_subject(
        &mut self,
        kind: &ItemKind,
        title: &str,
        status: ItemStatus,
    ) -> Option<ItemStatus> {
        let subject = subject(kind, title);
        match status {
            ItemStatus::Blocked => self.subjects.get(subject).copied(),
            _ => self.subjects.insert(subject.to_owned(), status),
        }
    }

    /// Stores the cause of a retry; returns the item if the cause is new.
    pub(super) fn retried(&mut self, id: &str, cause: &str) -> Option<&TrackedItem> {
        let item = self.items.get_mut(id)?;
        let is_new = item.why.as_deref() != Some(cause);
        item.why = Some(cause.to_owned());
        is_new.then_some(item)
    }

    pub(super) fn remove(&mut self, id: &str) -> Option<TrackedItem> {
        let item = self.items.remove(id)?;
        // The name may be reused.
        self.subjects.remove(item.subject());
        if let ItemKind::Deletion { key, .. } = &item.kind {
            self.subjects.remove(&*key.name);
        }
        Some(item)
    }

    /// Running items, in the order of the plan.
    pub(super) fn running(&self) -> Vec<&TrackedItem> {
        let mut running: Vec<_> = self.items.values().filter(|it| it.is_running()).collect();
        running.sort_by_key(|it| it.order);
        running
    }

    /// The item that has been running longest, the first of the plan if there are several.
    pub(super) fn longest(&self) -> Option<&TrackedItem> {
        self.running().into_iter().min_by_key(|it| it.since)
    }

    /// The item whose request has had no response for the longest time.
    pub(super) fn longest_working(&self) -> Option<&TrackedItem> {
        let working = self.items.values();
        let working = working.filter(|it| it.status == ItemStatus::Working);
        working.min_by_key(|it| (it.since, it.order))
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
    pub(super) fn is_running(&self) -> bool {
        is_running(self.status)
    }

    /// The reason; of a percentage that has not changed for a while, with that time.
    pub(super) fn why_at(&self, now: Duration) -> Option<String> {
        let why = self.why.as_ref()?;
        let unchanged = now.saturating_sub(self.changed);
        let is_stalled = unchanged >= STALL && percent(why).is_some();
        Some(match is_stalled {
            true => format!("{why}, unchanged for {}", elapsed(unchanged)),
            false => why.clone(),
        })
    }

    /// Pool of the machine, if the item is one.
    pub(super) fn pool(&self) -> Option<&str> {
        match &self.kind {
            ItemKind::Machine(slot) => Some(&slot.pool),
            _ => None,
        }
    }

    /// The machine that the item is about, else the title.
    pub(super) fn subject(&self) -> &str {
        subject(&self.kind, &self.title)
    }
}

pub(super) fn is_running(status: ItemStatus) -> bool {
    matches!(status, ItemStatus::Working | ItemStatus::Waiting)
}
