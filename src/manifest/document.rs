//! A document, checked against its schema and read into the model.

use crate::model::FieldPath;

use super::check::{self, Checked, NodeProblems};
use super::content::Content;
use super::kinds::known;
use super::problem::{FindingKind, Problem};
use super::read;
use super::source::SourceFile;
use super::tree::{NodeId, Tree};

#[derive(Debug)]
pub(super) struct ManifestDocument {
    pub(super) source: usize,
    pub(super) root: NodeId,
    pub(super) node_problems: NodeProblems,
    pub(super) content: Content,
}

/// A document with its problems.
pub(super) struct ReadDocument {
    /// None if it cannot be read at all.
    pub(super) document: Option<ManifestDocument>,
    pub(super) problems: Vec<Problem>,
    pub(super) warnings: Vec<Problem>,
}

impl ReadDocument {
    fn unreadable(problems: Vec<Problem>) -> ReadDocument {
        ReadDocument {
            document: None,
            problems,
            warnings: Vec::new(),
        }
    }
}

pub(super) fn read_document(
    number: u32,
    source: &SourceFile,
    tree: &Tree,
    root: NodeId,
) -> ReadDocument {
    let known = match known(number, source, tree, root) {
        Ok(known) => known,
        Err(problem) => return ReadDocument::unreadable(vec![*problem]),
    };
    let Checked {
        node_problems,
        mut problems,
        warnings,
    } = check::check(number, source, tree, root, &known.compiled);
    let reader = read::TreeReader {
        source,
        tree,
        node_problems: &node_problems,
        node: root,
    };
    match (known.read)(reader) {
        Ok(content) => ReadDocument {
            document: Some(ManifestDocument {
                source: number as usize,
                root,
                node_problems,
                content,
            }),
            problems,
            warnings,
        },
        Err(error) => {
            // A bug: the schema accepts a document that the types reject. It is reported all the same.
            let problem = Problem::new(
                FieldPath::root(),
                FindingKind::Invalid,
                "schema/unreadable",
                error.to_string(),
            )
            .at(tree.place(number, root));
            problems.push(problem);
            ReadDocument::unreadable(problems)
        }
    }
}
