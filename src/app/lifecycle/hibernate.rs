//! `kvshoot hibernate` and `kvshoot wake`.

use super::recorded::{RecordedRun, last_applied_shoot};
use crate::app::apply::RecordExpectation;
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit, failed};
use crate::app::inspect::recorded_hibernation::hibernation;
use crate::app::inspect::shoot_summary::find;
use crate::app::provider::connect::connect;
use crate::app::rotate;
use crate::app::run::session::RunOptions;
use crate::app::signals::Signals;
use crate::cluster::{ApiClient, Error, RecordSnapshot, webhook_refusal};
use crate::state::names::display_name;
use crate::state::record::ETCD;
use crate::state::record::etcd::EtcdRecord;
use crate::state::record::hibernation::{HIBERNATION, HibernationRecord, obstacle};
use crate::validate::ValidShoot;
use serde_json::json;

const FIND: &str = "find the shoot";
/// Writes of a record that other programs may change in between.
const ATTEMPTS: u32 = 5;

/// Options of `kvshoot hibernate` and `kvshoot wake`.
#[derive(Debug)]
pub(crate) struct HibernateOptions {
    /// Display name of the shoot.
    pub(crate) name: String,
    /// Stops the shoot; otherwise it is started.
    pub(crate) hibernates: bool,
    /// Does not look for webhooks that keep the shoot from waking.
    pub(crate) force: bool,
    pub(crate) run: RunOptions,
}

/// Stops or starts a shoot, and waits until it is done.
pub(crate) fn hibernate(
    options: &HibernateOptions,
    context: &Context,
) -> Result<Exit, CommandError> {
    context.block_on(async {
        let signals = Signals::listen(Some(options.run.timeout))?;
        let decided = async {
            let provider = connect(context).await?;
            let shoot = decide(&provider, options, context).await?;
            Ok((provider, shoot))
        };
        let (provider, shoot) = signals.or_interrupted(FIND, decided).await?;
        let (verb, result) = match options.hibernates {
            true => ("hibernate", "hibernated"),
            false => ("wake", "woken"),
        };
        let run = RecordedRun {
            verb,
            run: options.run,
            context,
            signals: &signals,
            provider: &provider,
            expects: RecordExpectation::Any,
        };
        let applied = run.apply(&shoot).await?;
        if applied.exit == Exit::Done {
            let result = match applied.verb {
                "unchanged" => "unchanged",
                _ => result,
            };
            let name = &options.name;
            let line = format!("shoot.core.gardener.cloud/{name} {result}\n");
            context.ui.data(&line);
        }
        Ok(applied.exit)
    })?
}

/// Writes the decision to the record, unless it is there, and returns the Shoot.
async fn decide(
    provider: &ApiClient,
    options: &HibernateOptions,
    context: &Context,
) -> Result<ValidShoot, CommandError> {
    let mut attempt = 0;
    loop {
        attempt += 1;
        let record = find(provider, &options.name, context).await?;
        let shoot = last_applied_shoot(provider, &record).await?;
        let before = hibernation(&record)?;
        let is_new = before.enabled != options.hibernates;
        if !is_new && (!options.force || before.forced) {
            return Ok(shoot);
        }
        if options.hibernates && is_new {
            refuse_obstacle(&record, context)?;
        }
        if options.hibernates && !options.force {
            refuse_webhooks(provider, &record).await?;
        }
        let after = HibernationRecord {
            forced: options.force,
            ..before.decided(options.hibernates, provider.current_time())
        };
        let text = serde_json::to_string(&after).expect("numbers and flags");
        let data = json!({ HIBERNATION: text });
        match provider.change_record(&record, data).await {
            Ok(()) => return Ok(shoot),
            Err(Error::Conflict { .. }) if attempt < ATTEMPTS => {}
            Err(error) => return Err(failed(error)),
        }
    }
}

/// # Errors
///
/// Something is under way that needs the control plane. Nothing was written.
fn refuse_obstacle(record: &RecordSnapshot, context: &Context) -> Result<(), CommandError> {
    let rotations = rotate::rotations(record)?;
    let etcd = record.data.get(ETCD);
    let etcd: Option<EtcdRecord> = etcd.and_then(|it| serde_json::from_str(it).ok());
    let Some(what) = obstacle(&rotations, etcd.as_ref()) else {
        return Ok(());
    };
    let name = display_name(&record.name);
    let message = format!("cannot hibernate shoot {name}: {what} is under way");
    let status = context.hint_command(&["status", &name]);
    let hint = format!("kvshoot apply resumes it; to see its phase: {status}");
    Err(CommandError::new(Exit::Precondition, message).hint(hint))
}

/// # Errors
///
/// A webhook would keep the shoot from waking. Nothing was written.
async fn refuse_webhooks(
    provider: &ApiClient,
    record: &RecordSnapshot,
) -> Result<(), CommandError> {
    let found = async {
        provider
            .shoot_client(&record.name)
            .await?
            .blocking_webhooks()
            .await
    };
    match found.await {
        Ok(webhooks) if webhooks.is_empty() => Ok(()),
        Ok(webhooks) => {
            let name = display_name(&record.name);
            let message = format!(
                "cannot hibernate shoot {name}: {}",
                webhook_refusal(&webhooks)
            );
            Err(CommandError::new(Exit::Precondition, message))
        }
        // They are looked for again before the first machine is halted.
        Err(error) => {
            tracing::debug!(%error, "cannot list the webhooks of the shoot");
            Ok(())
        }
    }
}
