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
+00:05  waiting  Import image ubuntu 24.04: 9% (0.2/2.4 GiB)
+00:09  still    Import image ubuntu 24.04 (9s): 14% (0.3/2.4 GiB)
+00:13  still    Import image ubuntu 24.04 (13s)
+00:17  still    Import image ubuntu 24.04 (17s)
+00:21  still    Import image ubuntu 24.04 (21s)
+00:25  still    Import image ubuntu 24.04 (25s)
+00:29  still    Import image ubuntu 24.04 (29s)
+00:33  still    Import image ubuntu 24.04 (33s)
+00:37  still    Import image ubuntu 24.04 (37s)
+00:41  still    Import image ubuntu 24.04 (41s): 14% (0.3/2.4 GiB), unchanged for 33s
+00:41  done     Import image ubuntu 24.04
+00:41  working  Create machine worker-z1-3fa2c-0 in zone zone-1
+00:41  working  Create machine worker-z2-3fa2c-0 in zone zone-2
+00:41  working  Create machine worker-z3-3fa2c-0 in zone zone-3
+00:41  retry    Create machine worker-z2-3fa2c-0 in zone zone-2: the API server is busy (429), retrying in 2s
+00:46  waiting  Start machine worker-z1-3fa2c-0: VirtualMachine worker-z1-3fa2c-0: DataVolume is Pending, StorageClass fast has no provisioner
+00:48  waiting  Start machine worker-z2-3fa2c-0: the node has not joined (and 1 more)
+00:52  still    Start machine worker-z1-3fa2c-0 (10s) (and 2 more)
+00:56  still    Start machine worker-z1-3fa2c-0 (14s) (and 2 more)
+01:00  still    Start machine worker-z1-3fa2c-0 (18s) (and 2 more)
+01:04  still    Start machine worker-z1-3fa2c-0 (22s) (and 2 more)
+01:08  still    Start machine worker-z1-3fa2c-0 (26s) (and 2 more)
+01:11  done     Machine worker-z2-3fa2c-0 runs
+01:15  still    Start machine worker-z1-3fa2c-0 (33s) (and 1 more)
+01:19  still    Start machine worker-z1-3fa2c-0 (37s): VirtualMachine worker-z1-3fa2c-0: DataVolume is Pending, StorageClass fast has no provisioner (and 1 more)
+01:23  still    Start machine worker-z1-3fa2c-0 (41s) (and 1 more)
+01:27  still    Start machine worker-z1-3fa2c-0 (45s) (and 1 more)
+01:31  still    Start machine worker-z1-3fa2c-0 (49s) (and 1 more)
+01:35  still    Start machine worker-z1-3fa2c-0 (53s) (and 1 more)
+01:39  still    Start machine worker-z1-3fa2c-0 (57s) (and 1 more)
+01:43  still    Start machine worker-z1-3fa2c-0 (1m01s) (and 1 more)
+01:47  still    Start machine worker-z1-3fa2c-0 (1m05s) (and 1 more)
+01:51  still    Start machine worker-z1-3fa2c-0 (1m09s): VirtualMachine worker-z1-3fa2c-0: DataVolume is Pending, StorageClass fast has no provisioner (and 1 more)
+01:55  still    Start machine worker-z1-3fa2c-0 (1m13s) (and 1 more)
+01:59  still    Start machine worker-z1-3fa2c-0 (1m17s) (and 1 more)
+02:03  still    Start machine worker-z1-3fa2c-0 (1m21s) (and 1 more)
+02:07  still    Start machine worker-z1-3fa2c-0 (1m25s) (and 1 more)
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
+00:05  waiting  Import image ubuntu 24.04: 9% (0.2/2.4 GiB)
+00:09  still    Import image ubuntu 24.04 (9s): 14% (0.3/2.4 GiB)
+00:13  still    Import image ubuntu 24.04 (13s)
+00:17  still    Import image ubuntu 24.04 (17s)
+00:21  still    Import image ubuntu 24.04 (21s)
+00:25  still    Import image ubuntu 24.04 (25s)
+00:29  still    Import image ubuntu 24.04 (29s)
+00:33  still    Import image ubuntu 24.04 (33s)
+00:37  still    Import image ubuntu 24.04 (37s)
+00:41  still    Import image ubuntu 24.04 (41s): 14% (0.3/2.4 GiB), unchanged for 33s
+00:41  done     Import image ubuntu 24.04
+00:41  working  Create machine worker-z1-3fa2c-0 in zone zone-1
+00:41  working  Create machine worker-z2-3fa2c-0 in zone zone-2
+00:41  working  Create machine worker-z3-3fa2c-0 in zone zone-3
+00:41  retry    Create machine worker-z2-3fa2c-0 in zone zone-2: the API server is busy (429), retrying in 2s
+00:46  waiting  Start machine worker-z1-3fa2c-0: VirtualMachine worker-z1-3fa2c-0: DataVolume is Pending, StorageClass fast has no provisioner
+00:48  waiting  Start machine worker-z2-3fa2c-0: the node has not joined (and 1 more)
+00:52  still    Start machine worker-z1-3fa2c-0 (10s) (and 2 more)
+00:56  still    Start machine worker-z1-3fa2c-0 (14s) (and 2 more)
+01:00  still    Start machine worker-z1-3fa2c-0 (18s) (and 2 more)
+01:04  still    Start machine worker-z1-3fa2c-0 (22s) (and 2 more)
+01:08  still    Start machine worker-z1-3fa2c-0 (26s) (and 2 more)
+01:11  done     Machine worker-z2-3fa2c-0 runs
+01:15  still    Start machine worker-z1-3fa2c-0 (33s) (and 1 more)
+01:19  still    Start machine worker-z1-3fa2c-0 (37s): VirtualMachine worker-z1-3fa2c-0: DataVolume is Pending, StorageClass fast has no provisioner (and 1 more)
+01:23  still    Start machine worker-z1-3fa2c-0 (41s) (and 1 more)
+01:27  still    Start machine worker-z1-3fa2c-0 (45s) (and 1 more)
+01:31  still    Start machine worker-z1-3fa2c-0 (49s) (and 1 more)
+01:35  still    Start machine worker-z1-3fa2c-0 (53s) (and 1 more)
+01:39  still    Start machine worker-z1-3fa2c-0 (57s) (and 1 more)
+01:43  still    Start machine worker-z1-3fa2c-0 (1m01s) (and 1 more)
+01:47  still    Start machine worker-z1-3fa2c-0 (1m05s) (and 1 more)
+01:51  still    Start machine worker-z1-3fa2c-0 (1m09s): VirtualMachine worker-z1-3fa2c-0: DataVolume is Pending, StorageClass fast has no provisioner (and 1 more)
+01:55  still    Start machine worker-z1-3fa2c-0 (1m13s) (and 1 more)
+01:59  still    Start machine worker-z1-3fa2c-0 (1m17s) (and 1 more)
+02:03  still    Start machine worker-z1-3fa2c-0 (1m21s) (and 1 more)
+02:07  still    Start machine worker-z1-3fa2c-0 (1m25s) (and 1 more)
+02:10  done     Machine worker-z1-3fa2c-0 runs
+02:11  done     Machine worker-z3-3fa2c-0 runs
+02:11  Created shoot dev in 2m11s (3/3 nodes ready)

