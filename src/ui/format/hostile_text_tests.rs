//! Text of others at every door of [`Ui`]: no control character and no workflow command of it passes.

use crate::flow::{EventKind, ItemStatus, RunEvent};
use crate::manifest::{FileSpan, Manifest, Problem};
use crate::ui::problems;
use crate::ui::tests::check;
use crate::ui::{Color, ErrorMessage, Format, ListRow, ProgressMode, RunLabel, Ui, UiSettings};
use clap::ValueEnum as _;
use proptest::prelude::*;
use regex::Regex;
use serde::Serialize;
use serde_json::json;
use std::time::Duration;

/// A row whose every cell is the text of others.
#[derive(Serialize)]
struct Row(String);

impl ListRow for Row {
    fn headers() -> &'static [&'static str] {
        &["A", "B"]
    }

    fn cells(&self) -> Vec<String> {
        vec![self.0.clone(), self.0.clone()]
    }

    fn name(&self) -> String {
        self.0.clone()
    }
}

/// Prints a text in every way that [`Ui`] has.
fn print_everywhere(ui: &Ui, text: &str) {
    let texts = [text.to_owned(), text.to_owned()];
    for format in Format::value_variants().iter().copied() {
        ui.list(format, &[Row(text.to_owned())], text);
        ui.item(format, &Row(text.to_owned()));
    }
    ui.list::<Row>(Format::Table, &[], text);
    ui.data(text);
    ui.line(text);
    ui.status(text);
    ui.warn(text);
    ui.hint(text);
    ui.data(&format!("{}\n", ui.style().red(text)));
    ui.problems(
        text,
        [(
            "error",
            json!({"file": text, "line": 1, "code": text, "message": text}),
        )],
    );
    ui.failure(ErrorMessage {
        message: text,
        causes: &texts,
        hints: &texts,
    });
    let _group = ui.log_group("make", text);
    let mut progress = ui.progress();
    for kind in events(text) {
        progress.event(&RunEvent {
            at: Duration::from_secs(1),
            kind,
        });
    }
    std::io::Write::write_all(&mut ui.log_writer(), text.as_bytes()).unwrap();
}

fn events(text: &str) -> [EventKind; 4] {
    [
        EventKind::RunStarted {
            verb: "Creating",
            shoot: text.to_owned(),
            technical_ids: vec![text.to_owned()],
            namespace: text.to_owned(),
        },
        EventKind::Item {
            id: text.to_owned(),
            kind: text.to_owned().into(),
            title: text.to_owned(),
            status: ItemStatus::Failed,
            why: Some(text.to_owned()),
        },
        EventKind::Note {
            text: text.to_owned(),
        },
        EventKind::RunFinished {
            exit_code: 1,
            outcome: "failed",
            summary: text.to_owned(),
            hint: Some(text.to_owned()),
            resume: Some(text.to_owned()),
        },
    ]
}

/// What a terminal obeys beyond own colors, and what a CI system executes.
fn attacks(printed: &str) -> Vec<String> {
    let own = Regex::new("\u{1b}\\[[0-9;]*m").unwrap();
    let plain = own.replace_all(printed, "");
    let bidi = |it: char| matches!(u32::from(it), 0x61c | 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f | 0xfeff);
    let controls = plain
        .chars()
        .filter(|it| (it.is_control() && !"\n\t".contains(*it)) || bidi(*it));
    let command = Regex::new(r"(?i)^\s*::|##[a-z]*\[|section_(start|end):").unwrap();
    let commands = plain.lines().filter(|it| command.is_match(it));
    let controls = controls.map(|it| it.escape_unicode().to_string());
    controls.chain(commands.map(str::to_owned)).collect()
}

/// miette fails on a place that is not in the text that it gets.
#[test]
fn a_problem_anywhere_in_a_line_break_is_printed() {
    for text in ["?\r", "a: [\r\n\r\n", "- [\n\r"] {
        let manifest = Manifest::parse([("a.yaml".to_owned(), text.as_bytes().to_vec())]);
        let problem = manifest.problems().first().expect("it is not valid");
        let length = u32::try_from(text.len()).unwrap();
        for start in 0..=length {
            for end in start..=length {
                let span = Some(FileSpan {
                    source: 0,
                    start,
                    end,
                });
                let problem = Problem {
                    span,
                    ..problem.clone()
                };
                let sources = manifest.sources();
                let printed = problems::all_as_text(&[problem], &[], sources, false, 80);
                assert!(
                    printed.contains("a.yaml:"),
                    "{text:?} {start} {end}: {printed}"
                );
            }
        }
    }
}

/// Text without a line break continues a line, however long it is already.
#[test]
fn a_command_in_pieces_is_not_obeyed() {
    for pieces in [
        [&*" ".repeat(100), "::set-output name=p::1\n"],
        [&*format!("{}:", "\t".repeat(100)), ":add-mask::a\n"],
        ["##vs", "o[task.x]\n"],
        [&*format!("{}section_sta", "x".repeat(100)), "rt:1:a\n"],
    ] {
        let printed = check(UiSettings::default(), |ui| {
            pieces.iter().for_each(|it| ui.data(it));
        });
        assert_eq!(attacks(&printed), [""; 0], "{printed:?}");
    }
}

fn settings(color: Color, progress: ProgressMode) -> UiSettings {
    let run = (progress == ProgressMode::Json).then(|| RunLabel {
        verb: "apply",
        id: "0a".to_owned(),
    });
    UiSettings {
        color,
        progress,
        run,
        ..UiSettings::default()
    }
}

proptest! {
    #[test]
    fn nothing_of_others_is_obeyed(
        text in r"(?s)([\x00-\x{a0}]|\x1b\[3[0-9]m|\x1b\]0;x\x07|##(vso|teamcity)?\[|\n ?::set-output name=p::1|\nsection_start:1:a\r\x1b\[0K|[\x{200b}-\x{206f}]|.){0,12}",
    ) {
        for color in [Color::Never, Color::Always] {
            for progress in [ProgressMode::Plain, ProgressMode::Json, ProgressMode::None] {
                let printed = check(settings(color, progress), |ui| print_everywhere(ui, &text));
                prop_assert_eq!(attacks(&printed), Vec::<String>::new(), "{:?}", printed);
                if color == Color::Never {
                    let has_escape = printed.contains('\u{1b}');
                    prop_assert!(!has_escape);
                }
            }
        }
    }

    #[test]
    fn excerpts_of_manifests_are_not_obeyed(
        text in r"(?s)([\x00-\x{a0}]|\x1b\[3[0-9]m|##\[|\n ?::set-output name=p::1|[a-z]+: |[\x{200b}-\x{206f}]|.){0,20}",
        color in any::<bool>(),
    ) {
        let manifest = Manifest::parse(vec![(text.clone(), text.clone().into_bytes()), (text.clone(), format!("apiVersion: core.gardener.cloud/v1beta1\nkind: Shoot\n{text}").into_bytes())]);
        let style = if color { Color::Always } else { Color::Never };
        let printed = check(settings(style, ProgressMode::Plain), |ui| {
            ui.problems(&problems::all_as_text(manifest.problems(), manifest.warnings(), manifest.sources(), color, 80), []);
        });
        prop_assert_eq!(attacks(&printed), Vec::<String>::new(), "{:?}", printed);
    }
}
