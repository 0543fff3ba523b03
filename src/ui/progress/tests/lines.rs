use super::super::lines::Lines;
use super::script::{at, failure, finish, item, midway, start};
use crate::flow::{Event, EventKind, Status};
use crate::ui::Style;
use snapbox::{assert_data_eq, str};
use std::time::Duration;

/// The lines of a run, with the clock looked at each second between events.
fn check(events: impl IntoIterator<Item = Event>, until: u64) -> String {
    let mut lines = Lines::new(Style { on: false });
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
fn a_run_that_fails() {
    let events = [start(), midway(), failure()].concat();
    assert_data_eq!(
        check(events, 0),
        str![[r#"
+00:00  apply    local/dev in namespace ci
+00:00  working  Network tenant-a
+00:00  working  Import image ubuntu 24.04
+00:00  done     Network tenant-a
+00:01  waiting  Import image ubuntu 24.04: 3% (0.1/2.4 GiB)
+00:08  waiting  Import image ubuntu 24.04: 14% (0.3/2.4 GiB)
+00:38  still    Import image ubuntu 24.04 (38s): 14% (0.3/2.4 GiB)
+00:41  done     Import image ubuntu 24.04
+00:41  working  Machine 1 of pool worker in zone 1
+00:41  working  Machine 1 of pool worker in zone 2
+00:41  working  Machine 1 of pool worker in zone 3
+00:41  retry    Machine 1 of pool worker in zone 2: the API server is busy (429); again in 2s
+00:42  waiting  Machine 1 of pool worker in zone 1: VirtualMachine shoot--local--dev-worker-z1-3fa2c-1: DataVolume is Pending, StorageClass fast has no provisioner
+00:43  waiting  Machine 1 of pool worker in zone 2: the node has not joined
+00:43  waiting  Machine 1 of pool worker in zone 3: the node has not joined
+01:11  done     Machine 1 of pool worker in zone 2
+01:41  still    Machine 1 of pool worker in zone 1 (59s): VirtualMachine shoot--local--dev-worker-z1-3fa2c-1: DataVolume is Pending, StorageClass fast has no provisioner; and 1 more
+02:10  failed   Machine 1 of pool worker in zone 1: VirtualMachine shoot--local--dev-worker-z1-3fa2c-1: DataVolume is Pending, StorageClass fast has no provisioner
+02:11  done     Machine 1 of pool worker in zone 3
+02:11  failed   1 of 6 failed
hint: to go on: kvshoot apply -f shoot.yaml

"#]]
    );
}

#[test]
fn a_run_that_converges() {
    let events = [start(), midway(), finish()].concat();
    assert_data_eq!(
        check(events, 0),
        str![[r#"
+00:00  apply    local/dev in namespace ci
+00:00  working  Network tenant-a
+00:00  working  Import image ubuntu 24.04
+00:00  done     Network tenant-a
+00:01  waiting  Import image ubuntu 24.04: 3% (0.1/2.4 GiB)
+00:08  waiting  Import image ubuntu 24.04: 14% (0.3/2.4 GiB)
+00:38  still    Import image ubuntu 24.04 (38s): 14% (0.3/2.4 GiB)
+00:41  done     Import image ubuntu 24.04
+00:41  working  Machine 1 of pool worker in zone 1
+00:41  working  Machine 1 of pool worker in zone 2
+00:41  working  Machine 1 of pool worker in zone 3
+00:41  retry    Machine 1 of pool worker in zone 2: the API server is busy (429); again in 2s
+00:42  waiting  Machine 1 of pool worker in zone 1: VirtualMachine shoot--local--dev-worker-z1-3fa2c-1: DataVolume is Pending, StorageClass fast has no provisioner
+00:43  waiting  Machine 1 of pool worker in zone 2: the node has not joined
+00:43  waiting  Machine 1 of pool worker in zone 3: the node has not joined
+01:11  done     Machine 1 of pool worker in zone 2
+01:41  still    Machine 1 of pool worker in zone 1 (59s): VirtualMachine shoot--local--dev-worker-z1-3fa2c-1: DataVolume is Pending, StorageClass fast has no provisioner; and 1 more
+02:10  done     Machine 1 of pool worker in zone 1
+02:11  done     Machine 1 of pool worker in zone 3
+02:11  converged  local/dev is as the manifest says

"#]]
    );
}

#[test]
fn numbers_alone_are_told_every_ten_percent_and_not_more_often_than_every_five_seconds() {
    let import = |second: u32| {
        let why = format!("{}% ({}.0/50.0 GiB, 31 MiB/s)", second * 2, second);
        item(
            second.into(),
            "image/a",
            "Import image a",
            Status::Waiting,
            &why,
        )
    };
    assert_data_eq!(
        check((0..=50).map(import), 0),
        str![[r#"
+00:00  waiting  Import image a: 0% (0.0/50.0 GiB, 31 MiB/s)
+00:05  waiting  Import image a: 10% (5.0/50.0 GiB, 31 MiB/s)
+00:10  waiting  Import image a: 20% (10.0/50.0 GiB, 31 MiB/s)
+00:15  waiting  Import image a: 30% (15.0/50.0 GiB, 31 MiB/s)
+00:20  waiting  Import image a: 40% (20.0/50.0 GiB, 31 MiB/s)
+00:25  waiting  Import image a: 50% (25.0/50.0 GiB, 31 MiB/s)
+00:30  waiting  Import image a: 60% (30.0/50.0 GiB, 31 MiB/s)
+00:35  waiting  Import image a: 70% (35.0/50.0 GiB, 31 MiB/s)
+00:40  waiting  Import image a: 80% (40.0/50.0 GiB, 31 MiB/s)
+00:45  waiting  Import image a: 90% (45.0/50.0 GiB, 31 MiB/s)
+00:50  waiting  Import image a: 100% (50.0/50.0 GiB, 31 MiB/s)

"#]]
    );
}

#[test]
fn silence_is_broken_every_thirty_seconds_by_what_is_waited_for_longest() {
    let waiting = |at, id: &str| {
        item(
            at,
            id,
            &format!("Machine {id}"),
            Status::Waiting,
            "it boots",
        )
    };
    assert_data_eq!(
        check([waiting(0.0, "a"), waiting(2.0, "b")], 100),
        str![[r#"
+00:00  waiting  Machine a: it boots
+00:02  waiting  Machine b: it boots
+00:32  still    Machine a (32s): it boots; and 1 more
+01:02  still    Machine a (1m02s): it boots; and 1 more
+01:32  still    Machine a (1m32s): it boots; and 1 more

"#]]
    );
}

#[test]
fn notes_and_interrupts_are_told() {
    let events = [
        at(
            1.0,
            EventKind::Note {
                text: "the lock was left by a dead run".to_owned(),
            },
        ),
        at(2.0, EventKind::Interrupted),
        at(
            3.0,
            EventKind::RunFinished {
                exit_code: 130,
                outcome: "interrupted",
                summary: "3 of 6 done".to_owned(),
                resume: Some("kvshoot apply -f shoot.yaml".to_owned()),
            },
        ),
    ];
    assert_data_eq!(
        check(events, 0),
        str![[r#"
+00:01  note     the lock was left by a dead run
+00:02  stop     interrupted: nothing new is begun; once more (Ctrl-C) leaves at once
+00:03  interrupted  3 of 6 done
hint: to go on: kvshoot apply -f shoot.yaml

"#]]
    );
}
