use super::{CommandError, Context, Exit};

/// Show what apply would do
#[derive(Debug, clap::Args)]
pub(super) struct PlanArgs {}

pub(super) fn run(_args: &PlanArgs, _context: &Context) -> Result<Exit, CommandError> {
    Err(CommandError::new(Exit::Bug, "is not there yet"))
}
