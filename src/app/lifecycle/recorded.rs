//! Applying what the record of a shoot has.

use crate::app::apply::{Applied, ApplyRequest, RecordExpectation, apply_shoot};
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit, failed};
use crate::app::run::session::RunOptions;
use crate::app::signals::Signals;
use crate::cluster::{ApiClient, RecordSnapshot};
use crate::load::recorded_shoot;
use crate::state::names::display_name;
use crate::validate::ValidShoot;
use std::cell::Cell;
use std::collections::BTreeSet;

/// A run with the last applied manifest.
pub(crate) struct RecordedRun<'a> {
    /// The subcommand.
    pub(crate) verb: &'static str,
    pub(crate) run: RunOptions,
    pub(crate) context: &'a Context,
    pub(crate) signals: &'a Signals,
    pub(crate) provider: &'a ApiClient,
    pub(crate) expects: RecordExpectation,
}

impl RecordedRun<'_> {
    /// Applies a shoot, and prints the command that resumes it if it is interrupted.
    pub(crate) async fn apply(&self, shoot: &ValidShoot) -> Result<Applied, CommandError> {
        let request = ApplyRequest {
            verb: self.verb,
            run: self.run,
            create_namespace: false,
            resume: Some(self.context.config.command_line()),
            expects: self.expects,
            skipped: BTreeSet::new(),
            health: None,
            skip_if: None,
            started: &Cell::new(false),
            group: None,
        };
        apply_shoot(&request, self.context, self.signals, self.provider, shoot).await
    }
}

/// The Shoot as it was last applied, with its user data.
///
/// # Errors
///
/// This version cannot read the manifest, or the Secret with user data is missing.
pub(crate) async fn last_applied_shoot(
    provider: &ApiClient,
    record: &RecordSnapshot,
) -> Result<ValidShoot, CommandError> {
    let complete = provider.complete_record(record.clone()).await;
    let complete = complete.map_err(failed)?;
    let shoot = recorded_shoot(&record.name, &complete.data, jiff::Timestamp::now());
    shoot.ok_or_else(|| {
        let name = display_name(&record.name);
        let message = format!("cannot read the record of shoot {name}");
        CommandError::new(Exit::Precondition, message)
            .hint("apply its manifest, then run this command again")
    })
}
