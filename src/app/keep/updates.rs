//! Updates of Kubernetes and of images in maintenance windows.

use super::options::VERB;
use super::pause::SHORT_PAUSE;
use super::shoot::KeptShoot;
use crate::app::apply::{Applied, ApplyRequest, apply_shoot};
use crate::app::error::{CommandError, Exit};
use crate::app::lifecycle::upgrade::{UpgradeOptions, checked};
use crate::plan::maintenance::{Updates, due_updates, following_pools, next_window};
use crate::state::duty::Duty;
use crate::state::facts::Facts;
use crate::state::names::display_name;
use crate::validate::ValidShoot;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::time::sleep;

impl KeptShoot<'_> {
    /// Updates the shoot if that is due. Returns true if there was an attempt. One that fails is repeated in the next
    /// window; what it has begun is completed before.
    pub(super) async fn update_if_due(&self, shoot: &ValidShoot, facts: &Facts) -> bool {
        let scope = self.scope;
        if scope.options.skipped.contains(&Duty::Updates) {
            return false;
        }
        let Some(updates) = due_updates(shoot, facts, self.last_update.get()) else {
            return false;
        };
        match self.update(shoot, &updates).await {
            Ok(applied) if applied.exit == Exit::Done => {
                let line = format!("shoot.core.gardener.cloud/{} updated\n", shoot.name);
                scope.context.ui.data(&line);
            }
            Err(error) if error.exit == Exit::Held => {
                let wait = async {
                    sleep(SHORT_PAUSE).await;
                    Ok(())
                };
                // An interruption ends the work on the shoot anyway.
                let _ = self.signals.or_interrupted("wait", wait).await;
                return true;
            }
            Err(error) if !self.signals.first.is_cancelled() => {
                error.report(&scope.context.ui);
            }
            _ => {}
        }
        self.last_update.set(Some(scope.provider.current_time()));
        true
    }

    /// The time until the shoot may be updated; None if it may be now or never.
    pub(super) fn until_window(&self, shoot: &ValidShoot, now: i64) -> Option<Duration> {
        let next = next_window(shoot, now, self.last_update.get())?;
        let seconds = u64::try_from(next - now).ok().filter(|it| *it > 0)?;
        Some(Duration::from_secs(seconds))
    }

    async fn update(&self, shoot: &ValidShoot, updates: &Updates) -> Result<Applied, CommandError> {
        let scope = self.scope;
        for text in announcements(&shoot.name, updates) {
            scope.context.ui.status(&text);
        }
        let kubernetes = updates.kubernetes.as_ref();
        let version = kubernetes.map_or(&shoot.kubernetes, |it| &it.version);
        let options = UpgradeOptions {
            name: display_name(&self.record.name),
            to: Some(version.clone()),
            pools: Some(following_pools(shoot)),
            images: updates.images.clone(),
            ignored: BTreeSet::new(),
            profile: None,
            run: scope.options.run,
        };
        let signals = self.signals.with_timeout(scope.options.run.timeout);
        let checked = checked(&options, scope.context);
        let (after, expects) = signals.or_interrupted("check the shoot", checked).await?;
        let request = ApplyRequest {
            verb: VERB,
            run: scope.options.run,
            create_namespace: false,
            resume: None,
            expects,
            skipped: scope.options.skipped.clone(),
            health: Some(self.health.clone()),
            skip_if: None,
            started: &Cell::new(false),
            group: None,
        };
        apply_shoot(&request, scope.context, &signals, scope.provider, &after).await
    }
}

/// A line for each update, with its reason.
fn announcements(name: &str, updates: &Updates) -> Vec<String> {
    let reason = |from: &str, is_forced| match is_forced {
        true => format!("version {from} has expired"),
        false => "automatic update".to_owned(),
    };
    let kubernetes = updates.kubernetes.iter().map(|it| {
        let (from, to) = (&it.from, &it.version);
        let why = reason(from, it.is_forced);
        format!("updating Kubernetes of shoot {name} from {from} to {to}: {why}")
    });
    let images = updates.images.iter().map(|it| {
        let why = reason(&it.from, it.is_forced);
        format!("updating shoot {name}, {it}: {why}")
    });
    kubernetes.chain(images).collect()
}
