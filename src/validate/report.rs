//! What the rules say: where they are, and what they found there.

use crate::model::{Document, FieldPath, Finding, Kind, Segment};

/// So many are kept; nobody reads more, and a hostile manifest shall not fill the memory.
const MOST: usize = 10_000;

/// A place in a document. It costs nothing until something is wrong there: pools are many.
#[derive(Clone, Copy)]
pub(super) struct At<'p> {
    document: Document,
    above: Option<&'p At<'p>>,
    step: Step<'p>,
}

#[derive(Clone, Copy)]
enum Step<'p> {
    Root,
    Key(&'p str),
    Index(usize),
}

impl<'p> At<'p> {
    pub(super) const fn root(document: Document) -> Self {
        Self {
            document,
            above: None,
            step: Step::Root,
        }
    }

    pub(super) fn key<'c>(&'c self, key: &'c str) -> At<'c> {
        self.below(Step::Key(key))
    }

    pub(super) fn index(&self, index: usize) -> At<'_> {
        self.below(Step::Index(index))
    }

    fn below<'c>(&'c self, step: Step<'c>) -> At<'c> {
        At {
            document: self.document,
            above: Some(self),
            step,
        }
    }

    pub(super) fn path(&self) -> FieldPath {
        let mut segments = Vec::new();
        let mut at = Some(self);
        while let Some(here) = at {
            match here.step {
                Step::Root => {}
                Step::Key(key) => segments.push(Segment::Key(key.to_owned())),
                Step::Index(index) => segments.push(Segment::Index(index)),
            }
            at = here.above;
        }
        segments.into_iter().rev().collect()
    }
}

#[derive(Default)]
pub(super) struct Report {
    pub(super) errors: Vec<Finding>,
    pub(super) warnings: Vec<Finding>,
}

impl Report {
    pub(super) fn error(
        &mut self,
        at: &At,
        kind: Kind,
        code: &'static str,
        message: impl Into<String>,
    ) -> Told<'_> {
        tell(&mut self.errors, at, kind, code, message.into())
    }

    /// Of something that is done all the same.
    pub(super) fn warning(
        &mut self,
        at: &At,
        kind: Kind,
        code: &'static str,
        message: impl Into<String>,
    ) -> Told<'_> {
        tell(&mut self.warnings, at, kind, code, message.into())
    }
}

fn tell<'r>(
    findings: &'r mut Vec<Finding>,
    at: &At,
    kind: Kind,
    code: &'static str,
    message: String,
) -> Told<'r> {
    if findings.len() >= MOST {
        return Told(None);
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
    Told(findings.last_mut())
}

/// What was just told, to add to it.
pub(super) struct Told<'r>(Option<&'r mut Finding>);

impl Told<'_> {
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        if let Some(finding) = &mut self.0 {
            finding.hint = Some(hint.into());
        }
        self
    }

    /// Another field that explains it.
    pub(super) fn see(mut self, at: &At, label: impl Into<String>) -> Self {
        if let Some(finding) = &mut self.0 {
            finding.see = Some((at.document, at.path(), label.into()));
        }
        self
    }

    /// Line and column, from 1, inside the text of the field.
    pub(super) fn inside(mut self, line: usize, column: usize) -> Self {
        if let Some(finding) = &mut self.0 {
            finding.inside = Some((line, column));
        }
        self
    }
}

/// A few names of what there is, for a hint.
pub(super) fn some_of<'n>(names: impl Iterator<Item = &'n str>) -> String {
    const SHOWN: usize = 10;
    let mut names: Vec<&str> = names.collect();
    let more = names.len().saturating_sub(SHOWN);
    names.truncate(SHOWN);
    match (names.is_empty(), more) {
        (true, _) => "nothing".to_owned(),
        (false, 0) => names.join(", "),
        (false, more) => format!("{} and {more} more", names.join(", ")),
    }
}
