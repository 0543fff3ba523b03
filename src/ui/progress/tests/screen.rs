//! The live view, read back from a terminal emulator.

use super::super::live_view::LiveView;
use super::super::terminal::FrameTerminal;
use super::script::{at, failure, finish, item, item_of, machine, midway, progress, start};
use crate::flow::{EventKind, ItemStatus, RunEvent};
use crate::state::plan::ItemKind;
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
        let screen = self.clone();
        LiveView::new(
            Box::new(FrameTerminal::new(Box::new(self.clone()))),
            Box::new(move || (screen.width().into(), screen.height().into())),
            Style { on: false },
            Elision::new(true),
        )
    }

    /// Changes the number of columns as most terminals do: rows that the terminal wrapped are joined and wrapped again,
    /// and the cursor keeps its place in the text.
    fn resize(&self, columns: u16) {
        let mut parser = self.0.lock().unwrap();
        let screen = parser.screen();
        let (lines, old_columns) = screen.size();
        let mut text = String::new();
        for row in 0..=screen.cursor_position().0 {
            let cells = (0..old_columns).filter_map(|column| screen.cell(row, column));
            text.extend(cells.map(vt100::Cell::contents));
            if !screen.row_wrapped(row) && row < screen.cursor_position().0 {
                text.push_str("\r\n");
            }
        }
        *parser = vt100::Parser::new(lines, columns, 200);
        parser.process(text.as_bytes());
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
    fn move_cursor_up(&self, _: usize) -> io::Result<()> {
        unreachable!("moves are part of the text of a frame")
    }
    fn move_cursor_down(&self, _: usize) -> io::Result<()> {
        unreachable!("moves are part of the text of a frame")
    }
    fn move_cursor_right(&self, _: usize) -> io::Result<()> {
        unreachable!("moves are part of the text of a frame")
    }
    fn move_cursor_left(&self, _: usize) -> io::Result<()> {
        unreachable!("moves are part of the text of a frame")
    }
    fn write_line(&self, _: &str) -> io::Result<()> {
        unreachable!("a frame is written at once")
    }
    fn write_str(&self, text: &str) -> io::Result<()> {
        self.0.lock().unwrap().process(text.as_bytes());
        Ok(())
    }
    fn clear_line(&self) -> io::Result<()> {
        unreachable!("erasing is part of the text of a frame")
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
fn a_terminal_of_another_width_shows_one_live_view() {
    let screen = Screen::new(24, 80);
    let mut view = screen.live_view();
    for event in [start(), midway()].concat() {
        view.event(&event);
    }
    view.tick(Duration::from_secs(72));
    screen.resize(50);
    view.tick(Duration::from_secs(73));
    assert_data_eq!(
        screen.text(),
        str![[r#"
done     Apply network tenant-a
done     Import image ubuntu 24.04
done     Machine worker-z2-3fa2c-0 runs
apply dev in …  [=============       ] 4/6  1m13s
pool worker   1/3 ready
  waiting     31s  worker-z1-3f…: Virtual…isioner
  waiting     31s  worker-z3-3f…: the nod… joined

"#]]
    );
    screen.resize(100);
    view.tick(Duration::from_secs(74));
    assert_data_eq!(
        screen.text(),
        str![[r#"
done     Apply network tenant-a
done     Import image ubuntu 24.04
done     Machine worker-z2-3fa2c-0 runs
apply dev in namespace ci                 [=============       ] 4/6  1m14s
pool worker   1/3 ready
  waiting     32s  worker-z1-3fa2c-0: VirtualMachine worker-z1-3fa2c…eClass fast has no provisioner
  waiting     32s  Start machine worker-z3-3fa2c-0: the node has not joined

"#]]
    );
    screen.resize(50);
    view.close();
    assert_data_eq!(
        screen.text(),
        str![[r#"
done     Apply network tenant-a
done     Import image ubuntu 24.04
done     Machine worker-z2-3fa2c-0 runs

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
    let certificate = || ItemKind::Certificate("ca".into());
    let events = [
        start().remove(0),
        ready(
            "control-plane/scheduler",
            ItemStatus::Waiting,
            "not observed yet",
        ),
        ready("control-plane/scheduler", ItemStatus::Done, ""),
        item_of(
            0.1,
            certificate(),
            "Issue the certificate of etcd",
            ItemStatus::Working,
            "",
        ),
        item_of(
            0.2,
            certificate(),
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
