//! Turns successive plans into events.

use super::event::{EventKind, ItemStatus};
use crate::state::facts::Facts;
use crate::state::plan::{Item, ItemId, ItemKind, ItemState, Plan};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Last reported state of each item, and the number of items done and in total.
///
/// An item that is no longer in the plan counts as done, so the numbers decrease only if a finished item is undone.
#[derive(Debug, Default)]
pub(crate) struct ChangeTracker {
    reported: HashMap<ItemId, ReportedItem>,
    /// All items of the run, including those no longer in the plan.
    known: HashSet<ItemId>,
    numbers: (usize, usize),
}

#[derive(Debug, PartialEq)]
struct ReportedItem {
    title: String,
    status: ItemStatus,
    why: Option<String>,
    /// UID of the object that the item deletes.
    deletes: Option<Arc<str>>,
    /// Number of the last plan that contained the item.
    round: u64,
}

impl ChangeTracker {
    /// Returns the events for the changes since the previous plan, in the order of `plan`, which was made from these facts.
    pub(crate) fn update(&mut self, plan: &Plan, round: u64, facts: &Facts) -> Vec<EventKind> {
        let mut events: Vec<EventKind> = plan
            .items
            .iter()
            .filter_map(|item| self.item(item, round))
            .collect();
        let vanished = self.reported.extract_if(|_, it| it.round != round);
        events.extend(vanished.map(|(id, item)| EventKind::ItemGone {
            id: id.to_string(),
            remains: item.deletes.is_some_and(|it| facts.has_object(&it)),
        }));
        // Not of the plan: the IDs of deletions have UIDs, and a server may give the same one to several objects.
        let reported = self.reported.values();
        let open = reported.filter(|it| it.status != ItemStatus::Done).count();
        let (done, total) = (self.known.len() - open, self.known.len());
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
        let (status, why) = status(&item.state);
        let now = ReportedItem {
            title: item.title.clone(),
            status,
            why,
            deletes: match &item.kind {
                ItemKind::Deletion { uid, .. } => Some(uid.clone()),
                _ => None,
            },
            round,
        };
        let before = self.reported.get_mut(&item.id);
        if let Some(before) = before
            && (&before.title, before.status, &before.why) == (&now.title, now.status, &now.why)
        {
            before.round = round;
            return None;
        }
        let event = EventKind::Item {
            id: item.id.to_string(),
            kind: item.kind.clone(),
            title: now.title.clone(),
            status,
            why: now.why.clone(),
        };
        self.known.insert(item.id.clone());
        self.reported.insert(item.id.clone(), now);
        Some(event)
    }
}

fn status(state: &ItemState) -> (ItemStatus, Option<String>) {
    match state {
        ItemState::Done => (ItemStatus::Done, None),
        ItemState::Due(_) => (ItemStatus::Working, None),
        ItemState::Waiting(why) => (ItemStatus::Waiting, Some(why.clone())),
        ItemState::Blocked => (ItemStatus::Blocked, None),
        ItemState::Failed(failure) => (ItemStatus::Failed, Some(failure.message.clone())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::facts::{ObjectStatus, ObservedObject};
    use crate::state::key::{ObjectKey, ObjectKind};
    use crate::state::testing::object;

    #[test]
    fn a_deletion_that_is_no_longer_planned_leaves_its_object() {
        let key = ObjectKey::provider(ObjectKind::Secret, "a");
        let kind = ItemKind::deletion(&key, &"object".into());
        let mut plan = Plan::default();
        plan.push(Item {
            id: kind.id(),
            kind,
            title: "Delete a".to_owned(),
            needs: [].into(),
            state: ItemState::Blocked,
        });
        let gone = |objects: &[(bool, &str)]| {
            let observed = |(leaving, uid): &(bool, &str)| ObservedObject {
                uid: (*uid).into(),
                leaving: *leaving,
                ..object(ObjectStatus::None)
            };
            let mut facts = Facts::default();
            let mut changes = ChangeTracker::default();
            changes.update(&plan, 1, &facts);
            facts.objects = objects
                .iter()
                .map(|it| (key.clone(), observed(it)))
                .collect();
            let events = changes.update(&Plan::default(), 2, &facts).into_iter();
            let remains = events.filter_map(|event| match event {
                EventKind::ItemGone { remains, .. } => Some(remains),
                _ => None,
            });
            remains.collect::<Vec<bool>>()
        };
        assert_eq!(gone(&[]), [false]);
        assert_eq!(gone(&[(true, "object")]), [false]);
        assert_eq!(gone(&[(false, "another")]), [false]);
        assert_eq!(gone(&[(false, "object")]), [true]);
    }

    #[test]
    fn items_with_the_same_id_are_counted_once() {
        let mut plan = Plan::default();
        for title in ["Delete a", "Delete b"] {
            let kind = ItemKind::Record;
            plan.push(Item {
                id: kind.id(),
                kind,
                title: title.to_owned(),
                needs: [].into(),
                state: ItemState::Blocked,
            });
        }
        let mut changes = ChangeTracker::default();
        for round in 1..=2 {
            changes.update(&plan, round, &Facts::default());
            assert_eq!(changes.numbers(), (0, 1));
        }
        changes.update(&Plan::default(), 3, &Facts::default());
        assert_eq!(changes.numbers(), (1, 1));
    }
}
