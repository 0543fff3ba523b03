//! Decodes the bytes of a file into a tree.

use crate::model::FieldPath;

use super::problem::{FindingKind, Problem};
use super::source::{self, FileSpan, SourceFile};
use super::tree::{self, Tree};

/// Decodes and parses a file; invalid UTF-8 is reported as a problem.
pub(super) fn parse(
    number: u32,
    name: String,
    bytes: Vec<u8>,
    limits: tree::ParseLimits,
) -> (SourceFile, Tree, Vec<Problem>) {
    let error = match String::from_utf8(bytes) {
        Ok(text) => {
            let source = SourceFile::new(name, text);
            let (tree, problems) = tree::parse(number, &source, limits);
            return (source, tree, problems);
        }
        Err(error) => error,
    };
    let at = source::offset(error.utf8_error().valid_up_to());
    let text = String::from_utf8_lossy(&error.into_bytes()).into_owned();
    let place = FileSpan {
        source: number,
        start: at,
        end: at,
    };
    let problem = Problem::new(
        FieldPath::root(),
        FindingKind::Syntax,
        "yaml/encoding",
        "not valid UTF-8",
    )
    .at(place);
    (SourceFile::new(name, text), Tree::default(), vec![problem])
}
