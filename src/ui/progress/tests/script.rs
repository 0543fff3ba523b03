//! Sample runs as lists of events.

use crate::flow::{EventKind, ItemStatus, RunEvent};
use crate::state::plan::{ItemKind, MachineItem, MachineStep};
use std::time::Duration;

pub(super) fn at(seconds: f64, kind: EventKind) -> RunEvent {
    RunEvent {
        at: Duration::from_secs_f64(seconds),
        kind,
    }
}

pub(super) fn item(seconds: f64, id: &str, title: &str, status: ItemStatus, why: &str) -> RunEvent {
    item_of(seconds, id.to_owned().into(), title, status, why)
}

pub(super) fn item_of(
    seconds: f64,
    kind: ItemKind,
    title: &str,
    status: ItemStatus,
    why: &str,
) -> RunEvent {
    at(
        seconds,
        EventKind::Item {
            id: kind.id().to_string(),
            kind,
            title: title.to_owned(),
            status,
            why: (!why.is_empty()).then(|| why.to_owned()),
        },
    )
}

pub(super) fn progress(seconds: f64, done: usize, total: usize) -> RunEvent {
    at(seconds, EventKind::Progress { done, total })
}

const IMAGE: &str = "Import image ubuntu 24.04";
const PENDING: &str = "VirtualMachine shoot--local--dev-worker-z1-3fa2c-0: DataVolume is Pending, \
     StorageClass fast has no provisioner";

pub(super) fn machine(seconds: f64, place: usize, status: ItemStatus, why: &str) -> RunEvent {
    let name = format!("shoot--local--dev-worker-z{place}-3fa2c-0");
    let title = match status {
        ItemStatus::Blocked => format!("Create a machine of pool worker in zone zone-{place}"),
        ItemStatus::Working => format!("Create machine {name} in zone zone-{place}"),
        ItemStatus::Waiting | ItemStatus::Failed => format!("Start machine {name}"),
        ItemStatus::Done => format!("Machine {name} runs"),
    };
    let kind = ItemKind::Machine(MachineItem {
        pool: "worker".into(),
        zone: place - 1,
        zone_name: format!("zone-{place}").into(),
        slot: 1,
        machine: (status != ItemStatus::Blocked).then_some(name.into()),
        step: match status {
            ItemStatus::Blocked | ItemStatus::Working => MachineStep::Create,
            _ => MachineStep::Start,
        },
    });
    item_of(seconds, kind, &title, status, why)
}

/// A run until the image import has begun.
pub(super) fn start() -> Vec<RunEvent> {
    vec![
        at(
            0.0,
            EventKind::RunStarted {
                verb: "apply",
                shoot: "dev".to_owned(),
                technical_ids: vec!["shoot--local--dev".to_owned()],
                namespace: "ci".to_owned(),
            },
        ),
        progress(0.0, 1, 6),
        item(0.0, "record", "Record shoot dev", ItemStatus::Done, ""),
        item(
            0.0,
            "network/tenant-a",
            "Apply network tenant-a",
            ItemStatus::Working,
            "",
        ),
        item(0.0, "image/ubuntu", IMAGE, ItemStatus::Working, ""),
        machine(0.0, 1, ItemStatus::Blocked, "needs the image"),
        machine(0.0, 2, ItemStatus::Blocked, "needs the image"),
        machine(0.0, 3, ItemStatus::Blocked, "needs the image"),
        item(
            0.4,
            "network/tenant-a",
            "Apply network tenant-a",
            ItemStatus::Done,
            "",
        ),
        progress(0.4, 2, 6),
        item(
            1.0,
            "image/ubuntu",
            IMAGE,
            ItemStatus::Waiting,
            "3% (0.1/2.4 GiB)",
        ),
        item(
            3.0,
            "image/ubuntu",
            IMAGE,
            ItemStatus::Waiting,
            "9% (0.2/2.4 GiB)",
        ),
        item(
            7.0,
            "image/ubuntu",
            IMAGE,
            ItemStatus::Waiting,
            "12% (0.3/2.4 GiB)",
        ),
        item(
            8.0,
            "image/ubuntu",
            IMAGE,
            ItemStatus::Waiting,
            "14% (0.3/2.4 GiB)",
        ),
    ]
}

/// The run until one of three machines is ready.
pub(super) fn midway() -> Vec<RunEvent> {
    vec![
        item(41.0, "image/ubuntu", IMAGE, ItemStatus::Done, ""),
        progress(41.0, 3, 6),
        machine(41.1, 1, ItemStatus::Working, ""),
        machine(41.1, 2, ItemStatus::Working, ""),
        machine(41.1, 3, ItemStatus::Working, ""),
        at(
            41.3,
            EventKind::Retried {
                id: "machine/worker/z2/1".to_owned(),
                cause: "the API server is busy (429)".to_owned(),
                again: Duration::from_secs(2),
            },
        ),
        machine(42.0, 1, ItemStatus::Waiting, PENDING),
        machine(43.5, 2, ItemStatus::Waiting, "the node has not joined"),
        machine(43.6, 3, ItemStatus::Waiting, "the node has not joined"),
        machine(71.0, 2, ItemStatus::Done, ""),
        progress(71.0, 4, 6),
    ]
}

pub(super) fn failure() -> Vec<RunEvent> {
    vec![
        machine(130.0, 1, ItemStatus::Failed, PENDING),
        machine(131.0, 3, ItemStatus::Done, ""),
        progress(131.0, 5, 6),
        at(
            131.0,
            EventKind::RunFinished {
                exit_code: 9,
                outcome: "failed",
                summary: "Failed after 2m11s: start machine shoot--local--dev-worker-z1-3fa2c-0: DataVolume is Pending".to_owned(),
                hint: None,
                resume: Some("kvshoot apply -f shoot.yaml".to_owned()),
            },
        ),
    ]
}

pub(super) fn finish() -> Vec<RunEvent> {
    vec![
        machine(130.0, 1, ItemStatus::Done, ""),
        machine(131.0, 3, ItemStatus::Done, ""),
        progress(131.0, 6, 6),
        at(
            131.0,
            EventKind::RunFinished {
                exit_code: 0,
                outcome: "converged",
                summary: "Created shoot dev in 2m11s (3/3 nodes ready)".to_owned(),
                hint: None,
                resume: None,
            },
        ),
    ]
}
