//! A plan as a value: its items, in order, with their states.

use crate::state::action::Action;
use crate::state::failure::Failure;
use crate::state::key::Key;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Names the thing wanted, not how it is done, so it outlives a replaced machine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Id(pub(crate) Arc<str>);

/// An item already in the plan. Only [`Plan::push`] makes one, so no cycle can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Need(u32);

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Item {
    pub(crate) id: Id,
    /// A sentence that the person sees.
    pub(crate) title: String,
    pub(crate) needs: Arc<[Need]>,
    pub(crate) state: State,
}

/// Reason of an item whose request is in flight. Screens for people leave it out.
pub(crate) const REQUEST_SENT: &str = "request sent";

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum State {
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
    pub(crate) parts: HashSet<Key>,
}

impl Plan {
    /// Adds an item, whose needs are all in the plan already.
    pub(crate) fn push(&mut self, item: Item) -> Need {
        self.items.push(item);
        Need(
            u32::try_from(self.items.len() - 1)
                .expect("fewer items than machines that a cluster can hold"),
        )
    }

    pub(crate) fn is_done(&self, need: Need) -> bool {
        self.items[need.0 as usize].state == State::Done
    }

    pub(crate) fn item(&self, need: Need) -> &Item {
        &self.items[need.0 as usize]
    }

    pub(crate) fn wake_at(&mut self, at: Duration) {
        self.wake = Some(self.wake.map_or(at, |it| it.min(at)));
    }
}

impl From<String> for Id {
    fn from(text: String) -> Id {
        Id(text.into())
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
