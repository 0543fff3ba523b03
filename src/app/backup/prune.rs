//! `kvshoot backups prune`.

use super::list::{FoundIndex, with_index};
use super::place::{PlaceOptions, none_found, scope, title};
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::signals::Signals;
use crate::backup::{BackupPath, BackupScope, Candidate, Integrity, RetentionPolicy};
use crate::state::names::display_name;
use crate::storage::{BackupStorage, FoundBackup, StorageError, verify};
use crate::ui::count;
use jiff::{SignedDuration, Timestamp};
use std::collections::BTreeMap;

/// Options of `kvshoot backups prune`.
#[derive(Debug)]
pub(crate) struct PruneBackupsOptions {
    pub(crate) place: PlaceOptions,
    /// Display name.
    pub(crate) shoot: String,
    pub(crate) policy: RetentionPolicy,
    pub(crate) dry_run: bool,
}

/// The age at which an incomplete backup belongs to a run that was killed. No run takes that long.
const ABANDONED: SignedDuration = SignedDuration::from_hours(24);

/// Deletes backups that the policy does not keep.
///
/// Each shoot has a policy of its own. One that was created again under the same name is another shoot, so that its
/// backups do not replace those of the lost one.
pub(crate) fn prune(
    options: &PruneBackupsOptions,
    context: &Context,
) -> Result<Exit, CommandError> {
    let place = &options.place;
    let storage = place.open(context)?;
    context.block_on(async {
        let signals = Signals::listen(Some(place.timeout))?;
        let scope = scope(Some(&options.shoot), None, context);
        let chosen = choose(place, &scope, None, options.policy, context, &storage);
        let chosen = signals.or_interrupted("read the backups", chosen).await?;
        if chosen.is_empty() {
            context.ui.status("nothing to delete");
            return Ok(Exit::Done);
        }
        for path in &chosen {
            context.ui.data(&format!("{path}\n"));
        }
        if options.dry_run {
            return Ok(Exit::No);
        }
        let _waits = place.waited_for();
        for path in &chosen {
            if signals.first.is_cancelled() {
                return Ok(signals.exit());
            }
            let deleted = storage.delete(path).await;
            deleted.map_err(|error| place.failed(&error))?;
        }
        let deleted = count(chosen.len(), "backup");
        context.ui.status(&format!("Deleted {deleted}"));
        Ok(Exit::Done)
    })?
}

/// Deletes the backups of a shoot that the policy does not keep after a new one, and returns how many. Those of other
/// namespaces stay.
pub(crate) async fn delete_pruned(
    place: &PlaceOptions,
    new: &BackupPath,
    policy: RetentionPolicy,
    context: &Context,
    storage: &BackupStorage,
) -> Result<usize, CommandError> {
    let scope = BackupScope {
        namespace: Some(new.namespace.clone()),
        id: Some(new.id.clone()),
        name: None,
    };
    let chosen = choose(place, &scope, Some(new), policy, context, storage).await?;
    let _waits = place.waited_for();
    for path in &chosen {
        let deleted = storage.delete(path).await;
        deleted.map_err(|error| place.failed(&error))?;
    }
    Ok(chosen.len())
}

/// The backups to delete. The new one was read back already.
async fn choose(
    place: &PlaceOptions,
    scope: &BackupScope,
    new: Option<&BackupPath>,
    policy: RetentionPolicy,
    context: &Context,
    storage: &BackupStorage,
) -> Result<Vec<BackupPath>, CommandError> {
    let _waits = place.waited_for();
    let failed = |error: StorageError| place.failed(&error);
    let shoot = scope.id.as_deref().map(display_name);
    let found = storage.find(scope).await.map_err(failed)?;
    if found.is_empty() {
        return Err(none_found(shoot.as_deref(), place));
    }
    let found = with_index(storage, found).await.map_err(failed)?;
    let groups = Groups::of(found, crate::clock::now());
    for (path, why) in &groups.unreadable {
        let text = format!("backup {} is kept: {why}", title(path));
        context.ui.warn(&text);
    }
    let mut chosen = groups.abandoned;
    for paths in groups.shoots.into_values() {
        let candidates = verify_newest(storage, &paths, new).await.map_err(failed)?;
        let is_verified = |it: &Candidate| it.integrity == Integrity::Verified;
        if !candidates.iter().any(is_verified) {
            let text = format!(
                "no intact backup of shoot {}: all {} are kept",
                shoot.as_deref().unwrap_or_default(),
                paths.len()
            );
            context.ui.warn(&text);
        }
        let pruned = policy.prune(&candidates);
        let is_pruned = |it: &BackupPath| pruned.iter().any(|pruned| pruned.name == it.name);
        chosen.extend(paths.iter().filter(|it| is_pruned(it)).cloned());
    }
    chosen.sort();
    Ok(chosen)
}

