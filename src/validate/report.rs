//! What the rules say: where they are, and what they found there.

use crate::model::{DocumentKind, FieldPath, Finding, FindingKind, Segment};

/// So many are kept; nobody reads more, and a hostile manifest shall not fill the memory.
const MOST: usize = 10_000;

/// A place in a document. It costs nothing until something is wrong there: pools are many.
#[derive(Clone, Copy)]
pub(crate) struct FieldCursor<'p> {
    document: DocumentKind,
    above: Option<&'p FieldCursor<'p>>,
    step: CursorStep<'p>,
}

#[derive(Clone, Copy)]
enum CursorStep<'p> {
    Root,
    Key(&'p str),
    Index(usize),
}

impl<'p> FieldCursor<'p> {
    pub(crate) const fn root(document: DocumentKind) -> Self {
        Self {
            document,
            above: None,
            step: CursorStep::Root,
        }
    }

    pub(crate) fn key<'c>(&'c self, key: &'c str) -> FieldCursor<'c> {
        self.below(CursorStep::Key(key))
    }

    pub(crate) fn index(&self, index: usize) -> FieldCursor<'_> {
        self.below(CursorStep::Index(index))
    }

    fn below<'c>(&'c self, step: CursorStep<'c>) -> FieldCursor<'c> {
        FieldCursor {
            document: self.document,
            above: Some(self),
            step,
        }
    }

    pub(crate) fn path(&self) -> FieldPath {
        let mut segments = Vec::new();
        let mut at = Some(self);
        while let Some(here) = at {
            match here.step {
                CursorStep::Root => {}
                CursorStep::Key(key) => segments.push(Segment::Key(key.to_owned())),
                CursorStep::Index(index) => segments.push(Segment::Index(index)),
            }
            at = here.above;
        }
        segments.into_iter().rev().collect()
    }
}

#[derive(Default)]
pub(crate) struct FindingSink {
    pub(crate) errors: Vec<Finding>,
    pub(crate) warnings: Vec<Finding>,
}

impl FindingSink {
    pub(crate) fn error(
        &mut self,
        at: &FieldCursor,
        kind: FindingKind,
        code: &'static str,
        message: impl Into<String>,
    ) -> PendingFinding<'_> {
        tell(&mut self.errors, at, kind, code, message.into())
    }

    /// Of something that is done all the same.
    pub(crate) fn warning(
        &mut self,
        at: &FieldCursor,
        kind: FindingKind,
        code: &'static str,
        message: impl Into<String>,
    ) -> PendingFinding<'_> {
        tell(&mut self.warnings, at, kind, code, message.into())
    }
}

fn tell<'r>(
    findings: &'r mut Vec<Finding>,
    at: &FieldCursor,
    kind: FindingKind,
    code: &'static str,
    message: String,
) -> PendingFinding<'r> {
    if findings.len() >= MOST {
        return PendingFinding(None);
    }
    findings.push(Finding {
        document: at.document,
        path: at.path(),
        kind,
        code,
        message,
        hint: None,
        see: None,
        inside: None,
    });
    PendingFinding(findings.last_mut())
}

/// What was just told, to add to it.
pub(crate) struct PendingFinding<'r>(Option<&'r mut Finding>);

impl PendingFinding<'_> {
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        if let Some(finding) = &mut self.0 {
            finding.hint = Some(hint.into());
        }
        self
    }

    /// Another field that explains it.
    pub(crate) fn see(mut self, at: &FieldCursor, label: impl Into<String>) -> Self {
        if let Some(finding) = &mut self.0 {
            finding.see = Some((at.document, at.path(), label.into()));
        }
        self
    }

    /// Line and column, from 1, inside the text of the field.
    pub(crate) fn inside(mut self, line: usize, column: usize) -> Self {
        if let Some(finding) = &mut self.0 {
            finding.inside = Some((line, column));
        }
        self
    }
}
