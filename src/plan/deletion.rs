//! State and title of an item that deletes an object.

use crate::state::action::{Action, DeleteTarget};
use crate::state::facts::ObservedObject;
use crate::state::key::{ObjectKey, ObjectKind};
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
    let what = match key.kind {
        ObjectKind::Record => "record",
        ObjectKind::NetworkAttachmentDefinition => "network",
        ObjectKind::ImageVolume => "image",
        ObjectKind::Instancetype => "instancetype",
        ObjectKind::Preference => "preference",
        ObjectKind::UserData => "user data of machine",
        ObjectKind::Machine => "machine",
        ObjectKind::Node => "node",
        ObjectKind::BootstrapToken => "bootstrap token",
        ObjectKind::ShootLoadBalancer => "load balancer",
        ObjectKind::ProviderLoadBalancer => "leftover load balancer",
        ObjectKind::ProviderDataVolume => "leftover volume",
        ObjectKind::VolumeSnapshot => "leftover snapshot",
        _ => return format!("Delete {key}"),
    };
    format!("Delete {what} {}", key.name)
}
