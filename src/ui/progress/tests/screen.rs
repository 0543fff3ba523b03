//! The live view, read back from a terminal emulator.

use super::super::live_view::LiveView;
use super::script::{at, failure, finish, item, machine, midway, progress, start};
use crate::flow::{EventKind, ItemStatus, RunEvent};
use crate::ui::Style;
use crate::ui::format::width::Elision;
use indicatif::TermLike;
use snapbox::{assert_data_eq, str};
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[derive(Clone)]
struct Screen(Arc<Mutex<vt100::Parser>>);

impl Screen {
    fn new(lines: u16, columns: u16) -> Self {
        Self(Arc::new(Mutex::new(vt100::Parser::new(
            lines, columns, 200,
        ))))
    }

    fn live_view(&self) -> LiveView {
        let size = (self.width().into(), self.height().into());
        LiveView::new(
            Box::new(self.clone()),
            Box::new(move || size),
            Style { on: false },
            Elision::new(true),
        )
    }

    fn write(&self, text: &str) -> io::Result<()> {
        self.0.lock().unwrap().process(text.as_bytes());
        Ok(())
    }

    /// The visible text.
    fn text(&self) -> String {
        let parser = self.0.lock().unwrap();
        let columns = parser.screen().size().1;
        let rows = parser.screen().rows(0, columns);
        let rows: Vec<String> = rows.map(|it| it.trim_end().to_owned()).collect();
        format!("{}\n", rows.join("\n").trim_end())
    }
}

impl std::fmt::Debug for Screen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Screen")
    }
}

impl TermLike for Screen {
    fn width(&self) -> u16 {
        self.0.lock().unwrap().screen().size().1
    }
    fn height(&self) -> u16 {
        self.0.lock().unwrap().screen().size().0
    }
    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        match n {
            0 => Ok(()),
            _ => self.write(&format!("\x1b[{n}A")),
        }
    }
    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        match n {
            0 => Ok(()),
            _ => self.write(&format!("\x1b[{n}B")),
        }
    }
    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        match n {
            0 => Ok(()),
            _ => self.write(&format!("\x1b[{n}C")),
        }
    }
    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        match n {
            0 => Ok(()),
            _ => self.write(&format!("\x1b[{n}D")),
        }
    }
    fn write_line(&self, s: &str) -> io::Result<()> {
        self.write(&format!("{s}\r\n"))
    }
    fn write_str(&self, s: &str) -> io::Result<()> {
        self.write(s)
    }
    fn clear_line(&self) -> io::Result<()> {
        self.write("\r\x1b[2K")
    }
    fn flush(&self) -> io::Result<()> {
        Ok(())
    }
}

fn check(events: impl IntoIterator<Item = RunEvent>, now: f64) -> String {
    let screen = Screen::new(24, 80);
    let mut view = screen.live_view();
    for event in events {
        view.event(&event);
    }
    view.tick(Duration::from_secs_f64(now));
    screen.text()
}

