//! `kvshoot hibernate` and `kvshoot wake`.

use super::recorded::{RecordedChange, shoot_name};
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::inspect::recorded_hibernation::hibernation;
use crate::app::rotate;
use crate::app::run::session::RunOptions;
use crate::cluster::{ApiClient, RecordSnapshot, webhook_refusal};
use crate::state::names::display_name;
use crate::state::record::ETCD;
use crate::state::record::etcd::EtcdRecord;
use crate::state::record::hibernation::{HIBERNATION, HibernationRecord, obstacle};
use serde_json::{Value, json};

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
    let (verb, done) = match options.hibernates {
        true => ("hibernate", "hibernated"),
        false => ("wake", "woken"),
    };
    let change = RecordedChange {
        verb,
        subject: &shoot_name(&options.name),
        done,
        name: &options.name,
        run: options.run,
    };
    change.execute(context, async |provider, record, _| {
        decide(provider, record, options, context).await
    })
}

/// The change of the record; None if it has the decision.
async fn decide(
    provider: &ApiClient,
    record: &RecordSnapshot,
    options: &HibernateOptions,
    context: &Context,
) -> Result<Option<Value>, CommandError> {
    let before = hibernation(record)?;
    let is_new = before.enabled != options.hibernates;
    if !is_new && (!options.force || before.forced) {
        return Ok(None);
    }
    if options.hibernates && is_new {
        refuse_obstacle(record, context)?;
    }
    if options.hibernates && !options.force {
        refuse_webhooks(provider, record).await?;
    }
    let after = HibernationRecord {
        forced: options.force,
        ..before.decided(options.hibernates, provider.current_time())
    };
    let text = serde_json::to_string(&after).expect("numbers and flags");
    Ok(Some(json!({ HIBERNATION: text })))
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
