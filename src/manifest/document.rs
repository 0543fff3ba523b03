//! One document: checked, read, and kept with what was found wrong.

use crate::model::FieldPath;

use super::check::{self, Flaws};
use super::content::Content;
use super::kinds::known;
use super::problem::{Kind, Problem};
use super::read;
use super::schema::Shapes;
use super::source::Source;
use super::tree::{NodeId, Tree};

#[derive(Debug)]
pub(super) struct Document {
    pub(super) source: usize,
    pub(super) root: NodeId,
    pub(super) flaws: Flaws,
    pub(super) content: Content,
}

pub(super) fn read_document(
    number: u32,
    source: &Source,
    tree: &Tree,
    root: NodeId,
) -> (Option<Document>, Vec<Problem>) {
    let known = match known(number, source, tree, root) {
        Ok(known) => known,
        Err(problem) => return (None, vec![*problem]),
    };
    let schema = (known.schema)();
    let shapes = Shapes::of(schema.as_value());
    let (flaws, mut problems) = check::check(number, source, tree, root, &shapes);
    let reader = read::Reader {
        source,
        tree,
        flaws: &flaws,
        node: root,
    };
    match (known.read)(reader) {
        Ok(content) => (
            Some(Document {
                source: number as usize,
                root,
                flaws,
                content,
            }),
            problems,
        ),
        Err(error) => {
            // The schema allows what the types refuse: our fault, but the person has to be told something.
            let problem = Problem::new(
                FieldPath::root(),
                Kind::Invalid,
                "schema/unreadable",
                error.to_string(),
            )
            .at(tree.place(number, root));
            problems.push(problem);
            (None, problems)
        }
    }
}

/// One warning of a document for all that is given and has no effect.
pub(super) fn unused(number: u32, tree: &Tree, flaws: &Flaws) -> Option<Problem> {
    const SHOWN: usize = 12;
    let first = flaws
        .unused
        .values()
        .map(|key| tree.place(number, *key))
        .min()?;
    let mut names: Vec<&str> = flaws.unused.keys().map(String::as_str).collect();
    let more = names.len().saturating_sub(SHOWN);
    names.truncate(SHOWN);
    let mut message = format!("kvshoot does not use {}", names.join(", "));
    if more > 0 {
        message += &format!(" and {more} more");
    }
    let problem = Problem::new(
        FieldPath::root(),
        Kind::NotSupported,
        "manifest/unused",
        message,
    );
    Some(problem.at(first))
}