#[test]
fn running_items_and_pools_are_shown() {
    assert_data_eq!(
        check(start(), 9.0),
        str![[r#"
done     Apply network tenant-a
apply dev in namespace ci                 [======              ] 2/6  9s
waiting      9s  Import image ubuntu 24.04: 14% (0.3/2.4 GiB)
pool worker   0/3 ready

"#]]
    );
}

#[test]
fn a_pool_shows_its_ready_machines_and_why_others_wait() {
    assert_data_eq!(
        check([start(), midway()].concat(), 72.0),
        str![[r#"
done     Apply network tenant-a
done     Import image ubuntu 24.04
done     Machine worker-z2-3fa2c-0 runs
apply dev in namespace ci                 [=============       ] 4/6  1m12s
pool worker   1/3 ready
  waiting     30s  worker-z1-3fa2c-0: VirtualMachine worke…t has no provisioner
  waiting     30s  Start machine worker-z3-3fa2c-0: the node has not joined

"#]]
    );
}

#[test]
fn a_failure_is_printed_in_full_and_the_live_view_disappears() {
    let events = [start(), midway(), failure()].concat();
    assert_data_eq!(
        check(events, 140.0),
        str![[r#"
done     Apply network tenant-a
done     Import image ubuntu 24.04
done     Machine worker-z2-3fa2c-0 runs
failed   Start machine worker-z1-3fa2c-0: VirtualMachine worker-z1-3fa2c-0:
         DataVolume is Pending, StorageClass fast has no provisioner
done     Machine worker-z3-3fa2c-0 runs
Failed after 2m11s: start machine shoot--local--dev-worker-z1-3fa2c-0:
DataVolume is Pending
To resume: kvshoot apply -f shoot.yaml

"#]]
    );
}

#[test]
fn only_finished_lines_remain_at_the_end() {
    let events = [start(), midway(), finish()].concat();
    assert_data_eq!(
        check(events, 140.0),
        str![[r#"
done     Apply network tenant-a
done     Import image ubuntu 24.04
done     Machine worker-z2-3fa2c-0 runs
done     Machine worker-z1-3fa2c-0 runs
done     Machine worker-z3-3fa2c-0 runs
Created shoot dev in 2m11s (3/3 nodes ready)

"#]]
    );
}

#[test]
fn an_interrupt_explains_the_effect_of_a_second_one() {
    let events = [start(), vec![at(10.0, EventKind::Interrupted)]].concat();
    assert_data_eq!(
        check(events, 10.5),
        str![[r#"
done     Apply network tenant-a
stop     Interrupted. Finishing current operations; interrupt again to exit
         now.
apply dev in namespace ci (stopping)      [======              ] 2/6  10s
waiting     10s  Import image ubuntu 24.04: 14% (0.3/2.4 GiB)
pool worker   0/3 ready

"#]]
    );
}

#[test]
fn many_machines_are_limited_to_the_screen() {
    let mut events = vec![start().remove(0), progress(0.0, 0, 200)];
    events.extend((1..=200).map(|place| {
        machine(
            place as f64 / 10.0,
            place,
            ItemStatus::Waiting,
            "the node has not joined",
        )
    }));
    assert_data_eq!(
        check(events, 30.0),
        str![[r#"
apply dev in namespace ci                 [                    ] 0/200  30s
pool worker   0/200 ready
  waiting     29s  Start machine worker-z1-3fa2c-0: the node has not joined
  waiting     29s  Start machine worker-z2-3fa2c-0: the node has not joined
  waiting     29s  Start machine worker-z3-3fa2c-0: the node has not joined
  waiting     29s  Start machine worker-z4-3fa2c-0: the node has not joined
  waiting     29s  Start machine worker-z5-3fa2c-0: the node has not joined
  waiting     29s  Start machine worker-z6-3fa2c-0: the node has not joined
  waiting     29s  Start machine worker-z7-3fa2c-0: the node has not joined
  waiting     29s  Start machine worker-z8-3fa2c-0: the node has not joined
  waiting     29s  Start machine worker-z9-3fa2c-0: the node has not joined
  waiting     29s  Start machine worker-z10-3fa2c-0: the node has not joined
  waiting     28s  Start machine worker-z11-3fa2c-0: the node has not joined
  waiting     28s  Start machine worker-z12-3fa2c-0: the node has not joined
  waiting     28s  Start machine worker-z13-3fa2c-0: the node has not joined
  waiting     28s  Start machine worker-z14-3fa2c-0: the node has not joined
  waiting     28s  Start machine worker-z15-3fa2c-0: the node has not joined
  waiting     28s  Start machine worker-z16-3fa2c-0: the node has not joined
  waiting     28s  Start machine worker-z17-3fa2c-0: the node has not joined
  waiting     28s  Start machine worker-z18-3fa2c-0: the node has not joined
  waiting     28s  Start machine worker-z19-3fa2c-0: the node has not joined
  waiting     28s  Start machine worker-z20-3fa2c-0: the node has not joined
… and 180 more

"#]]
    );
}

#[test]
fn wide_letters_take_two_columns() {
    let title = "画像を取り込む".repeat(4);
    let why = "ネットワークがまだ準備できていません".repeat(3);
    let events = [
        start(),
        vec![item(8.0, "image/x", &title, ItemStatus::Waiting, &why)],
    ]
    .concat();
    assert_data_eq!(
        check(events, 9.0),
        str![[r#"
done     Apply network tenant-a
apply dev in namespace ci                 [======              ] 2/6  9s
waiting      9s  Import image ubuntu 24.04: 14% (0.3/2.4 GiB)
waiting      1s  画像を取り込む画像を取り込む…: ネットワークが…備できていません
pool worker   0/3 ready

"#]]
    );
}

#[test]
fn items_that_were_done_before_the_run_are_not_printed() {
    let ready = |id, status, why| item(0.1, id, "Deploy scheduler", status, why);
    let events = [
        start().remove(0),
        ready(
            "control-plane/scheduler",
            ItemStatus::Waiting,
            "not observed yet",
        ),
        ready("control-plane/scheduler", ItemStatus::Done, ""),
        item(
            0.1,
            "certificate/ca",
            "Issue the certificate of etcd",
            ItemStatus::Working,
            "",
        ),
        item(
            0.2,
            "certificate/ca",
            "Issue the certificate of etcd",
            ItemStatus::Done,
            "",
        ),
        progress(0.2, 2, 2),
    ];
    assert_data_eq!(
        check(events, 0.3),
        str![[r#"
apply dev in namespace ci                 [====================] 2/2  0s

"#]]
    );
}
