//! State and title of an item that deletes an object.

use crate::state::action::{Action, DeleteTarget};
use crate::state::facts::ObservedObject;
use crate::state::key::ObjectKey;
use crate::state::plan::ItemState;

pub(crate) fn removal(key: &ObjectKey, object: &ObservedObject) -> ItemState {
    if object.leaving {
        return ItemState::Waiting(format!("{key} is terminating"));
    }
    ItemState::Due(Action::Delete(DeleteTarget {
        key: key.clone(),
        uid: object.uid.clone(),
        version: object.version.clone(),
        unless_ready: false,
        drain: None,
        zone_failure: None,
    }))
}

pub(crate) fn title(key: &ObjectKey) -> String {
    format!("Delete {}", key.in_words())
}
