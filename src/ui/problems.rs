//! Problems of manifests, as text with excerpts and as JSON.

use std::fmt;

use miette::{
    Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteError,
    MietteSpanContents, Severity, SourceCode, SourceSpan, SpanContents,
};
use serde_json::{Value, json};

use super::format::style::signed;
use crate::manifest::{FileSpan, Problem, SUBSTITUTE, SourceFile};
use crate::state::printable::{one_line, visible};

/// The output of `kvshoot validate -o json`.
pub(crate) fn json(errors: &[Problem], warnings: &[Problem], sources: &[SourceFile]) -> Value {
    let list = |problems: &[Problem]| -> Vec<Value> {
        problems
            .iter()
            .map(|problem| one_as_json(problem, sources))
            .collect()
    };
    json!({"valid": errors.is_empty(), "errors": list(errors), "warnings": list(warnings)})
}

/// One problem as JSON. All keys are always present.
pub(crate) fn one_as_json(problem: &Problem, sources: &[SourceFile]) -> Value {
    let (file, line, column) = problem.span.map_or((None, None, None), |place| {
        let source = &sources[place.source as usize];
        let (line, column) = source.line_column(place.start);
        (Some(source.name.as_str()), Some(line), Some(column))
    });
    json!({
        "path": problem.path.to_string(),
        "kind": problem.kind,
        "code": problem.code,
        "message": problem.message,
        "hint": problem.hint,
        "file": file,
        "line": line,
        "column": column,
    })
}

/// All problems for a terminal: errors, warnings, then a summary.
pub(crate) fn all_as_text(
    errors: &[Problem],
    warnings: &[Problem],
    sources: &[SourceFile],
    color: bool,
    width: usize,
) -> String {
    let errors_with_severity = errors.iter().map(|it| (it, Severity::Error));
    let warnings_with_severity = warnings.iter().map(|it| (it, Severity::Warning));
    let mut out: String = errors_with_severity
        .chain(warnings_with_severity)
        .map(|(problem, severity)| text(problem, severity, sources, color, width))
        .collect();
    if let Some(summary) = summary(errors.len(), warnings.len()) {
        out += &summary;
        out.push('\n');
    }
    out
}

/// Summary such as `3 errors, 1 warning`; none without problems.
fn summary(errors: usize, warnings: usize) -> Option<String> {
    let count = |n: usize, word: &str| match n {
        0 => None,
        1 => Some(format!("1 {word}")),
        n => Some(format!("{n} {word}s")),
    };
    let parts: Vec<String> = [count(errors, "error"), count(warnings, "warning")]
        .into_iter()
        .flatten()
        .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// One problem with excerpts of its source lines, for a terminal.
pub(crate) fn text(
    problem: &Problem,
    severity: Severity,
    sources: &[SourceFile],
    color: bool,
    width: usize,
) -> String {
    let mut out = String::new();
    let problem = &printable(problem);
    let theme = if color {
        GraphicalTheme::unicode()
    } else {
        GraphicalTheme::unicode_nocolor()
    };
    let diagnostic = ProblemDiagnostic {
        problem,
        severity,
        sources,
        place: problem.span,
        label: "here",
    };
    let related = problem.related.iter().filter(|(place, _)| {
        !problem
            .span
            .is_some_and(|own| is_near(own, *place, sources))
    });
    let handler = GraphicalReportHandler::new_themed(theme)
        .with_width(width)
        .with_context_lines(1);
    handler
        .render_report(&mut out, &diagnostic)
        .expect("writing to a String cannot fail");
    for (place, label) in related {
        let file = ProblemDiagnostic {
            problem,
            severity,
            sources,
            place: Some(*place),
            label,
        };
        handler
            .render_report(&mut out, &RelatedExcerpt(file))
            .expect("writing to a String cannot fail");
    }
    // All escapes are miette's now: those of excerpts were substituted, those of messages are visible.
    signed(&out).replace(SUBSTITUTE, "\\x1b")
}

/// Copies a problem with visible texts, so that all escapes in the output of miette are its own.
fn printable(problem: &Problem) -> Problem {
    let related = problem.related.iter();
    Problem {
        message: visible(&problem.message),
        hint: problem.hint.as_deref().map(visible),
        related: related
            .map(|(place, label)| (*place, one_line(label)))
            .collect(),
        ..problem.clone()
    }
}

/// True if two places fit in one excerpt. miette prints all lines between them, so they must be close.
fn is_near(one: FileSpan, other: FileSpan, sources: &[SourceFile]) -> bool {
    const LINES: usize = 8;
    let line = |place: FileSpan| sources[place.source as usize].line_column(place.start).0;
    one.source == other.source && line(one).abs_diff(line(other)) <= LINES
}

/// A problem as a miette diagnostic: labels in one source.
#[derive(Debug)]
struct ProblemDiagnostic<'p> {
    problem: &'p Problem,
    severity: Severity,
    sources: &'p [SourceFile],
    place: Option<FileSpan>,
    label: &'p str,
}

