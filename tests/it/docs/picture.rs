//! The picture in the README: the screen of a real `apply`, as SVG.

use crate::support::provider::Provider;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use vt100::{Cell, Color, Parser, Screen};

const FILE: &str = "docs/images/apply.svg";
const COMMAND: &str = "kvshoot apply -f examples/three-zones.yaml";

const ROWS: u16 = 34;
const COLUMNS: u16 = 92;
/// Pixels of a character cell.
const CELL: (u16, u16) = (8, 18);
/// Pixels around the text.
const MARGIN: u16 = 16;

/// Colours of the terminal, in the order of their ANSI codes.
const PALETTE: [&str; 8] = [
    "#6e7681", "#ff7b72", "#7ee787", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#e6edf3",
];
const FOREGROUND: &str = "#e6edf3";
const BACKGROUND: &str = "#0d1117";

#[test]
#[ignore = "writes docs/images/apply.svg: cargo test --test it picture -- --ignored"]
fn the_picture_of_an_apply_is_recorded() {
    let provider = Provider::new();
    let kvshoot = provider
        .kvshoot()
        .env("KVSHOOT_NAMESPACE", "default")
        .env("TERM", "xterm-256color");
    let program = env!("CARGO_BIN_EXE_kvshoot");
    let arguments = COMMAND.strip_prefix("kvshoot").unwrap();
    let examples = fs::canonicalize("examples").unwrap();
    let arguments = arguments.replace("examples", &examples.display().to_string());
    let line = format!("stty rows {ROWS} cols {COLUMNS}; exec '{program}'{arguments}");
    let recorded = kvshoot.program(
        Path::new("/usr/bin/script"),
        ["-q", "-e", "-c", &line, "/dev/null"],
    );
    assert_eq!(recorded.code, 0, "{recorded}");
    let mut screen = Parser::new(ROWS, COLUMNS, 0);
    screen.process(format!("$ {COMMAND}\r\n").as_bytes());
    screen.process(recorded.out.as_bytes());
    let deleted = kvshoot.run("delete three-zones --yes");
    assert_eq!(deleted.code, 0, "{deleted}");
    let picture = svg(screen.screen());
    assert!(picture.contains("three-zones"), "{picture}");
    fs::create_dir_all(Path::new(FILE).parent().unwrap()).unwrap();
    fs::write(FILE, picture).unwrap();
}

/// A screen as SVG: one text element for each run of cells of the same style.
fn svg(screen: &Screen) -> String {
    let rows = (0..ROWS)
        .rev()
        .find(|row| !row_text(screen, *row).is_empty())
        .map_or(1, |last| last + 1);
    let width = COLUMNS * CELL.0 + 2 * MARGIN;
    let height = rows * CELL.1 + 2 * MARGIN;
    let mut picture = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{COMMAND}\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{BACKGROUND}\"/>\n\
         <g font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, monospace\" \
         font-size=\"13\" xml:space=\"preserve\">\n"
    );
    for row in 0..rows {
        for (column, style, text) in runs(screen, row) {
            let (x, y) = (MARGIN + column * CELL.0, MARGIN + row * CELL.1 + 13);
            let length = u16::try_from(text.chars().count()).unwrap() * CELL.0;
            writeln!(
                picture,
                "<text x=\"{x}\" y=\"{y}\" textLength=\"{length}\"{style}>{}</text>",
                escaped(&text)
            )
            .unwrap();
        }
    }
    picture + "</g>\n</svg>\n"
}

fn row_text(screen: &Screen, row: u16) -> String {
    let text = screen.contents_between(row, 0, row, COLUMNS);
    text.trim_end().to_owned()
}

/// Cells of the same style beside each other: the first column, the style, the text.
fn runs(screen: &Screen, row: u16) -> Vec<(u16, String, String)> {
    let mut runs: Vec<(u16, String, String)> = Vec::new();
    let length = u16::try_from(row_text(screen, row).chars().count()).unwrap();
    for column in 0..length {
        let Some(cell) = screen.cell(row, column) else {
            continue;
        };
        let text = match cell.contents() {
            "" => " ",
            text => text,
        };
        let style = style(cell);
        match runs.last_mut() {
            Some((_, last, run)) if *last == style => run.push_str(text),
            _ => runs.push((column, style, text.to_owned())),
        }
    }
    runs.retain(|(_, _, text)| !text.trim().is_empty());
    runs
}

/// The attributes of a text element.
fn style(cell: &Cell) -> String {
    let colour = match cell.fgcolor() {
        Color::Idx(index) => PALETTE[usize::from(index % 8)],
        _ => FOREGROUND,
    };
    let weight = match cell.bold() {
        true => " font-weight=\"bold\"",
        false => "",
    };
    let opacity = match cell.dim() {
        true => " opacity=\"0.6\"",
        false => "",
    };
    format!(" fill=\"{colour}\"{weight}{opacity}")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[test]
fn a_screen_becomes_svg() {
    let mut parser = Parser::new(ROWS, COLUMNS, 0);
    parser.process(b"a \x1b[32mb<c\x1b[0m\r\n\x1b[1mdone");
    let picture = svg(parser.screen());
    assert!(
        picture.contains("fill=\"#7ee787\">b&lt;c</text>"),
        "{picture}"
    );
    assert!(
        picture.contains("font-weight=\"bold\">done</text>"),
        "{picture}"
    );
    assert_eq!(picture.matches("<text ").count(), 3, "{picture}");
}
