//! A plan as a value: its items, in order, with their states.

use crate::state::action::Action;
use crate::state::failure::Failure;
use crate::state::key::ObjectKey;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Names the thing wanted, not how it is done, so it outlives a replaced machine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ItemId(pub(crate) Arc<str>);

/// An item already in the plan. Only [`Plan::push`] makes one, so no cycle can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dependency(u32);

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Item {
    pub(crate) id: ItemId,
    /// A sentence that the person sees.
    pub(crate) title: String,
    pub(crate) needs: Arc<[Dependency]>,
    pub(crate) state: ItemState,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ItemState {
    Done,
    /// May be done now.
    Due(Action),
    /// The world is at it; says at what.
    Waiting(String),
    /// Due, but a need or a bound holds it back. Keeps no run alive.
    Blocked,
    Failed(Failure),
}

#[derive(Debug, Default, PartialEq)]
pub(crate) struct Plan {
    pub(crate) items: Vec<Item>,
    /// When time alone would change the plan, since the run began.
    pub(crate) wake: Option<Duration>,
    /// What components consist of: whatever else is there of their kinds is to go.
    pub(crate) parts: HashSet<ObjectKey>,
}

impl Plan {
    /// Adds an item, whose needs are all in the plan already.
    pub(crate) fn push(&mut self, item: Item) -> Dependency {
        self.items.push(item);
        Dependency(
            u32::try_from(self.items.len() - 1)
                .expect("fewer items than machines that a cluster can hold"),
        )
    }

    pub(crate) fn is_done(&self, need: Dependency) -> bool {
        self.items[need.0 as usize].state == ItemState::Done
    }

    pub(crate) fn item(&self, need: Dependency) -> &Item {
        &self.items[need.0 as usize]
    }

    pub(crate) fn wake_at(&mut self, at: Duration) {
        self.wake = Some(self.wake.map_or(at, |it| it.min(at)));
    }
}

impl From<String> for ItemId {
    fn from(text: String) -> ItemId {
        ItemId(text.into())
    }
}

impl fmt::Display for ItemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