/// Backups by what may become of them.
#[derive(Debug, Default, PartialEq)]
struct Groups {
    /// Complete backups by namespace, and UID of the record.
    shoots: BTreeMap<(String, String), Vec<BackupPath>>,
    /// Left behind by killed runs.
    abandoned: Vec<BackupPath>,
    /// Backups of an unknown shoot, with the reason.
    unreadable: Vec<(BackupPath, String)>,
}

impl Groups {
    fn of(found: Vec<(FoundBackup, FoundIndex)>, now: Timestamp) -> Groups {
        let mut groups = Groups::default();
        for (FoundBackup { path, .. }, index) in found {
            match index {
                Some(Ok(index)) => {
                    let shoot = (path.namespace.clone(), index.shoot.uid);
                    groups.shoots.entry(shoot).or_default().push(path);
                }
                Some(Err(why)) => groups.unreadable.push((path, why)),
                None => {
                    let age = path.name.time().map(|it| now.duration_since(it));
                    if age.is_some_and(|it| it > ABANDONED) {
                        groups.abandoned.push(path);
                    }
                }
            }
        }
        groups
    }
}

/// Verifies backups from the newest one on, until one is intact. The others are not read.
async fn verify_newest(
    storage: &BackupStorage,
    paths: &[BackupPath],
    new: Option<&BackupPath>,
) -> Result<Vec<Candidate>, StorageError> {
    let mut candidates = Vec::new();
    let mut is_found = false;
    for path in paths.iter().rev() {
        let integrity = match is_found {
            true => Integrity::Unknown,
            false if new == Some(path) => Integrity::Verified,
            false => match verify(storage, path, None).await {
                Ok(_) => Integrity::Verified,
                Err(StorageError::Damaged { .. }) => Integrity::Damaged,
                Err(error) => return Err(error),
            },
        };
        is_found |= integrity == Integrity::Verified;
        candidates.push(Candidate {
            name: path.name.clone(),
            time: path.name.time().unwrap_or_default(),
            integrity,
        });
    }
    Ok(candidates)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backup::testing::index;
    use crate::backup::{BackupName, KeyProtection};

    fn found(time: &str) -> FoundBackup {
        let name = BackupName::new(time.parse().unwrap(), "aaaaa").unwrap();
        FoundBackup {
            path: BackupPath::parse("lab", "dev", name.as_str()).unwrap(),
            is_complete: true,
        }
    }

    #[test]
    fn a_shoot_that_was_created_again_has_a_policy_of_its_own() {
        let mut again = index(KeyProtection::Plain);
        again.shoot.uid = "another".to_owned();
        let [first, second] = ["2026-11-20T00:00:00Z", "2026-11-21T00:00:00Z"].map(found);
        let all = vec![
            (first.clone(), Some(Ok(index(KeyProtection::Plain)))),
            (second.clone(), Some(Ok(again))),
        ];
        let groups = Groups::of(all, Timestamp::UNIX_EPOCH);
        let shoots: Vec<Vec<BackupPath>> = groups.shoots.into_values().collect();
        assert_eq!(shoots, [vec![first.path], vec![second.path]]);
    }

    #[test]
    fn an_incomplete_backup_is_abandoned_after_a_day() {
        let now = "2026-11-21T00:00:01Z".parse().unwrap();
        let [old, new] = ["2026-11-20T00:00:00Z", "2026-11-20T00:00:02Z"].map(found);
        let groups = Groups::of(vec![(old.clone(), None), (new, None)], now);
        assert_eq!(groups.abandoned, [old.path]);
        assert!(groups.shoots.is_empty());
    }

    #[test]
    fn a_backup_with_a_damaged_index_is_kept() {
        let one = found("2026-11-20T00:00:00Z");
        let why = "backup.json is damaged".to_owned();
        let groups = Groups::of(
            vec![(one.clone(), Some(Err(why.clone())))],
            "2027-11-20T00:00:00Z".parse().unwrap(),
        );
        assert_eq!(groups.unreadable, [(one.path, why)]);
        assert!(groups.abandoned.is_empty() && groups.shoots.is_empty());
    }
}
