//! Decodes the bytes of a file into a tree.

use crate::model::FieldPath;

use super::problem::{FindingKind, Problem};
use super::source::{self, FileSpan, SourceFile};
use super::tree::{self, Tree};

/// Code of problems with files whose text is not read.
pub(crate) const ENCODING: &str = "yaml/encoding";

/// Decodes and parses a file; another encoding than UTF-8 is reported as a problem.
pub(super) fn parse(
    number: u32,
    name: String,
    bytes: Vec<u8>,
    limits: tree::ParseLimits,
) -> (SourceFile, Tree, Vec<Problem>) {
    // As UTF-8, each second character of it would be NUL.
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        let problem = encoding_problem(number, 0, "the file is UTF-16");
        let source = SourceFile::new(name, String::new());
        return (source, Tree::default(), vec![problem]);
    }
    let error = match String::from_utf8(bytes) {
        Ok(text) => {
            let source = SourceFile::new(name, without_inner_marks(text));
            let (tree, problems) = tree::parse(number, &source, limits);
            return (source, tree, problems);
        }
        Err(error) => error,
    };
    let at = source::offset(error.utf8_error().valid_up_to());
    let text = String::from_utf8_lossy(&error.into_bytes()).into_owned();
    let problem = encoding_problem(number, at, "not valid UTF-8");
    (SourceFile::new(name, text), Tree::default(), vec![problem])
}

fn encoding_problem(number: u32, at: u32, message: &str) -> Problem {
    let place = FileSpan {
        source: number,
        start: at,
        end: at,
    };
    let kind = FindingKind::Syntax;
    Problem::new(FieldPath::root(), kind, ENCODING, message)
        .at(place)
        .hint(Some("save it as UTF-8"))
}

/// Removes byte order marks next to the markers between documents: files that were joined have one each.
fn without_inner_marks(text: String) -> String {
    const MARK: char = '\u{feff}';
    if !text.chars().skip(1).any(|it| it == MARK) {
        return text;
    }
    let mut is_after_marker = false;
    let lines = text.split_inclusive('\n').enumerate().map(|(index, line)| {
        let rest = line
            .strip_prefix(MARK)
            .filter(|rest| index > 0 && (is_after_marker || rest.starts_with("---")));
        let line = rest.unwrap_or(line);
        is_after_marker = line.starts_with("---");
        line
    });
    lines.collect()
}
