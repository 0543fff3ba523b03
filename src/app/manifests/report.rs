//! Printing the problems of manifests.

use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::load::Loaded;
use crate::manifest::{Problem, SourceFile};
use crate::ui::problems;

/// Reports errors, which end the command, and warnings, which do not.
pub(crate) fn accept(loaded: Loaded, context: &Context) -> Result<Loaded, CommandError> {
    report(&loaded, context);
    if loaded.is_valid() {
        Ok(loaded)
    } else {
        Err(CommandError::silent(Exit::Manifest))
    }
}

/// Prints each problem with its source lines.
pub(crate) fn report(loaded: &Loaded, context: &Context) {
    let manifest = &loaded.manifest;
    report_problems(
        manifest.problems(),
        manifest.warnings(),
        manifest.sources(),
        context,
    );
}

pub(crate) fn report_problems(
    errors: &[Problem],
    warnings: &[Problem],
    sources: &[SourceFile],
    context: &Context,
) {
    let (style, width) = (context.ui.err_style().on, context.ui.err_width());
    let text = problems::all_as_text(errors, warnings, sources, style, width);
    if !text.is_empty() {
        let errors = errors.iter().map(|problem| ("error", problem));
        let all = errors.chain(warnings.iter().map(|problem| ("warning", problem)));
        let values = all.map(|(level, problem)| (level, problems::one_as_json(problem, sources)));
        context.ui.problems(&text, values);
    }
}