"#]]
    );
}

#[test]
fn percentages_are_printed_every_four_seconds_also_of_items_that_do_not_run_longest() {
    let import = |second: u32, name: &str| {
        let why = format!("{} % imported ({second}.0/50.0 GiB)", second * 2);
        let title = format!("Import image {name}");
        item(second.into(), name, &title, ItemStatus::Waiting, &why)
    };
    assert_data_eq!(
        check(
            (0..=25).flat_map(|it| [import(it, "a"), import(it, "b")]),
            0
        ),
        str![[r#"
+00:04  waiting  Import image a: 6 % imported (3.0/50.0 GiB) (and 1 more)
+00:08  still    Import image a (8s): 14 % imported (7.0/50.0 GiB) (and 1 more)
+00:09  waiting  Import image b: 16 % imported (8.0/50.0 GiB)
+00:13  waiting  Import image a: 24 % imported (12.0/50.0 GiB)
+00:14  waiting  Import image b: 26 % imported (13.0/50.0 GiB)
+00:18  waiting  Import image a: 34 % imported (17.0/50.0 GiB)
+00:19  waiting  Import image b: 36 % imported (18.0/50.0 GiB)
+00:23  waiting  Import image a: 44 % imported (22.0/50.0 GiB)
+00:24  waiting  Import image b: 46 % imported (23.0/50.0 GiB)

"#]]
    );
}

#[test]
fn the_longest_running_item_is_printed_every_four_seconds() {
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
        check([waiting(0.0, "a"), waiting(2.0, "b")], 20),
        str![[r#"
+00:04  waiting  Machine a: it boots
+00:06  waiting  Machine b: it boots
+00:10  still    Machine a (10s) (and 1 more)
+00:14  still    Machine a (14s) (and 1 more)
+00:18  still    Machine a (18s) (and 1 more)

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
            40
        ),
        str![[r#"
+00:04  waiting  Import image a: import at 3%
+00:08  still    Import image a (8s): import at 12%
+00:12  still    Import image a (12s)
+00:16  still    Import image a (16s)
+00:20  still    Import image a (20s)
+00:24  still    Import image a (24s)
+00:28  still    Import image a (28s)
+00:32  still    Import image a (32s)
+00:36  still    Import image a (36s)
+00:40  still    Import image a (40s): import at 12%, unchanged for 34s

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
        gone(4.0, "remove/u", false),
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

fn gone(seconds: f64, id: &str, remains: bool) -> RunEvent {
    let id = id.to_owned();
    at(seconds, EventKind::ItemGone { id, remains })
}

#[test]
fn what_was_begun_and_is_no_longer_in_the_plan_is_done() {
    let other =
        |id: &str, title, status| item_of(0.0, ItemKind::Other(id.into()), title, status, "");
    let of_machine = ItemKind::deletion(
        &ObjectKey::provider(ObjectKind::Machine, "a-0"),
        &"u".into(),
    );
    let title = "Delete machine a-0";
    let events = [
        other("restore", "Complete the restore", ItemStatus::Working),
        other("wait", "Wait for the members", ItemStatus::Waiting),
        item_of(0.0, of_machine, title, ItemStatus::Waiting, ""),
        gone(1.0, "restore", false),
        gone(1.0, "wait", false),
        gone(1.0, "remove/u", true),
    ];
    assert_data_eq!(
        check(events, 20),
        str![[r#"
+00:00  working  Complete the restore
+00:01  done     Complete the restore
+00:01  dropped  Wait for the members
+00:01  dropped  Delete machine a-0

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
