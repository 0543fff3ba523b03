//! Backups by the schedule of a shoot.

use super::pause::{FIRST_PAUSE, LAST_PAUSE};
use super::shoot::KeptShoot;
use crate::app::backup::create::BackupRun;
use crate::app::backup::place::PlaceOptions;
use crate::app::backup::prune::delete_pruned;
use crate::app::error::{CommandError, Exit};
use crate::backup::{BackupDestination, KeyProtection, RetentionPolicy};
use crate::plan::backup::{BackupTime, backup_time};
use crate::state::duty::Duty;
use crate::state::facts::Facts;
use crate::ui::count;
use crate::validate::ValidShoot;
use crate::validate::control_plane::ScheduledBackups;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

/// Longest sleep until the time of the next backup is calculated again: the clock may be set.
const RECHECK: Duration = Duration::from_secs(60);

impl KeptShoot<'_> {
    /// Makes backups at the times of the schedule until `stop`. One that has begun is completed.
    pub(super) async fn make_backups(
        &self,
        shoot: &ValidShoot,
        mut facts: watch::Receiver<Arc<Facts>>,
        stop: &CancellationToken,
    ) {
        let backups = shoot.control_plane.backups.as_ref();
        let is_skipped = self.scope.options.skipped.contains(&Duty::Backups);
        let Some(backups) = backups.filter(|_| !is_skipped) else {
            return;
        };
        let (mut not_before, mut pause) = (Instant::now(), FIRST_PAUSE);
        while !stop.is_cancelled() {
            let seen: Arc<Facts> = facts.borrow_and_update().clone();
            let wait = match backup_time(shoot, &seen, self.last_backup.get()) {
                BackupTime::None => {
                    self.scope.metrics.next_backup(&shoot.id, None);
                    None
                }
                BackupTime::At(time) => {
                    self.scope.metrics.next_backup(&shoot.id, Some(time));
                    let paused = not_before.saturating_duration_since(Instant::now());
                    Some(until(time).max(paused))
                }
            };
            if wait == Some(Duration::ZERO) {
                let metrics = self.scope.metrics;
                match self.back_up(backups).await {
                    Ok(()) => {
                        metrics.did(&shoot.id, Duty::Backups, true);
                        pause = FIRST_PAUSE;
                    }
                    Err(error) => {
                        if !self.signals.first.is_cancelled() {
                            metrics.did(&shoot.id, Duty::Backups, false);
                            error.report(&self.scope.context.ui);
                        }
                        not_before = Instant::now() + pause;
                        pause = (2 * pause).min(LAST_PAUSE);
                    }
                }
                continue;
            }
            let wake = Instant::now() + wait.map_or(RECHECK, |it| it.min(RECHECK));
            tokio::select! {
                () = stop.cancelled() => return,
                () = sleep_until(wake) => {}
                changed = facts.changed() => if changed.is_err() {
                    return;
                }
            }
        }
    }

    /// Makes a backup, and deletes those that the schedule does not keep.
    async fn back_up(&self, backups: &ScheduledBackups) -> Result<(), CommandError> {
        let scope = self.scope;
        let work = async {
            let limited = scope.backups.acquire().await;
            let place = self.place(&backups.destination, backups.s3_endpoint.as_ref())?;
            let storage = place.open(scope.context)?;
            // A shoot that is being deleted needs none.
            let Some(record) = self.current_record().await? else {
                return Ok(());
            };
            let begun = crate::clock::now().as_second();
            let run = BackupRun {
                provider: scope.provider,
                record: &record,
                protection: KeyProtection::of(backups.recipients.as_ref(), backups.with_plain_keys),
                recipients: backups.recipients.clone(),
                place: &place,
                storage: &storage,
                without_quorum: false,
                context: scope.context,
            };
            let (path, _) = run.back_up().await?;
            self.last_backup.set(Some(begun));
            if backups.retention != RetentionPolicy::default() {
                let policy = backups.retention;
                let deleted = delete_pruned(&place, &path, policy, scope.context, &storage).await?;
                if deleted > 0 {
                    let deleted = count(deleted, "earlier backup");
                    scope.context.ui.status(&format!("Deleted {deleted}"));
                }
            }
            drop(limited);
            Ok(())
        };
        let signals = self.signals.with_timeout(scope.options.run.timeout);
        signals.or_interrupted("back up the shoot", work).await
    }

    /// # Errors
    ///
    /// The pod has not the volume of the destination.
    fn place(
        &self,
        destination: &BackupDestination,
        s3_endpoint: Option<&String>,
    ) -> Result<PlaceOptions, CommandError> {
        let options = self.scope.options;
        let destination = match destination {
            BackupDestination::Claim(claim) => {
                let directory = options.claims.join(claim);
                if !directory.is_dir() {
                    let directory = directory.display();
                    let message =
                        format!("PersistentVolumeClaim {claim:?} is not mounted at {directory}");
                    let error = CommandError::new(Exit::Precondition, message);
                    return Err(error.hint(format!(
                        "print the Deployment with its volume: kvshoot keep --print --backup-claim {claim}"
                    )));
                }
                BackupDestination::Directory(directory)
            }
            other => other.clone(),
        };
        Ok(PlaceOptions {
            destination,
            s3_endpoint: s3_endpoint.cloned(),
            timeout: options.run.timeout,
        })
    }
}

/// The time that is left.
fn until(time: i64) -> Duration {
    let seconds = time.saturating_sub(crate::clock::now().as_second());
    Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
}
