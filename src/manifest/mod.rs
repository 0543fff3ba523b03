//! Reads YAML into the model and keeps the source span of every field.
//!
//! Four steps, each of which reports all its problems: text to tree (`tree`), tree against schema (`check`), tree to types
//! (`read`, which cannot fail), and the rules in `validate`, whose findings have paths that `locate` maps to spans.

mod check;
mod confidential;
mod content;
mod decode;
mod document;
mod kinds;
mod locate;
mod objects;
mod problem;
mod read;
mod scalar;
mod schema;
mod source;
#[cfg(test)]
mod tests;
mod tree;

use crate::model::{FieldPath, FindingKind};

pub(crate) use content::Content;
pub(crate) use decode::ENCODING;
pub(crate) use kinds::{kinds, schema_of};
pub(crate) use objects::{ManifestObjects, read_value};
pub(crate) use problem::Problem;
pub(crate) use source::{FileSpan, SUBSTITUTE, SourceFile};

use document::{ManifestDocument, read_document};
use tree::{NodeId, Tree};

/// The documents of all files given with `-f`.
#[derive(Debug, Default)]
pub(crate) struct Manifest {
    sources: Vec<SourceFile>,
    trees: Vec<Tree>,
    documents: Vec<ManifestDocument>,
    problems: Vec<Problem>,
    warnings: Vec<Problem>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct DocumentId(usize);

impl Manifest {
    pub(crate) fn parse(files: impl IntoIterator<Item = (String, Vec<u8>)>) -> Self {
        let mut manifest = Self::default();
        for (name, bytes) in files {
            manifest.add(name, bytes);
        }
        manifest
    }

    pub(crate) fn add(&mut self, name: String, bytes: Vec<u8>) {
        let number = source::offset(self.sources.len());
        let (source, tree, problems) = decode::parse(number, name, bytes, tree::MANIFESTS);
        let is_silent = problems.is_empty();
        self.problems.extend(problems);
        let roots: Vec<NodeId> = tree
            .roots
            .iter()
            .copied()
            .filter(|root| !tree.is_null(&source, *root))
            .collect();
        if roots.is_empty() && is_silent {
            let place = FileSpan {
                source: number,
                start: 0,
                end: 0,
            };
            self.problems.push(
                Problem::new(
                    FieldPath::root(),
                    FindingKind::Required,
                    "manifest/empty",
                    "file contains no documents",
                )
                .at(place),
            );
        }
        for root in roots {
            let read = read_document(number, &source, &tree, root);
            self.problems.extend(read.problems);
            self.warnings.extend(read.warnings);
            self.documents.extend(read.document);
        }
        self.sources.push(source);
        self.trees.push(tree);
    }

    pub(crate) fn sources(&self) -> &[SourceFile] {
        &self.sources
    }

    pub(crate) fn problems(&self) -> &[Problem] {
        &self.problems
    }

    pub(crate) fn documents(&self) -> impl Iterator<Item = (DocumentId, &Content)> {
        self.documents
            .iter()
            .enumerate()
            .map(|(i, document)| (DocumentId(i), &document.content))
    }

    /// Index of the file of a document in [`Manifest::sources`].
    pub(crate) fn source_of(&self, document: DocumentId) -> usize {
        self.documents[document.0].source
    }

    /// Problems that do not prevent the documents from being used.
    pub(crate) fn warnings(&self) -> &[Problem] {
        &self.warnings
    }

    /// Adds a problem with its span, unless that part of the document already has one.
    pub(crate) fn report(&mut self, document: DocumentId, problem: Problem) {
        let problem = self.placed(document, problem);
        self.problems.extend(problem);
    }

    /// Adds a warning in the same way.
    pub(crate) fn warn(&mut self, document: DocumentId, problem: Problem) {
        let problem = self.placed(document, problem);
        self.warnings.extend(problem);
    }

    /// Adds a problem or warning that has no span.
    pub(crate) fn report_without_span(&mut self, problem: Problem, is_warning: bool) {
        if is_warning {
            self.warnings.push(problem);
        } else {
            self.problems.push(problem);
        }
    }

    /// Sorts problems and warnings by their position in the files; those without one are last.
    pub(crate) fn sort_problems(&mut self) {
        let position = |it: &Problem| (it.span.is_none(), it.span);
        self.problems.sort_by_key(position);
        self.warnings.sort_by_key(position);
    }

    /// Returns the span of a field: its value if that is a scalar, else its key; its parent's key if it is absent.
    /// `None` if the field is in a part of the document that already has a problem.
    pub(crate) fn locate(&self, document: DocumentId, path: &FieldPath) -> Option<FileSpan> {
        let (document, source, tree) = self.parts(document);
        locate::locate(document, source, tree, path)
    }

    /// Returns the span of the key of a field, as [`Self::locate`] does for its value.
    pub(crate) fn locate_key(&self, document: DocumentId, path: &FieldPath) -> Option<FileSpan> {
        let (document, source, tree) = self.parts(document);
        locate::locate_key(document, source, tree, path)
    }

    /// Returns the span of a line and column (from 1) inside a value, such as an error in the JSON of a block scalar.
    pub(crate) fn locate_inside(
        &self,
        document: DocumentId,
        path: &FieldPath,
        line: usize,
        column: usize,
    ) -> Option<FileSpan> {
        let (document, source, tree) = self.parts(document);
        locate::locate_inside(document, source, tree, path, (line, column))
    }

    fn parts(&self, document: DocumentId) -> (&ManifestDocument, &SourceFile, &Tree) {
        let document = &self.documents[document.0];
        let (source, tree) = (&self.sources[document.source], &self.trees[document.source]);
        (document, source, tree)
    }

    fn placed(&self, document: DocumentId, problem: Problem) -> Option<Problem> {
        let place = self.locate(document, &problem.path)?;
        let problem = match self.is_placeholder(place) {
            true => problem.hint(Some(tree::TEMPLATE)),
            false => problem,
        };
        Some(if problem.span.is_some() {
            problem
        } else {
            problem.at(place)
        })
    }

    /// Returns true for a value such as `${VERSION}`.
    fn is_placeholder(&self, place: FileSpan) -> bool {
        let text = &self.sources[place.source as usize].text;
        let value = text.get(place.start as usize..place.end as usize);
        value.is_some_and(|it| it.contains("${") && it.contains('}') && !it.contains('\n'))
    }
}
