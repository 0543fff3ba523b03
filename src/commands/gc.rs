use super::cronjob::{self, CronJobArgs, Job};
use super::delete::{self, Deletion};
use super::protect::protection;
use super::provider::{self, failed};
use super::running::{RunArgs, counted};
use super::signals::Signals;
use super::ttl::{expiry, now};
use super::{CommandError, Context, Exit};
use crate::cluster::{self, Provider, RecordSeen, Where};
use crate::state::names::display_name;
use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

/// Delete the clusters whose time is over, and what is left of those without a record
///
/// A cluster that is protected, or has no expiry, stays; so does everything that kvshoot did not make.
#[derive(Debug, clap::Args)]
#[command(mut_arg("schedule", |it| it.default_value(SCHEDULE)))]
pub(super) struct GcArgs {
    /// Only clusters whose time is over
    #[arg(long, conflicts_with = "orphans")]
    expired: bool,
    /// Only what is left of clusters without a record
    #[arg(long)]
    orphans: bool,
    /// Say what would be deleted, and delete nothing; exits with 1 when there is something
    #[arg(long)]
    dry_run: bool,
    /// Print a CronJob that does this, with an account that may do nothing else; delete nothing
    #[arg(long, conflicts_with = "dry_run")]
    print_cronjob: bool,
    #[command(flatten)]
    cronjob: CronJobArgs,
    #[command(flatten)]
    run: RunArgs,
}

/// Which of what may go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Expired,
    Orphans,
    Both,
}

impl GcArgs {
    fn wanted(&self) -> Wanted {
        match (self.expired, self.orphans) {
            (true, _) => Wanted::Expired,
            (_, true) => Wanted::Orphans,
            _ => Wanted::Both,
        }
    }

    /// The same, as a cluster does it.
    fn job(&self) -> Job {
        let flags = [("--expired", self.expired), ("--orphans", self.orphans)];
        let flags = flags.iter().filter(|it| it.1);
        Job {
            about: "Deletes the clusters whose time is over",
            verb: "gc",
            words: flags.map(|it| it.0.to_owned()).collect(),
            timeout: self.run.timeout,
            rules: cluster::rules_to_delete(),
            rules_of_cluster: None,
        }
    }
}

/// Often enough that a cluster outlives its time by minutes.
const SCHEDULE: &str = "*/10 * * * *";
const LOOK: &str = "look for what is to go";

/// A cluster that is to go, and why.
struct Garbage {
    /// As a person calls it.
    name: String,
    why: String,
    has_record: bool,
}

pub(super) fn run(args: &GcArgs, context: &Context) -> Result<Exit, CommandError> {
    if args.print_cronjob {
        cronjob::print(&args.job(), &args.cronjob, context);
        return Ok(Exit::Done);
    }
    context.block_on(async {
        let signals = Signals::listen(Some(args.run.timeout))?;
        let connect = provider::connect(context);
        let provider = signals.or_interrupted(LOOK, connect).await?;
        let look = async {
            if !args.dry_run {
                allowed(&provider).await?;
            }
            garbage(args.wanted(), context, &provider).await
        };
        let garbage = signals.or_interrupted(LOOK, look).await?;
        if garbage.is_empty() {
            context.ui.status("there is nothing to delete");
            return Ok(Exit::Done);
        }
        if args.dry_run {
            for Garbage { name, why, .. } in &garbage {
                context.ui.status(&format!("shoot {name} {why}"));
                context
                    .ui
                    .data(&format!("shoot.core.gardener.cloud/{name}\n"));
            }
            return Ok(Exit::No);
        }
        let tell = |name: &str| delete::told(Exit::Done, name, context);
        reap(garbage, &args.run, context, &signals, &provider, tell).await
    })?
}

/// Deletes the clusters of the namespace whose time is over, and nothing else; for whoever works there anyway, and has
/// results of its own.
///
/// # Errors
///
/// The records cannot be listed. What cannot be deleted is told, and is left to the next one.
pub(super) async fn reap_expired(
    run: &RunArgs,
    context: &Context,
    signals: &Signals,
    provider: &Provider,
) -> Result<Exit, CommandError> {
    let look = garbage(Wanted::Expired, context, provider);
    let garbage = signals.or_interrupted(LOOK, look).await?;
    reap(garbage, run, context, signals, provider, |_| ()).await
}

