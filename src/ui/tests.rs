use super::tty_stream::Stream;
use super::{ErrorMessage, Format, ListRow, ProgressMode, RunLabel, Ui, UiSettings};
use crate::ui::Color;
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

/// What a person sees on stdout and then on stderr.
pub(super) fn check(settings: UiSettings, tell: impl FnOnce(&Ui)) -> String {
    let (out, err) = (Written::default(), Written::default());
    let stream = |it: &Written| Stream::new(Box::new(it.clone()), false, None, &settings);
    let ui = Ui::with_streams(stream(&out), stream(&err), settings.clone());
    tell(&ui);
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
    let told = check(UiSettings::default(), |ui| {
        for format in [
            Format::Table,
            Format::Wide,
            Format::Name,
            Format::Json,
            Format::Yaml,
        ] {
            ui.list(format, &SHOOTS, "");
        }
        ui.item(Format::Yaml, &SHOOTS[0]);
    });
    assert_data_eq!(
        told,
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
fn an_empty_list_is_said_to_people_and_shown_to_programs() {
    let told = check(UiSettings::default(), |ui| {
        ui.list::<Shoot>(Format::Table, &[], "no clusters in namespace ci");
        ui.list::<Shoot>(Format::Json, &[], "no clusters in namespace ci");
    });
    assert_data_eq!(
        told,
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

fn tell_all(ui: &Ui) {
    ui.status("looking");
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
            "or look at\nthe route".to_owned(),
        ],
    });
}

#[test]
fn the_error_comes_last_with_its_causes_and_a_hint() {
    assert_data_eq!(
        check(UiSettings::default(), tell_all),
        str![[r#"
--
looking
warning: dns is ignored
hint: kvshoot plan -f shoot.yaml
error: cannot apply local/dev
  because not allowed to create secrets
error: cannot connect
  1: no answer from 10.0.0.1
  2: timed out:
     after 10s
hint: kvshoot doctor
hint: or look at
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
        check(quiet, tell_all),
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
hint: or look at
      the route

"#]]
    );
}

#[test]
fn colour_is_taken_when_asked_for_and_never_against_no_color() {
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
fn a_run_told_as_json_tells_all_as_json() {
    let settings = UiSettings {
        progress: ProgressMode::Json,
        run: Some(RunLabel {
            verb: "delete",
            id: "r1".to_owned(),
        }),
        ..UiSettings::default()
    };
    let told = check(settings, |ui| {
        tell_all(ui);
        ui.problems(
            "text",
            [("error", serde_json::json!({"code": "schema/unknown"}))],
        );
        ui.close(8);
        ui.warn("too late");
    });
    let lines: Vec<&str> = told.lines().skip(1).collect();
    assert!(
        lines.iter().all(|it| it.starts_with(r#"{"v":1,"type":""#)),
        "{told}"
    );
    assert!(
        lines.last().unwrap().contains(r#""type":"run.finished""#),
        "{told}"
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
fn a_reader_that_went_away_is_no_failure_but_a_full_disk_is() {
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
