//! Collects the findings of the rules, with the paths of their fields.

use crate::model::{DocumentKind, FieldPath, Finding, FindingKind, Segment};

/// Maximum number of findings, which bounds the memory that a hostile manifest can use.
const MAX: usize = 10_000;

/// Position of a field in a document. Cheap to create; the path is built only for a finding.
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
        add(&mut self.errors, at, kind, code, message.into())
    }

    /// Adds a warning, which does not prevent the shoot from being applied.
    pub(crate) fn warning(
        &mut self,
        at: &FieldCursor,
        kind: FindingKind,
        code: &'static str,
        message: impl Into<String>,
    ) -> PendingFinding<'_> {
        add(&mut self.warnings, at, kind, code, message.into())
    }
}

fn add<'r>(
    findings: &'r mut Vec<Finding>,
    at: &FieldCursor,
    kind: FindingKind,
    code: &'static str,
    message: String,
) -> PendingFinding<'r> {
    if findings.len() >= MAX {
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
        is_key: false,
        inside: None,
    });
    PendingFinding(findings.last_mut())
}

/// The finding that was just added, for a hint and related fields.
pub(crate) struct PendingFinding<'r>(Option<&'r mut Finding>);

impl PendingFinding<'_> {
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        if let Some(finding) = &mut self.0 {
            finding.hint = Some(hint.into());
        }
        self
    }

    /// Adds a related field.
    pub(crate) fn see(mut self, at: &FieldCursor, label: impl Into<String>) -> Self {
        if let Some(finding) = &mut self.0 {
            finding.see = Some((at.document, at.path(), label.into()));
        }
        self
    }

    /// Marks the key of the field instead of its value.
    pub(crate) fn of_key(mut self) -> Self {
        if let Some(finding) = &mut self.0 {
            finding.is_key = true;
        }
        self
    }

    /// Sets line and column, from 1, in the value of the field.
    pub(crate) fn inside(mut self, line: usize, column: usize) -> Self {
        if let Some(finding) = &mut self.0 {
            finding.inside = Some((line, column));
        }
        self
    }
}
