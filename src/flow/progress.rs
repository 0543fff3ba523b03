//! What changed between two plans, as a person follows it.

use super::event::{EventKind, Status};
use crate::state::plan::{Item, ItemId, ItemState, Plan};
use std::collections::{HashMap, HashSet};

/// "31 of 44", and which item was told what.
///
/// An item that vanished was finished, so neither number shrinks unless something that was done comes undone.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    told: HashMap<ItemId, Told>,
    /// Every item of this run, those that vanished included.
    seen: HashSet<ItemId>,
    numbers: (usize, usize),
}

#[derive(Debug, PartialEq)]
struct Told {
    title: String,
    status: Status,
    why: Option<String>,
    round: u64,
}

impl Progress {
    /// The events that tell `plan`, in its order.
    pub(crate) fn update(&mut self, plan: &Plan, round: u64) -> Vec<EventKind> {
        let mut events: Vec<EventKind> = plan
            .items
            .iter()
            .filter_map(|it| self.item(it, round))
            .collect();
        let vanished: Vec<ItemId> = self
            .told
            .iter()
            .filter(|it| it.1.round != round)
            .map(|it| it.0.clone())
            .collect();
        for id in vanished {
            self.told.remove(&id);
            events.push(EventKind::ItemGone { id: id.to_string() });
        }
        let open = plan
            .items
            .iter()
            .filter(|it| it.state != ItemState::Done)
            .count();
        let (done, total) = (self.seen.len() - open, self.seen.len());
        if self.numbers != (done, total) {
            self.numbers = (done, total);
            events.push(EventKind::Progress { done, total });
        }
        events
    }

    pub(crate) fn numbers(&self) -> (usize, usize) {
        self.numbers
    }

    fn item(&mut self, item: &Item, round: u64) -> Option<EventKind> {
        let (status, why) = look(&item.state);
        let told = Told {
            title: item.title.clone(),
            status,
            why,
            round,
        };
        let before = self.told.get_mut(&item.id);
        if let Some(before) = before
            && (&before.title, before.status, &before.why) == (&told.title, told.status, &told.why)
        {
            before.round = round;
            return None;
        }
        let event = EventKind::Item {
            id: item.id.to_string(),
            title: told.title.clone(),
            status,
            why: told.why.clone(),
        };
        self.seen.insert(item.id.clone());
        self.told.insert(item.id.clone(), told);
        Some(event)
    }
}

fn look(state: &ItemState) -> (Status, Option<String>) {
    match state {
        ItemState::Done => (Status::Done, None),
        ItemState::Due(_) => (Status::Working, None),
        ItemState::Waiting(why) => (Status::Waiting, Some(why.clone())),
        ItemState::Blocked => (Status::Blocked, None),
        ItemState::Failed(failure) => (Status::Failed, Some(failure.message.clone())),
    }
}
