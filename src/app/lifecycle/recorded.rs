//! Applying what the record of a shoot has.

use crate::app::apply::{Applied, ApplyRequest, RecordExpectation, apply_shoot};
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit, failed};
use crate::app::inspect::shoot_summary::find;
use crate::app::provider::connect::connect;
use crate::app::run::session::RunOptions;
use crate::app::signals::Signals;
use crate::cluster::{ApiClient, Error, RecordSnapshot};
use crate::load::recorded_shoot;
use crate::state::names::display_name;
use crate::validate::ValidShoot;
use serde_json::Value;
use std::cell::Cell;
use std::collections::BTreeSet;

const FIND: &str = "find the shoot";
/// Writes of a record that other programs may change in between.
const ATTEMPTS: u32 = 5;

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

    /// Like [`RecordedRun::apply`], and prints the result: the subject, such as `node/NAME`, and `done`, such as `scaled`,
    /// or `unchanged`.
    pub(crate) async fn apply_and_print(
        &self,
        shoot: &ValidShoot,
        subject: &str,
        done: &str,
    ) -> Result<Exit, CommandError> {
        let applied = self.apply(shoot).await?;
        if applied.exit == Exit::Done {
            let result = match applied.verb {
                "unchanged" => "unchanged",
                _ => done,
            };
            let line = format!("{subject} {result}\n");
            self.context.ui.data(&line);
        }
        Ok(applied.exit)
    }
}

/// A command that writes a decision to the record of a shoot, and applies it.
pub(crate) struct RecordedChange<'a> {
    /// The subcommand.
    pub(crate) verb: &'static str,
    /// Printed before the result, such as `node/NAME`.
    pub(crate) subject: &'a str,
    /// Result that is printed unless nothing changed, such as `scaled`.
    pub(crate) done: &'static str,
    /// Display name of the shoot.
    pub(crate) name: &'a str,
    pub(crate) run: RunOptions,
}

impl RecordedChange<'_> {
    /// Writes the data that `decide` returns for a record and its Shoot, and applies the Shoot. None leaves the record as
    /// it is; what it says is applied all the same. `decide` is called again if another program changes the record.
    ///
    /// # Errors
    ///
    /// Those of `decide`, of the write and of the run.
    pub(crate) fn execute(
        &self,
        context: &Context,
        decide: impl AsyncFn(
            &ApiClient,
            &RecordSnapshot,
            &ValidShoot,
        ) -> Result<Option<Value>, CommandError>,
    ) -> Result<Exit, CommandError> {
        context.block_on(async {
            let signals = Signals::listen(Some(self.run.timeout))?;
            let decided = async {
                let provider = connect(context).await?;
                let shoot = self.write(&provider, context, &decide).await?;
                Ok((provider, shoot))
            };
            let (provider, shoot) = signals.or_interrupted(FIND, decided).await?;
            let run = RecordedRun {
                verb: self.verb,
                run: self.run,
                context,
                signals: &signals,
                provider: &provider,
                expects: RecordExpectation::Any,
            };
            run.apply_and_print(&shoot, self.subject, self.done).await
        })?
    }

    async fn write(
        &self,
        provider: &ApiClient,
        context: &Context,
        decide: &impl AsyncFn(
            &ApiClient,
            &RecordSnapshot,
            &ValidShoot,
        ) -> Result<Option<Value>, CommandError>,
    ) -> Result<ValidShoot, CommandError> {
        let mut attempt = 0;
        loop {
            attempt += 1;
            let record = find(provider, self.name, context).await?;
            let shoot = last_applied_shoot(provider, &record).await?;
            let Some(data) = decide(provider, &record, &shoot).await? else {
                return Ok(shoot);
            };
            match provider.change_record(&record, data).await {
                Ok(()) => return Ok(shoot),
                Err(Error::Conflict { .. }) if attempt < ATTEMPTS => {}
                Err(error) => return Err(failed(error)),
            }
        }
    }
}

/// The name of a shoot before the result of a command.
pub(crate) fn shoot_name(name: &str) -> String {
    format!("shoot.core.gardener.cloud/{name}")
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
    let shoot = recorded_shoot(&record.name, &complete.data, crate::clock::now());
    shoot.ok_or_else(|| {
        let name = display_name(&record.name);
        let message = format!("cannot read the record of shoot {name}");
        CommandError::new(Exit::Precondition, message)
            .hint("apply its manifest, then run this command again")
    })
}
