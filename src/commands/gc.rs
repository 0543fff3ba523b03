use super::delete::{self, Deletion};
use super::protect::protection;
use super::provider::{self, failed};
use super::running::{RunArgs, counted};
use super::signals::Signals;
use super::ttl::{expiry, now};
use super::{CommandError, Context, Exit};
use crate::cluster::{Provider, Where};
use crate::plan::names::called;
use std::collections::{BTreeMap, BTreeSet};

/// Delete the clusters whose time is over, and what is left of those without a record
///
/// A cluster that is protected, or has no expiry, stays; so does everything that kvshoot did not make.
#[derive(Debug, clap::Args)]
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
    #[command(flatten)]
    run: RunArgs,
}

/// A cluster that is to go, and why.
struct Garbage {
    /// As a person calls it.
    name: String,
    why: String,
}

pub(super) fn run(args: &GcArgs, context: &Context) -> Result<Exit, CommandError> {
    context.block_on(async {
        let signals = Signals::listen(Some(args.run.timeout))?;
        let (provider, garbage) = signals
            .or_interrupted("look for what is to go", async {
                let provider = provider::connect(context).await?;
                let garbage = garbage(args, context, &provider).await?;
                Ok((provider, garbage))
            })
            .await?;
        if garbage.is_empty() {
            context.ui.status("there is nothing to delete");
            return Ok(Exit::Done);
        }
        let mut worst = Exit::Done;
        for it in &garbage {
            context.ui.status(&format!("shoot {} {}", it.name, it.why));
            if args.dry_run {
                let name = &it.name;
                context
                    .ui
                    .data(&format!("shoot.core.gardener.cloud/{name}\n"));
                worst = Exit::No;
                continue;
            }
            if signals.first.is_cancelled() {
                return Ok(signals.exit());
            }
            let deletion = Deletion {
                name: &it.name,
                keep_volumes: false,
                run: &args.run,
                resume: context.config.command_line(),
            };
            // The next one may be deleted all the same.
            match delete::delete(&deletion, context, &signals, &provider).await {
                Ok(Exit::Done) => delete::told(Exit::Done, &it.name, context),
                Ok(exit) => worst = exit,
                // Whoever is at it deletes it, or leaves it to the next gc.
                Err(error) if error.exit == Exit::Held => drop(error.tell(&context.ui)),
                Err(error) => worst = error.tell(&context.ui),
            }
        }
        Ok(worst)
    })?
}

async fn garbage(
    args: &GcArgs,
    context: &Context,
    provider: &Provider,
) -> Result<Vec<Garbage>, CommandError> {
    // Before the records: whatever has no record afterwards had none, for an apply makes that first.
    let there = match args.expired {
        true => BTreeMap::new(),
        false => provider.owners().await.map_err(failed)?,
    };
    let records = provider.records(Where::Namespace).await.map_err(failed)?;
    let now = now(provider);
    let mut all = Vec::new();
    for record in records.iter().filter(|_| !args.orphans) {
        let Some(end) = expiry(record).filter(|it| *it <= now) else {
            continue;
        };
        let name = called(&record.name);
        if let Some(protection) = protection(record, &name) {
            context.ui.status(&format!("{protection}; it stays"));
            continue;
        }
        all.push(Garbage {
            name,
            why: format!("expired at {end:.0}"),
        });
    }
    let known: BTreeSet<&str> = records.iter().map(|it| &*it.name).collect();
    let orphans = there.into_iter().filter(|it| !known.contains(&*it.0));
    all.extend(orphans.map(|(id, objects)| Garbage {
        name: called(&id),
        why: format!("has no record, and {}", counted(objects, "object")),
    }));
    Ok(all)
}
