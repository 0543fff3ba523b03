//! Bytes of a file to a tree.

use crate::model::FieldPath;

use super::problem::{Kind, Problem};
use super::source::{self, Place, Source};
use super::tree::{self, Tree};

/// One file; what is no text is a problem of it.
pub(super) fn parse(
    number: u32,
    name: String,
    bytes: Vec<u8>,
    bounds: tree::Bounds,
) -> (Source, Tree, Vec<Problem>) {
    let error = match String::from_utf8(bytes) {
        Ok(text) => {
            let source = Source::new(name, text);
            let (tree, problems) = tree::parse(number, &source, bounds);
            return (source, tree, problems);
        }
        Err(error) => error,
    };
    let at = source::offset(error.utf8_error().valid_up_to());
    let text = String::from_utf8_lossy(&error.into_bytes()).into_owned();
    let place = Place {
        source: number,
        start: at,
        end: at,
    };
    let problem = Problem::new(
        FieldPath::root(),
        Kind::Syntax,
        "yaml/encoding",
        "is not UTF-8",
    )
    .at(place);
    (Source::new(name, text), Tree::default(), vec![problem])
}
