//! `kvshoot repair`: volumes that hang after their machine is gone.

use super::context::Context;
use super::error::{CommandError, Exit, failed};
use super::inspect::recorded_hibernation::hibernation;
use super::inspect::shoot_summary::find;
use super::lifecycle::recorded::shoot_name;
use super::provider::connect::connect;
use super::signals::Signals;
use crate::cluster::{ApiClient, RecordSnapshot, StaleAttachment};
use std::time::Duration;

const VERB: &str = "repair";

/// Options of `kvshoot repair`.
#[derive(Debug)]
pub(crate) struct RepairOptions {
    /// Display name of the shoot.
    pub(crate) name: String,
    /// Time that the CSI driver has for the deletion of an attachment.
    pub(crate) older_than: Duration,
    /// Only prints what would be repaired.
    pub(crate) dry_run: bool,
    pub(crate) timeout: Duration,
}

/// Ends the deletion of attachments of volumes to nodes that are gone, if nothing has the volume. The exit code is 1 if
/// one is left, also by a dry run.
pub(crate) fn repair(options: &RepairOptions, context: &Context) -> Result<Exit, CommandError> {
    context.block_on(async {
        let signals = Signals::listen(Some(options.timeout))?;
        let repaired = async {
            let provider = connect(context).await?;
            let record = find(&provider, &options.name, context).await?;
            repair_volumes(options, context, &provider, &record).await
        };
        signals.or_interrupted(VERB, repaired).await
    })?
}

async fn repair_volumes(
    options: &RepairOptions,
    context: &Context,
    provider: &ApiClient,
    record: &RecordSnapshot,
) -> Result<Exit, CommandError> {
    let name = &options.name;
    if hibernation(record)?.enabled {
        let message = format!("cannot repair shoot {name}: it is hibernated");
        let wake = context.hint_command(&["wake", name]);
        let error = CommandError::new(Exit::Precondition, message);
        return Err(error.hint(format!("to start it: {wake}")));
    }
    let shoot = provider.shoot_client(&record.name).await.map_err(failed)?;
    let stale = provider.stale_attachments(&shoot, options.older_than);
    let stale = stale.await.map_err(failed)?;
    if stale.is_empty() {
        let line = format!("{} unchanged\n", shoot_name(name));
        context.ui.data(&line);
    }
    let mut exit = Exit::Done;
    for attachment in &stale {
        let StaleAttachment { name, volume, .. } = attachment;
        if let Some(why) = &attachment.in_use {
            let text = format!("attachment {name} of volume {volume} is left as it is: {why}");
            context.ui.warn(&text);
            exit = Exit::No;
            continue;
        }
        let result = match options.dry_run {
            true => {
                exit = Exit::No;
                "repaired (dry run)"
            }
            false => {
                shoot.end_attachment(attachment).await.map_err(failed)?;
                "repaired"
            }
        };
        let line = format!("volumeattachment.storage.k8s.io/{name} {result}\n");
        context.ui.data(&line);
    }
    Ok(exit)
}
