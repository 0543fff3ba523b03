//! `kvshoot upgrade`: another version of Kubernetes, after checks that write nothing.

mod preflight;
mod upgradable;
mod versions;

use super::recorded::{RecordedRun, shoot_name};
use crate::app::apply::RecordExpectation;
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::signals::Signals;
use crate::ui::Format;
use crate::validate::ValidShoot;
use preflight::check;
pub(crate) use upgradable::UpgradeOptions;
use upgradable::{VERB, read};

const FIND: &str = "find the shoot";

/// Prints the current versions and those that the CloudProfile offers.
pub(crate) fn list(
    options: &UpgradeOptions,
    output: Format,
    context: &Context,
) -> Result<Exit, CommandError> {
    context.block_on(async {
        let signals = Signals::listen(Some(options.run.timeout))?;
        let found = signals.or_interrupted(FIND, read(options, context)).await?;
        let printed = versions::print(&found, output, context);
        signals.or_interrupted("list the nodes", printed).await?;
        Ok(Exit::Done)
    })?
}

/// Returns the Shoot with another version, and the record that it was made from.
///
/// # Errors
///
/// The version cannot be chosen, or a check refuses it. Nothing was written.
pub(crate) async fn checked(
    options: &UpgradeOptions,
    context: &Context,
) -> Result<(ValidShoot, RecordExpectation), CommandError> {
    let found = read(options, context).await?;
    let after = found.after(options, context)?;
    check(options, context, &found, &after).await?;
    Ok((after, found.expectation()))
}

/// Checks whether the shoot can be upgraded, and upgrades its control plane, then its pools.
pub(crate) fn upgrade(options: &UpgradeOptions, context: &Context) -> Result<Exit, CommandError> {
    context.block_on(async {
        let signals = Signals::listen(Some(options.run.timeout))?;
        let found = signals.or_interrupted(FIND, read(options, context)).await?;
        let after = found.after(options, context)?;
        let is_changed = after.manifest != found.before.manifest;
        if is_changed {
            let checked = check(options, context, &found, &after);
            signals.or_interrupted("check the shoot", checked).await?;
        }
        let run = RecordedRun {
            verb: VERB,
            run: options.run,
            context,
            signals: &signals,
            provider: &found.provider,
            expects: found.expectation(),
        };
        // Also without a change: an interrupted upgrade is resumed.
        let exit = run.apply_and_print(&after, &shoot_name(&options.name), "upgraded").await?;
        if exit == Exit::Done && is_changed {
            context.ui.hint(&format!(
                "set spec.kubernetes.version to {} in the manifest too: an older version is refused",
                after.kubernetes
            ));
        } else if exit == Exit::Done {
            found.hint_next_minor(options, context);
        }
        Ok(exit)
    })?
}