async fn reap(
    garbage: Vec<Garbage>,
    run: &RunArgs,
    context: &Context,
    signals: &Signals,
    provider: &Provider,
    gone: impl Fn(&str),
) -> Result<Exit, CommandError> {
    let mut worst = Exit::Done;
    for it in &garbage {
        context.ui.status(&format!("shoot {} {}", it.name, it.why));
        if signals.first.is_cancelled() {
            return Ok(signals.exit());
        }
        let deletion = Deletion {
            name: &it.name,
            keep_volumes: false,
            run,
            resume: context.config.command_line(),
        };
        let stays = |record: Option<&RecordSeen>| it.stays(record, now(provider));
        // The next one may be deleted all the same.
        match delete::delete_unless(&deletion, context, signals, provider, stays).await {
            Ok(Some(Exit::Done)) => gone(&it.name),
            Ok(None) => {}
            Ok(Some(exit)) => worst = exit,
            // Whoever is at it deletes it, or leaves it to the next gc.
            Err(error) if error.exit == Exit::Held => drop(error.tell(&context.ui)),
            Err(error) => worst = error.tell(&context.ui),
        }
    }
    Ok(worst)
}

impl Garbage {
    /// What somebody did between the look and the lock wins: says why it is to stay.
    fn stays(&self, record: Option<&RecordSeen>, now: Timestamp) -> Option<String> {
        let name = &self.name;
        let record = match (record, self.has_record) {
            // Of one that expired its record alone may have gone.
            (None, _) => return None,
            (Some(_), false) => return Some(format!("shoot {name} has a record by now")),
            (Some(record), true) => record,
        };
        if record.leaving {
            return None;
        }
        if expiry(record).is_none_or(|end| end > now) {
            return Some(format!("shoot {name} has been given more time"));
        }
        protection(record, name)
    }
}

/// Nothing is begun that could not be ended for want of a right; and that is told before anything is to go.
async fn allowed(provider: &Provider) -> Result<(), CommandError> {
    let missing = provider.missing_rights_to_delete().await.map_err(failed)?;
    if missing.is_empty() {
        return Ok(());
    }
    let message = format!(
        "{}; nothing was changed",
        provider::not_allowed(provider, &missing)
    );
    let error = CommandError::new(Exit::NotAllowed, message);
    Err(error.hint("kvshoot gc --print-cronjob prints the Role that it takes"))
}

async fn garbage(
    wanted: Wanted,
    context: &Context,
    provider: &Provider,
) -> Result<Vec<Garbage>, CommandError> {
    // Before the records: whatever has no record afterwards had none, for an apply makes that first.
    let there = match wanted {
        Wanted::Expired => BTreeMap::new(),
        Wanted::Orphans | Wanted::Both => provider.owners().await.map_err(failed)?,
    };
    let records = provider.records(Where::Namespace).await.map_err(failed)?;
    let now = now(provider);
    let mut all = Vec::new();
    for record in records.iter().filter(|_| wanted != Wanted::Orphans) {
        let Some(end) = expiry(record).filter(|it| *it <= now) else {
            continue;
        };
        let name = display_name(&record.name);
        if let Some(protection) = protection(record, &name) {
            context.ui.status(&format!("{protection}; it stays"));
            continue;
        }
        all.push(Garbage {
            name,
            why: format!("expired at {end:.0}"),
            has_record: true,
        });
    }
    let known: BTreeSet<&str> = records.iter().map(|it| &*it.name).collect();
    let orphans = there.into_iter().filter(|it| !known.contains(&*it.0));
    all.extend(orphans.map(|(id, objects)| Garbage {
        name: display_name(&id),
        why: format!("has no record, and {}", counted(objects, "object")),
        has_record: false,
    }));
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::names::{EXPIRES, PROTECTED};

    fn record(annotations: &[(&str, &str)]) -> RecordSeen {
        let annotations = annotations.iter();
        RecordSeen {
            namespace: "ns".into(),
            name: "shoot--local--a".into(),
            uid: "u".into(),
            created: None,
            leaving: false,
            annotations: annotations
                .map(|(key, it)| ((*key).to_owned(), (*it).to_owned()))
                .collect(),
            data: BTreeMap::new(),
        }
    }

    #[test]
    fn what_was_done_before_the_lock_was_taken_wins() {
        let now = Timestamp::from_second(100).expect("a time");
        let past = (EXPIRES, "1970-01-01T00:01:00Z");
        let stays = |has_record, record: Option<&RecordSeen>| {
            let garbage = Garbage {
                name: "a".to_owned(),
                why: String::new(),
                has_record,
            };
            garbage.stays(record, now).unwrap_or_default()
        };
        assert_eq!(stays(true, Some(&record(&[past]))), "");
        let later = record(&[(EXPIRES, "1970-01-01T00:02:00Z")]);
        assert!(stays(true, Some(&later)).ends_with("more time"));
        assert!(stays(true, Some(&record(&[]))).ends_with("more time"));
        let protected = record(&[past, (PROTECTED, "demo")]);
        assert!(stays(true, Some(&protected)).ends_with("protected: demo"));
        assert_eq!(stays(false, None), "");
        assert!(stays(false, Some(&record(&[past]))).ends_with("by now"));
        let mut leaving = record(&[]);
        leaving.leaving = true;
        assert_eq!(stays(true, Some(&leaving)), "");
    }
}
