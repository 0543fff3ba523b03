//! A document, checked against its schema and read into the model.

use crate::model::FieldPath;

use super::check::{self, NodeProblems};
use super::content::Content;
use super::kinds::known;
use super::problem::{FindingKind, Problem};
use super::read;
use super::schema::CompiledSchema;
use super::source::SourceFile;
use super::tree::{NodeId, Tree};

#[derive(Debug)]
pub(super) struct ManifestDocument {
    pub(super) source: usize,
    pub(super) root: NodeId,
    pub(super) node_problems: NodeProblems,
    pub(super) content: Content,
}

pub(super) fn read_document(
    number: u32,
    source: &SourceFile,
    tree: &Tree,
    root: NodeId,
) -> (Option<ManifestDocument>, Vec<Problem>) {
    let known = match known(number, source, tree, root) {
        Ok(known) => known,
        Err(problem) => return (None, vec![*problem]),
    };
    let schema = (known.schema)();
    let schema = CompiledSchema::of(schema.as_value());
    let (node_problems, mut problems) = check::check(number, source, tree, root, &schema);
    let reader = read::TreeReader {
        source,
        tree,
        node_problems: &node_problems,
        node: root,
    };
    match (known.read)(reader) {
        Ok(content) => (
            Some(ManifestDocument {
                source: number as usize,
                root,
                node_problems,
                content,
            }),
            problems,
        ),
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
            (None, problems)
        }
    }
}

/// Warning about all fields of a document that have no effect.
pub(super) fn unused(number: u32, tree: &Tree, node_problems: &NodeProblems) -> Option<Problem> {
    const SHOWN: usize = 12;
    let first = node_problems
        .unused
        .values()
        .map(|key| tree.place(number, *key))
        .min()?;
    let mut names: Vec<&str> = node_problems.unused.keys().map(String::as_str).collect();
    let more = names.len().saturating_sub(SHOWN);
    names.truncate(SHOWN);
    let mut message = format!("kvshoot ignores {}", names.join(", "));
    if more > 0 {
        message += &format!(" and {more} more");
    }
    let problem = Problem::new(
        FieldPath::root(),
        FindingKind::NotSupported,
        "manifest/unused",
        message,
    );
    Some(problem.at(first))
}
