//! A plan as a value: its items, in order, with their states.

use crate::state::action::Action;
use crate::state::failure::Failure;
use crate::state::key::ObjectKey;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Stable identifier of an item. Names the desired thing, not the means, so it survives the replacement of a machine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ItemId(pub(crate) Arc<str>);

/// Waiting reason of an item whose request has no answer yet: true of nearly every item, so progress lines leave it out.
pub(crate) const REQUEST_SENT: &str = "request sent, no answer yet";

/// Reference to an item already in the plan. Only [`Plan::push`] creates one, so cycles are impossible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dependency(u32);

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Item {
    pub(crate) id: ItemId,
    /// A sentence shown to the user.
    pub(crate) title: String,
    pub(crate) needs: Arc<[Dependency]>,
    pub(crate) state: ItemState,
}

/// Beginning of the title of an item that creates a machine; the machine's name follows.
pub(crate) const CREATE_MACHINE: &str = "Create machine";

/// Returns the title of an item whose slot is empty. `why` finds the error of an earlier run by it.
pub(crate) fn empty_slot_title(pool: &str, zone: &str) -> String {
    format!("Create a machine of pool {pool} in zone {zone}")
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ItemState {
    Done,
    /// Can be performed now.
    Due(Action),
    /// In progress. The text is a clause that stands alone, such as "VM running, waiting for node to register".
    Waiting(String),
    /// Due, but held back by a dependency or a limit. Keeps no run alive.
    Blocked,
    Failed(Failure),
}

#[derive(Debug, Default, PartialEq)]
pub(crate) struct Plan {
    pub(crate) items: Vec<Item>,
    /// The next time, since the run began, at which time alone changes the plan.
    pub(crate) wake: Option<Duration>,
    /// Objects of all components. Other objects of the same kinds are deleted.
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
