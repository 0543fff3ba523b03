//! Garbage collection: expired shoots, and objects of shoots without a record.

use super::context::Context;
use super::delete::{self, DeleteRequest};
use super::error::{CommandError, Exit, failed};
use super::expiry::{expiry, now};
use super::in_cluster::cronjob::{self, CronJob, CronJobOptions};
use super::protection;
use super::provider::connect::{connect, format_missing};
use super::run::session::RunOptions;
use super::signals::Signals;
use crate::cluster::{self, ApiClient, NamespaceScope, RecordSnapshot};
use crate::state::names::display_name;
use crate::ui::count;
use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

/// Objects to collect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GcScope {
    Expired,
    Orphans,
    All,
}

/// Options of `kvshoot gc`.
#[derive(Debug)]
pub(crate) struct GcOptions {
    pub(crate) scope: GcScope,
    pub(crate) dry_run: bool,
    pub(crate) run: RunOptions,
}

/// A shoot to delete, and why.
struct Garbage {
    /// Display name.
    name: String,
    why: String,
    has_record: bool,
}

const FIND: &str = "find expired and orphaned shoots";

/// Prints a CronJob that runs `kvshoot gc`.
pub(crate) fn print_cronjob(options: &GcOptions, cronjob: &CronJobOptions, context: &Context) {
    let flag = match options.scope {
        GcScope::Expired => Some("--expired"),
        GcScope::Orphans => Some("--orphans"),
        GcScope::All => None,
    };
    let job = CronJob {
        about: "Deletes expired clusters",
        verb: "gc",
        name: "gc".to_owned(),
        arguments: flag.iter().map(|flag| (*flag).to_owned()).collect(),
        timeout: options.run.timeout,
        rules: cluster::rules_to_delete(),
        cluster_rules: None,
        migration_rules: None,
        environment: Vec::new(),
        claims: Vec::new(),
    };
    cronjob::print(&job, cronjob, context);
}

/// Deletes expired and orphaned shoots, or lists them.
pub(crate) fn gc(options: &GcOptions, context: &Context) -> Result<Exit, CommandError> {
    context.block_on(async {
        let signals = Signals::listen(Some(options.run.timeout))?;
        let provider = signals.or_interrupted(FIND, connect(context)).await?;
        let found = async {
            if !options.dry_run {
                check_permissions(&provider, context).await?;
            }
            find_garbage(options.scope, context, &provider).await
        };
        let garbage = signals.or_interrupted(FIND, found).await?;
        if garbage.is_empty() {
            context.ui.status("nothing to delete");
            return Ok(Exit::Done);
        }
        if options.dry_run {
            for Garbage { name, why, .. } in &garbage {
                context.ui.status(&format!("shoot {name} {why}"));
                let line = format!("shoot.core.gardener.cloud/{name}\n");
                context.ui.data(&line);
            }
            return Ok(Exit::No);
        }
        let report = |name: &str| delete::print_deleted(name, context);
        collect(garbage, options.run, context, &signals, &provider, report).await
    })?
}

/// Deletes the expired shoots of the namespace without printing results, for commands with results of their own.
///
/// # Errors
///
/// The records cannot be listed. Shoots that cannot be deleted are reported, and left to the next run.
pub(crate) async fn collect_expired(
    run: RunOptions,
    context: &Context,
    signals: &Signals,
    provider: &ApiClient,
) -> Result<Exit, CommandError> {
    let found = find_garbage(GcScope::Expired, context, provider);
    let garbage = signals.or_interrupted(FIND, found).await?;
    collect(garbage, run, context, signals, provider, |_| ()).await
}

/// Deletes the shoots among `records` that have expired. Shoots that cannot be deleted are reported, and left to the next
/// attempt.
pub(crate) async fn collect_expired_of(
    records: &[RecordSnapshot],
    run: RunOptions,
    context: &Context,
    signals: &Signals,
    provider: &ApiClient,
) -> Result<Exit, CommandError> {
    let now = now(provider);
    let garbage = records.iter().filter_map(|it| expired(it, now)).collect();
    let report = |name: &str| delete::print_deleted(name, context);
    collect(garbage, run, context, signals, provider, report).await
}

/// True if a shoot has expired and is not protected.
pub(crate) fn is_expired(record: &RecordSnapshot, provider: &ApiClient) -> bool {
    let is_protected = protection::message(record, &record.name).is_some();
    !is_protected && expired(record, now(provider)).is_some()
}

fn expired(record: &RecordSnapshot, now: Timestamp) -> Option<Garbage> {
    let end = expiry(record).filter(|end| *end <= now)?;
    Some(Garbage {
        name: display_name(&record.name),
        why: format!("expired at {end:.0}"),
        has_record: true,
    })
}