impl ProblemDiagnostic<'_> {
    /// Lines of a Secret are not printed, only their numbers.
    fn is_secret(&self, place: FileSpan) -> bool {
        self.sources[place.source as usize].is_secret(place.start)
    }
}

impl fmt::Display for ProblemDiagnostic<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = self.place.filter(|place| self.is_secret(*place)) {
            let source = &self.sources[place.source as usize];
            let (line, column) = source.line_column(place.start);
            write!(f, "{}:{line}:{column}: ", one_line(&source.name))?;
        }
        let path = self.problem.path.to_string();
        if !path.is_empty() {
            write!(f, "{}: ", one_line(&path))?;
        }
        f.write_str(&self.problem.message)
    }
}

impl std::error::Error for ProblemDiagnostic<'_> {}

impl Diagnostic for ProblemDiagnostic<'_> {
    fn severity(&self) -> Option<Severity> {
        Some(self.severity)
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.problem
            .hint
            .as_ref()
            .map(|hint| Box::new(hint) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.place
            .filter(|place| !self.is_secret(*place))
            .map(|place| &self.sources[place.source as usize] as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let place = self.place.filter(|place| !self.is_secret(*place))?;
        let own = [label(
            place,
            self.label,
            &self.sources[place.source as usize],
        )];
        let related = self
            .problem
            .related
            .iter()
            .filter(move |(other, _)| is_near(place, *other, self.sources) && *other != place);
        let related =
            related.map(|(other, text)| label(*other, text, &self.sources[other.source as usize]));
        Some(Box::new(own.into_iter().chain(related)))
    }
}

/// Excerpt of another place that a problem refers to.
#[derive(Debug)]
struct RelatedExcerpt<'p>(ProblemDiagnostic<'p>);

impl fmt::Display for RelatedExcerpt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.label)
    }
}

impl std::error::Error for RelatedExcerpt<'_> {}

impl Diagnostic for RelatedExcerpt<'_> {
    fn severity(&self) -> Option<Severity> {
        Some(Severity::Advice)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.0.source_code()
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let place = self.0.place.filter(|place| !self.0.is_secret(*place))?;
        Some(Box::new(
            [label(place, "here", &self.0.sources[place.source as usize])].into_iter(),
        ))
    }
}

/// Label for a place, limited to its first line and to [`WINDOW`].
fn label(place: FileSpan, text: &str, source: &SourceFile) -> LabeledSpan {
    let (line, _) = source.line_column(place.start);
    let line_end = source.line_range(line).end;
    // A place within a line break is shown at the end of the line.
    let start = place.start.min(line_end);
    let end = place.end.min(line_end).min(start + WINDOW / 2).max(start);
    LabeledSpan::new(
        Some(text.to_owned()),
        start as usize,
        (end - start) as usize,
    )
}

/// Maximum number of bytes printed of one line.
const WINDOW: u32 = 240;

/// miette's implementation for `str` counts lines from the start for every label, which is quadratic; a single line
/// can be 3 MB long.
impl SourceCode for SourceFile {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        before: usize,
        after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let at = |offset: usize| u32::try_from(offset).map_err(|_| MietteError::OutOfBounds);
        let (start, end) = (at(span.offset())?, at(span.offset() + span.len())?);
        if end as usize > self.text.len() {
            return Err(MietteError::OutOfBounds);
        }
        let ((first, _), (last, _)) = (self.line_column(start), self.line_column(end));
        let (from, to) = (
            first.saturating_sub(before).max(1),
            (last + after).min(self.line_count()),
        );
        // Without context, miette expects the line and column of the span itself.
        let mut begin = if before == 0 {
            start
        } else {
            self.line_range(from).start
        };
        let mut finish = self.line_range(to).end;
        if start - begin > 4 * WINDOW {
            begin = self.boundary(
                start
                    .saturating_sub(WINDOW / 2)
                    .max(self.line_range(first).start),
            );
        }
        if finish.saturating_sub(end) > 4 * WINDOW {
            finish = self.boundary(end + WINDOW / 2);
        }
        let (line, column) = self.line_column(begin);
        let data = self
            .shown()
            .as_bytes()
            .get(begin as usize..finish as usize)
            .ok_or(MietteError::OutOfBounds)?;
        let span = SourceSpan::from((begin as usize, (finish - begin) as usize));
        Ok(Box::new(MietteSpanContents::new_named(
            one_line(&self.name),
            data,
            span,
            line - 1,
            column - 1,
            self.line_count(),
        )))
    }
}
