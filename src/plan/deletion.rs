//! Deletion of an object: its state and its title.

use crate::state::action::{Action, Target};
use crate::state::facts::Object;
use crate::state::key::{Key, Kind};
use crate::state::plan::State;

pub(crate) fn removal(key: &Key, object: &Object) -> State {
    if object.leaving {
        return State::Waiting("it to be gone".into());
    }
    State::Due(Action::Delete(Target {
        key: key.clone(),
        uid: object.uid.clone(),
        version: object.version.clone(),
        unless_ready: false,
        drain: None,
        setback: None,
    }))
}

pub(crate) fn title(key: &Key) -> String {
    let what = match key.kind {
        Kind::Record => "record",
        Kind::Network => "network",
        Kind::Image => "image",
        Kind::Instancetype => "instancetype",
        Kind::Preference => "preference",
        Kind::UserData => "user data of machine",
        Kind::Machine => "machine",
        Kind::Node => "node",
        Kind::Token => "bootstrap token",
        Kind::Balancer => "load balancer",
        Kind::Mirror => "what is left of load balancer",
        Kind::Disk => "what is left of volume",
        Kind::Snapshot => "what is left of snapshot",
        _ => return format!("Remove {key}"),
    };
    format!("Remove {what} {}", key.name)
}
