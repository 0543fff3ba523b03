use super::super::plain_lines::PlainLines;
use super::script::{at, failure, finish, item, item_of, midway, start};
use crate::flow::{EventKind, ItemStatus, RunEvent};
use crate::state::key::{ObjectKey, ObjectKind};
use crate::state::plan::{ItemKind, MachineItem, MachineStep, REQUEST_SENT};
use crate::ui::Style;
use snapbox::{assert_data_eq, str};
use std::time::Duration;

/// Prints a run, with one tick per second between events.
fn check(events: impl IntoIterator<Item = RunEvent>, until: u64) -> String {
    let mut lines = PlainLines::new(Style { on: false });
    let mut text = String::new();
    let mut second = 1;
    for event in events {
        while Duration::from_secs(second) <= event.at {
            text += &lines.tick(Duration::from_secs(second));
            second += 1;
        }
        text += &lines.event(&event);
    }
    (second..=until).fold(text, |text, second| {
        text + &lines.tick(Duration::from_secs(second))
    })
}

#[test]
fn a_failed_run() {
    let events = [start(), midway(), failure()].concat();
    assert_data_eq!(
        check(events, 0),
        str![[r#"
+00:00  apply    dev in namespace ci
+00:00  working  Apply network tenant-a
+00:00  working  Import image ubuntu 24.04
+00:00  done     Apply network tenant-a
+00:06  waiting  Import image ubuntu 24.04: 9% (0.2/2.4 GiB)
+00:36  still    Import image ubuntu 24.04 (36s): 14% (0.3/2.4 GiB)
+00:41  done     Import image ubuntu 24.04
+00:41  working  Create machine worker-z1-3fa2c-0 in zone zone-1
+00:41  working  Create machine worker-z2-3fa2c-0 in zone zone-2
+00:41  working  Create machine worker-z3-3fa2c-0 in zone zone-3
+00:41  retry    Create machine worker-z2-3fa2c-0 in zone zone-2: the API server is busy (429), retrying in 2s
+00:47  waiting  Start machine worker-z1-3fa2c-0: VirtualMachine worker-z1-3fa2c-0: DataVolume is Pending, StorageClass fast has no provisioner
+00:49  waiting  Start machine worker-z2-3fa2c-0: the node has not joined (and 1 more)
+01:11  done     Machine worker-z2-3fa2c-0 runs
+01:41  still    Start machine worker-z1-3fa2c-0 (59s): VirtualMachine worker-z1-3fa2c-0: DataVolume is Pending, StorageClass fast has no provisioner (and 1 more)
+02:10  failed   Start machine worker-z1-3fa2c-0: VirtualMachine worker-z1-3fa2c-0: DataVolume is Pending, StorageClass fast has no provisioner
+02:11  done     Machine worker-z3-3fa2c-0 runs
+02:11  Failed after 2m11s: start machine shoot--local--dev-worker-z1-3fa2c-0: DataVolume is Pending
To resume: kvshoot apply -f shoot.yaml

"#]]
    );
}

#[test]
fn a_run_with_too_many_items_does_not_list_all_of_them() {
    let events = (0..10_500).map(|it| {
        let title = format!("Delete Secret {it}");
        item(0.0, &it.to_string(), &title, ItemStatus::Working, "")
    });
    let text = check(events, 0);
    assert_eq!(text.lines().count(), 10_001);
    assert!(text.ends_with("+00:00  note     there are too many changes to list all of them\n"));
}

#[test]
fn a_successful_run() {
    let events = [start(), midway(), finish()].concat();
    assert_data_eq!(
        check(events, 0),
        str![[r#"
+00:00  apply    dev in namespace ci
+00:00  working  Apply network tenant-a
+00:00  working  Import image ubuntu 24.04
+00:00  done     Apply network tenant-a
+00:06  waiting  Import image ubuntu 24.04: 9% (0.2/2.4 GiB)
+00:36  still    Import image ubuntu 24.04 (36s): 14% (0.3/2.4 GiB)
+00:41  done     Import image ubuntu 24.04
+00:41  working  Create machine worker-z1-3fa2c-0 in zone zone-1
+00:41  working  Create machine worker-z2-3fa2c-0 in zone zone-2
+00:41  working  Create machine worker-z3-3fa2c-0 in zone zone-3
+00:41  retry    Create machine worker-z2-3fa2c-0 in zone zone-2: the API server is busy (429), retrying in 2s
+00:47  waiting  Start machine worker-z1-3fa2c-0: VirtualMachine worker-z1-3fa2c-0: DataVolume is Pending, StorageClass fast has no provisioner
+00:49  waiting  Start machine worker-z2-3fa2c-0: the node has not joined (and 1 more)
+01:11  done     Machine worker-z2-3fa2c-0 runs
+01:41  still    Start machine worker-z1-3fa2c-0 (59s): VirtualMachine worker-z1-3fa2c-0: DataVolume is Pending, StorageClass fast has no provisioner (and 1 more)
+02:10  done     Machine worker-z1-3fa2c-0 runs
+02:11  done     Machine worker-z3-3fa2c-0 runs
+02:11  Created shoot dev in 2m11s (3/3 nodes ready)

"#]]
    );
}

#[test]
fn percentages_are_printed_every_ten_percent_and_at_most_every_five_seconds() {
    let import = |second: u32| {
        let why = format!(
            "{} % imported ({}.0/50.0 GiB, 31 MiB/s)",
            second * 2,
            second
        );
        item(
            second.into(),
            "image/a",
            "Import image a",
            ItemStatus::Waiting,
            &why,
        )
    };
    assert_data_eq!(
        check((0..=50).map(import), 0),
        str![[r#"
+00:05  waiting  Import image a: 8 % imported (4.0/50.0 GiB, 31 MiB/s)
+00:10  waiting  Import image a: 18 % imported (9.0/50.0 GiB, 31 MiB/s)
+00:15  waiting  Import image a: 28 % imported (14.0/50.0 GiB, 31 MiB/s)
+00:20  waiting  Import image a: 38 % imported (19.0/50.0 GiB, 31 MiB/s)
+00:25  waiting  Import image a: 48 % imported (24.0/50.0 GiB, 31 MiB/s)
+00:30  waiting  Import image a: 58 % imported (29.0/50.0 GiB, 31 MiB/s)
+00:35  waiting  Import image a: 68 % imported (34.0/50.0 GiB, 31 MiB/s)
+00:40  waiting  Import image a: 78 % imported (39.0/50.0 GiB, 31 MiB/s)
+00:45  waiting  Import image a: 88 % imported (44.0/50.0 GiB, 31 MiB/s)
+00:50  waiting  Import image a: 98 % imported (49.0/50.0 GiB, 31 MiB/s)

"#]]
    );
}

#[test]
fn the_longest_running_item_is_printed_every_thirty_seconds() {
    let waiting = |at, id: &str| {
        item(
            at,
            id,
            &format!("Machine {id}"),
            ItemStatus::Waiting,
            "it boots",
        )
    };
    assert_data_eq!(
        check([waiting(0.0, "a"), waiting(2.0, "b")], 100),
        str![[r#"
+00:05  waiting  Machine a: it boots
+00:07  waiting  Machine b: it boots
+00:37  still    Machine a (37s): it boots (and 1 more)
+01:07  still    Machine a (1m07s): it boots (and 1 more)
+01:37  still    Machine a (1m37s): it boots (and 1 more)

"#]]
    );
}

#[test]
fn a_request_without_a_response_is_printed_every_four_seconds() {
    let working = item(0.0, "a", "Apply a", ItemStatus::Working, "");
    assert_data_eq!(
        check([working], 10),
        str![[r#"
+00:00  working  Apply a
+00:04  still    Apply a (4s)
+00:08  still    Apply a (8s)

"#]]
    );
}

#[test]
fn a_percentage_that_does_not_change_is_reported_with_its_age() {
    let import = |at, why| item(at, "image/a", "Import image a", ItemStatus::Waiting, why);
    assert_data_eq!(
        check(
            [import(0.0, "import at 3%"), import(6.0, "import at 12%")],
            75
        ),
        str![[r#"
+00:05  waiting  Import image a: import at 3%
+00:35  still    Import image a (35s): import at 12%
+01:05  still    Import image a (1m05s): import at 12%, unchanged for 59s

"#]]
    );
}

#[test]
fn machines_that_swap_slots_are_printed_once() {
    let machine = |at, slot: usize, (name, title): (&str, &str), status, why| {
        let kind = ItemKind::Machine(MachineItem {
            pool: "worker".into(),
            zone: 0,
            zone_name: "a".into(),
            slot,
            machine: Some(name.into()),
            step: MachineStep::Start,
        });
        item_of(at, kind, title, status, why)
    };
    let deleted = ObjectKey::provider(ObjectKind::Machine, "a-0");
    let events = [
        machine(0.0, 0, ("a-0", "Machine a-0 runs"), ItemStatus::Done, ""),
        machine(
            0.0,
            1,
            ("a-1", "Create machine a-1 in zone a"),
            ItemStatus::Working,
            "",
        ),
        machine(
            0.1,
            1,
            ("a-1", "Create machine a-1"),
            ItemStatus::Waiting,
            REQUEST_SENT,
        ),
        machine(
            0.2,
            1,
            ("a-1", "Start machine a-1"),
            ItemStatus::Waiting,
            "Starting",
        ),
        machine(2.0, 0, ("a-1", "Machine a-1 runs"), ItemStatus::Done, ""),
        machine(2.0, 1, ("a-0", "Machine a-0 runs"), ItemStatus::Done, ""),
        item_of(
            3.0,
            ItemKind::deletion(&deleted, &"u".into()),
            "Delete machine a-0",
            ItemStatus::Working,
            "",
        ),
        at(
            4.0,
            EventKind::ItemGone {
                id: "remove/u".to_owned(),
            },
        ),
    ];
    assert_data_eq!(
        check(events, 20),
        str![[r#"
+00:00  working  Create machine a-1 in zone a
+00:02  done     Machine a-1 runs
+00:03  working  Delete machine a-0
+00:04  deleted  Machine a-0

"#]]
    );
}

#[test]
fn machines_of_the_same_name_in_several_shoots_are_printed_each() {
    let machine = |seconds, shoot: &str, status| {
        let name = format!("shoot--local--{shoot}-worker-z1-0");
        let title = match status {
            ItemStatus::Working => format!("{shoot}: Create machine {name}"),
            _ => format!("{shoot}: Machine {name} runs"),
        };
        let kind = ItemKind::Machine(MachineItem {
            pool: "worker".into(),
            zone: 0,
            zone_name: "zone-1".into(),
            slot: 0,
            machine: Some(name.into()),
            step: MachineStep::Create,
        });
        let event = item_of(seconds, kind, &title, status, "");
        let EventKind::Item {
            id, kind, title, ..
        } = event.kind
        else {
            unreachable!("it is an item");
        };
        let id = format!("{shoot}/{id}");
        let kind = EventKind::Item {
            id,
            kind,
            title,
            status,
            why: None,
        };
        at(seconds, kind)
    };
    let started = EventKind::RunStarted {
        verb: "apply",
        shoot: "2 shoots".to_owned(),
        technical_ids: vec!["shoot--local--a".to_owned(), "shoot--local--b".to_owned()],
        namespace: "ci".to_owned(),
    };
    let events = [
        at(0.0, started),
        machine(1.0, "a", ItemStatus::Working),
        machine(1.0, "b", ItemStatus::Working),
        machine(2.0, "b", ItemStatus::Done),
        machine(3.0, "a", ItemStatus::Done),
    ];
    assert_data_eq!(
        check(events, 0),
        str![[r#"
+00:00  apply    2 shoots in namespace ci
+00:01  working  a: Create machine worker-z1-0
+00:01  working  b: Create machine worker-z1-0
+00:02  done     b: Machine worker-z1-0 runs
+00:03  done     a: Machine worker-z1-0 runs

"#]]
    );
}

#[test]
fn notes_and_interrupts_are_printed() {
    let events = [
        at(
            1.0,
            EventKind::Note {
                text: "the lock of a terminated run was released".to_owned(),
            },
        ),
        at(2.0, EventKind::Interrupted),
        at(
            3.0,
            EventKind::RunFinished {
                exit_code: 130,
                outcome: "interrupted",
                summary: "Interrupted after 3s (3 of 6 items done)".to_owned(),
                hint: None,
                resume: Some("kvshoot apply -f shoot.yaml".to_owned()),
            },
        ),
    ];
    assert_data_eq!(
        check(events, 0),
        str![[r#"
+00:01  note     the lock of a terminated run was released
+00:02  stop     Interrupted. Finishing current operations; interrupt again to exit now.
+00:03  Interrupted after 3s (3 of 6 items done)
To resume: kvshoot apply -f shoot.yaml

"#]]
    );
}
