use super::printer::Ui;
use super::tty_stream::Stream;
use super::{Color, ErrorMessage, Format, ListRow, ProgressMode, RunLabel, UiSettings};
use clap::ValueEnum as _;
use serde::Serialize;
use snapbox::{assert_data_eq, str};
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

/// Memory that a stream writes to and a test reads.
#[derive(Debug, Clone, Default)]
pub(super) struct Written(Arc<Mutex<Vec<u8>>>);

impl Written {
    pub(super) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the text on stdout, then on stderr.
pub(super) fn check(settings: UiSettings, print: impl FnOnce(&Ui)) -> String {
    let (out, err) = (Written::default(), Written::default());
    let stream = |it: &Written| Stream::new(Box::new(it.clone()), false, None, &settings);
    let ui = Ui::with_streams(stream(&out), stream(&err), settings.clone());
    print(&ui);
    format!("{}--\n{}", out.text(), err.text())
}

#[derive(Serialize)]
struct Shoot {
    name: &'static str,
    nodes: u32,
}

impl ListRow for Shoot {
    fn headers() -> &'static [&'static str] {
        &["NAME", "NODES"]
    }

    fn wide_headers() -> &'static [&'static str] {
        &["ADDRESS"]
    }

    fn cells(&self) -> Vec<String> {
        vec![self.name.to_owned(), self.nodes.to_string()]
    }

    fn wide_cells(&self) -> Vec<String> {
        vec![String::new()]
    }

    fn name(&self) -> String {
        format!("shoot/{}", self.name)
    }
}

const SHOOTS: [Shoot; 2] = [
    Shoot {
        name: "dev",
        nodes: 3,
    },
    Shoot {
        name: "a-longer-name",
        nodes: 12,
    },
];

#[test]
fn a_list_in_every_format() {
    let printed = check(UiSettings::default(), |ui| {
        for format in Format::value_variants().iter().copied() {
            ui.list(format, &SHOOTS, "");
        }
        ui.item(Format::Yaml, &SHOOTS[0]);
    });
    assert_data_eq!(
        printed,
        str![[r#"
NAME            NODES
dev             3
a-longer-name   12
NAME            NODES   ADDRESS
dev             3       <none>
a-longer-name   12      <none>
shoot/dev
shoot/a-longer-name
{
  "apiVersion": "v1",
  "kind": "List",
  "items": [
    {
      "name": "dev",
      "nodes": 3
    },
    {
      "name": "a-longer-name",
      "nodes": 12
    }
  ]
}
apiVersion: v1
kind: List
items:
- name: dev
  nodes: 3
- name: a-longer-name
  nodes: 12
name: dev
nodes: 3
--

"#]]
    );
}

#[test]
fn an_empty_list_is_a_message_for_people_and_an_object_for_programs() {
    let printed = check(UiSettings::default(), |ui| {
        ui.list::<Shoot>(Format::Table, &[], "no clusters in namespace ci");
        ui.list::<Shoot>(Format::Json, &[], "no clusters in namespace ci");
    });
    assert_data_eq!(
        printed,
        str![[r#"
{
  "apiVersion": "v1",
  "kind": "List",
  "items": []
}
--
no clusters in namespace ci

"#]]
    );
}

fn print_all(ui: &Ui) {
    ui.status("observing");
    ui.warn("dns is ignored");
    ui.hint("kvshoot plan -f shoot.yaml");
    ui.failure(ErrorMessage {
        message: "cannot apply local/dev",
        causes: &["not allowed to create secrets".to_owned()],
        hints: &[],
    });
    ui.failure(ErrorMessage {
        message: "cannot connect",
        causes: &[
            "no answer from 10.0.0.1".to_owned(),
            "timed out:\nafter 10s".to_owned(),
        ],
        hints: &[
            "kvshoot doctor".to_owned(),
            "or check\nthe route".to_owned(),
        ],
    });
}

#[test]
fn the_error_is_last_with_its_causes_and_hints() {
    assert_data_eq!(
        check(UiSettings::default(), print_all),
        str![[r#"
--
observing
warning: dns is ignored
hint: kvshoot plan -f shoot.yaml
error: cannot apply local/dev
  because not allowed to create secrets
error: cannot connect
  1: no answer from 10.0.0.1
  2: timed out:
     after 10s
hint: kvshoot doctor
hint: or check
      the route

"#]]
    );
}

#[test]
fn quiet_keeps_warnings_and_errors() {
    let quiet = UiSettings {
        quiet: true,
        ..UiSettings::default()
    };
    assert_data_eq!(
        check(quiet, print_all),
        str![[r#"
--
warning: dns is ignored
error: cannot apply local/dev
  because not allowed to create secrets
error: cannot connect
  1: no answer from 10.0.0.1
  2: timed out:
     after 10s
hint: kvshoot doctor
hint: or check
      the route

"#]]
    );
}

#[test]
fn colour_follows_the_flag_then_no_color_then_the_terminal() {
    let colored = |color, no_color, force_color| {
        let settings = UiSettings {
            color,
            no_color,
            force_color,
            ..UiSettings::default()
        };
        check(settings, |ui| ui.warn("x")).contains('\x1b')
    };
    assert!(!colored(Color::Auto, false, false));
    assert!(colored(Color::Auto, false, true));
    assert!(!colored(Color::Auto, true, true));
    assert!(colored(Color::Always, true, false));
    assert!(!colored(Color::Never, false, true));
}

#[test]
fn with_json_progress_everything_on_stderr_is_json() {
    let settings = UiSettings {
        progress: ProgressMode::Json,
        run: Some(RunLabel {
            verb: "delete",
            id: "r1".to_owned(),
        }),
        ..UiSettings::default()
    };
    let printed = check(settings, |ui| {
        print_all(ui);
        ui.problems(
            "text",
            [("error", serde_json::json!({"code": "schema/unknown"}))],
        );
        ui.close(8);
        ui.warn("too late");
    });
    let lines: Vec<&str> = printed.lines().skip(1).collect();
    assert!(
        lines.iter().all(|it| it.starts_with(r#"{"v":1,"type":""#)),
        "{printed}"
    );
    assert!(
        lines.last().unwrap().contains(r#""type":"run.finished""#),
        "{printed}"
    );
}

/// A writer that fails from the start.
struct Broken(io::ErrorKind);

impl Write for Broken {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(self.0.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_closed_reader_is_not_a_failure_but_a_full_disk_is() {
    let closed = |kind| {
        let settings = UiSettings::default();
        let out = Stream::new(Box::new(Broken(kind)), false, None, &settings);
        let err = Stream::new(Box::new(Written::default()), false, None, &settings);
        let ui = Ui::with_streams(out, err, settings);
        ui.data("x");
        ui.write_failure()
    };
    assert_eq!(closed(io::ErrorKind::BrokenPipe), None);
    assert_eq!(
        closed(io::ErrorKind::StorageFull),
        Some("no storage space".to_owned())
    );
}

#[test]
fn without_a_utf_8_locale_text_for_people_is_ascii() {
    let settings = UiSettings {
        unicode: false,
        ..UiSettings::default()
    };
    let printed = check(settings, |ui| {
        ui.data("… data\n");
        ui.status("… more");
        ui.problems("  ╭─[a.yaml:1]\n", []);
    });
    assert_eq!(printed, "… data\n--\n... more\n  ,-[a.yaml:1]\n");
}