async fn collect(
    garbage: Vec<Garbage>,
    run: RunOptions,
    context: &Context,
    signals: &Signals,
    provider: &ApiClient,
    report: impl Fn(&str),
) -> Result<Exit, CommandError> {
    let mut worst = Exit::Done;
    for shoot in &garbage {
        let Garbage { name, why, .. } = shoot;
        context.ui.status(&format!("shoot {name} {why}"));
        if signals.first.is_cancelled() {
            return Ok(signals.exit());
        }
        let request = DeleteRequest {
            name,
            keep_volumes: false,
            run,
            resume: context.config.command_line(),
        };
        let skip_if = |record: Option<&RecordSnapshot>| shoot.skip_if(record, now(provider));
        // A failure does not keep the others from being deleted.
        match delete::delete_shoot(&request, context, signals, provider, skip_if).await {
            Ok(Some(Exit::Done)) => report(name),
            Ok(None) => {}
            Ok(Some(exit)) => worst = exit,
            // The other run deletes the shoot, or the next gc does.
            Err(error) if error.exit == Exit::Held => drop(error.report(&context.ui)),
            Err(error) => worst = error.report(&context.ui),
        }
    }
    Ok(worst)
}

impl Garbage {
    /// Returns why a shoot must not be deleted after all. It may have changed before it was locked.
    fn skip_if(&self, record: Option<&RecordSnapshot>, now: Timestamp) -> Option<String> {
        let name = &self.name;
        let record = match (record, self.has_record) {
            // Another run may have deleted the record of an expired shoot, and not the rest.
            (None, _) => return None,
            (Some(_), false) => return Some(format!("shoot {name} now has a record")),
            (Some(record), true) => record,
        };
        if record.leaving {
            return None;
        }
        if expiry(record).is_none_or(|end| end > now) {
            return Some(format!("the expiry of shoot {name} was extended"));
        }
        protection::message(record, name)
    }
}

/// # Errors
///
/// Permissions are missing, so that a deletion could not be finished.
async fn check_permissions(provider: &ApiClient, context: &Context) -> Result<(), CommandError> {
    let missing = provider
        .missing_delete_permissions()
        .await
        .map_err(failed)?;
    if missing.is_empty() {
        return Ok(());
    }
    let missing = format_missing(provider, &missing);
    let message = format!("{missing}; nothing was changed");
    let print = context.hint_command(&["gc", "--print-cronjob"]);
    let error = CommandError::new(Exit::NotAllowed, message);
    Err(error.hint(format!("to print the Role that is needed: {print}")))
}

async fn find_garbage(
    scope: GcScope,
    context: &Context,
    provider: &ApiClient,
) -> Result<Vec<Garbage>, CommandError> {
    // Listed before the records: apply creates the record first, so that a new shoot is never an orphan.
    let owners = match scope {
        GcScope::Expired => BTreeMap::new(),
        GcScope::Orphans | GcScope::All => provider.objects_per_shoot().await.map_err(failed)?,
    };
    let records = provider
        .records(NamespaceScope::Current)
        .await
        .map_err(failed)?;
    let now = now(provider);
    let mut all = Vec::new();
    for record in records.iter().filter(|_| scope != GcScope::Orphans) {
        let Some(garbage) = expired(record, now) else {
            continue;
        };
        if let Some(protection) = protection::message(record, &garbage.name) {
            context.ui.status(&format!("{protection}; not deleted"));
            continue;
        }
        all.push(garbage);
    }
    let known: BTreeSet<&str> = records.iter().map(|record| &*record.name).collect();
    let orphans = owners.into_iter().filter(|(id, _)| !known.contains(&**id));
    all.extend(orphans.map(|(id, objects)| Garbage {
        name: display_name(&id),
        why: format!("has no record, but {}", count(objects, "object")),
        has_record: false,
    }));
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::names::{EXPIRES, PROTECTED};

    fn record(annotations: &[(&str, &str)]) -> RecordSnapshot {
        let annotations = annotations.iter();
        RecordSnapshot {
            namespace: "ns".into(),
            name: "shoot--local--a".into(),
            uid: "u".into(),
            version: "1".into(),
            created: None,
            leaving: false,
            annotations: annotations
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect(),
            data: BTreeMap::new(),
        }
    }

    #[test]
    fn a_change_before_the_lock_is_respected() {
        let now = Timestamp::from_second(100).expect("a time");
        let past = (EXPIRES, "1970-01-01T00:01:00Z");
        let skipped = |has_record, record: Option<&RecordSnapshot>| {
            let garbage = Garbage {
                name: "a".to_owned(),
                why: String::new(),
                has_record,
            };
            garbage.skip_if(record, now).unwrap_or_default()
        };
        assert_eq!(skipped(true, Some(&record(&[past]))), "");
        let later = record(&[(EXPIRES, "1970-01-01T00:02:00Z")]);
        assert!(skipped(true, Some(&later)).ends_with("was extended"));
        assert!(skipped(true, Some(&record(&[]))).ends_with("was extended"));
        let protected = record(&[past, (PROTECTED, "demo")]);
        assert!(skipped(true, Some(&protected)).ends_with("protected: demo"));
        assert_eq!(skipped(false, None), "");
        assert!(skipped(false, Some(&record(&[past]))).ends_with("now has a record"));
        let mut deleting = record(&[]);
        deleting.leaving = true;
        assert_eq!(skipped(true, Some(&deleting)), "");
    }
}
