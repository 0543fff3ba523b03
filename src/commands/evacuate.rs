use super::apply::{self, Application};
use super::cronjob::{self, CronJobArgs, Job};
use super::provider::{self, failed};
use super::running::{RunArgs, is_gone};
use super::shoots::find;
use super::signals::Signals;
use super::why::recorded;
use super::{CommandError, Context, Exit, complete};
use crate::cluster::{self, Provider, RecordSeen, Where};
use crate::state::facts::Facts;
use crate::state::hash::Hash;
use crate::state::names::{SPEC_HASH, display_name};
use crate::state::record::{HISTORY, RunRecord};
use clap_complete::engine::ArgValueCompleter;
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Replace the machines that stand on hosts of the provider which are being emptied
///
/// When a host is drained, KubeVirt leaves machines whose evictionStrategy is External to others, and the drain waits for
/// that. This empties the machine's node, deletes the machine and makes another one, within maxSurge and maxUnavailable,
/// as an apply of what was applied last does. Machines of any other strategy are KubeVirt's own matter.
#[derive(Debug, clap::Args)]
#[command(mut_arg("schedule", |it| it.default_value(SCHEDULE)))]
pub(super) struct EvacuateArgs {
    /// Name of the shoot; all of the namespace when absent
    #[arg(add = ArgValueCompleter::new(complete::shoots))]
    name: Option<String>,
    /// Go on until Ctrl-C; what --timeout says is the time of each run then
    #[arg(short, long)]
    watch: bool,
    /// Print a CronJob that does this, with an account that may do nothing else; replace nothing
    #[arg(long, conflicts_with = "watch")]
    print_cronjob: bool,
    #[command(flatten)]
    cronjob: CronJobArgs,
    #[command(flatten)]
    run: RunArgs,
}

/// Whoever empties a host waits for it.
const SCHEDULE: &str = "* * * * *";
const VERB: &str = "evacuate";
const LOOK: &str = "look for hosts that are being emptied";
/// How often it is looked.
const BETWEEN: Duration = Duration::from_secs(5);
/// What failed, or is another run's, is not begun again at once.
const PAUSE: Duration = Duration::from_secs(30);

/// A shoot that has something to replace.
struct Due {
    record: RecordSeen,
    /// Names of the machines; none where an evacuation was cut off that has one to make yet.
    machines: Vec<Arc<str>>,
}

struct Evacuation<'a> {
    args: &'a EvacuateArgs,
    context: &'a Context,
    signals: &'a Signals,
    provider: Provider,
}

pub(super) fn run(args: &EvacuateArgs, context: &Context) -> Result<Exit, CommandError> {
    if args.print_cronjob {
        return print(args, context);
    }
    context.block_on(async {
        let limit = Some(args.run.timeout).filter(|_| !args.watch);
        let signals = Signals::listen(limit)?;
        let connect = provider::connect(context);
        let evacuation = Evacuation {
            args,
            context,
            signals: &signals,
            provider: signals.or_interrupted(LOOK, connect).await?,
        };
        match args.watch {
            true => evacuation.watch().await,
            false => evacuation.once().await,
        }
    })?
}

/// What it reads of the whole cluster decides what machines are made of, so it needs what an apply has.
fn print(args: &EvacuateArgs, context: &Context) -> Result<Exit, CommandError> {
    if context.global.namespace.is_none() {
        let message = "the CronJob's account reads zones and classes of volumes of the whole cluster, and is bound to that by its namespace";
        return Err(CommandError::new(Exit::Usage, message).hint("-n names the namespace"));
    }
    let job = Job {
        about: "Replaces machines on hosts that are being emptied",
        verb: VERB,
        words: args.name.iter().cloned().collect(),
        timeout: args.run.timeout,
        rules: cluster::rules_to_apply(),
        rules_of_cluster: Some(cluster::rules_to_choose()),
    };
    cronjob::print(&job, &args.cronjob, context);
    Ok(Exit::Done)
}

impl Evacuation<'_> {
    async fn once(&self) -> Result<Exit, CommandError> {
        let due = self.signals.or_interrupted(LOOK, self.due()).await?;
        if due.is_empty() {
            let ui = &self.context.ui;
            ui.status("no machine stands on a host that is being emptied");
        }
        let mut worst = Exit::Done;
        for it in &due {
            if self.signals.first.is_cancelled() {
                return Ok(self.signals.exit());
            }
            // The next one is replaced all the same.
            match self.replace(it, self.signals).await {
                Ok(Exit::Done) => {}
                Ok(exit) => worst = exit,
                // Whoever is at it replaces it, or leaves it to the next run.
                Err(error) if error.exit == Exit::Held && self.args.name.is_none() => {
                    error.tell(&self.context.ui);
                }
                Err(error) => worst = error.tell(&self.context.ui),
            }
        }
        Ok(worst)
    }

    /// Ends with a signal, or when there is no way to go on.
    async fn watch(&self) -> Result<Exit, CommandError> {
        let mut later: HashMap<Arc<str>, Instant> = HashMap::new();
        let mut told = String::new();
        let mut is_first = true;
        loop {
            let looked = tokio::select! {
                looked = self.due() => looked,
                () = self.signals.first.cancelled() => return Ok(self.signals.exit()),
            };
            let due = match looked {
                Ok(due) => {
                    told.clear();
                    due
                }
                Err(error) if is_first || is_final(&error) => return Err(error),
                Err(error) => {
                    if told != error.message {
                        told.clone_from(&error.message);
                        let ui = &self.context.ui;
                        ui.warn(&format!("{told}; it is tried again"));
                    }
                    Vec::new()
                }
            };
            if is_first {
                let namespace = self.provider.namespace();
                let text = format!("watching the machines of namespace {namespace}");
                self.context.ui.status(&text);
                is_first = false;
            }
            for it in due {
                let is_early = later
                    .get(&it.record.uid)
                    .is_some_and(|it| *it > Instant::now());
                if is_early || self.signals.first.is_cancelled() {
                    continue;
                }
                let signals = self.signals.within(self.args.run.timeout);
                let exit = self.replace(&it, &signals).await;
                let exit = exit.unwrap_or_else(|error| error.tell(&self.context.ui));
                if exit != Exit::Done {
                    later.insert(it.record.uid.clone(), Instant::now() + PAUSE);
                }
            }
            tokio::select! {
                () = sleep(BETWEEN) => {}
                () = self.signals.first.cancelled() => return Ok(self.signals.exit()),
            }
        }
    }

    /// Shoots that have something to replace, in the order of their names.
    async fn due(&self) -> Result<Vec<Due>, CommandError> {
        let records = match &self.args.name {
            Some(name) => vec![find(&self.provider, name).await?],
            None => {
                let records = self.provider.records(Where::Namespace).await;
                records.map_err(failed)?
            }
        };
        let mut machines = self.provider.evacuating().await.map_err(failed)?;
        let mut due = Vec::new();
        for record in records.into_iter().filter(|it| !it.leaving) {
            let machines = machines.remove(&record.name).unwrap_or_default();
            if !machines.is_empty() || self.is_cut_off(&record).await? {
                due.push(Due { record, machines });
            }
        }
        Ok(due)
    }

    /// Where machines may be deleted before others are made, it may have left the shoot with too few.
    async fn is_cut_off(&self, record: &RecordSeen) -> Result<bool, CommandError> {
        let is_gone = is_gone(self.context.config.identity());
        let was_killed = self.provider.was_killed(&record.name, VERB, is_gone);
        Ok(has_failed(record) || was_killed.await.map_err(failed)?)
    }

    async fn replace(&self, due: &Due, signals: &Signals) -> Result<Exit, CommandError> {
        let name = display_name(&due.record.name);
        let ui = &self.context.ui;
        ui.status(&format!("shoot {name}: {}", due.why()));
        let shoot = recorded(&due.record).ok_or_else(|| {
            let message = format!("the record of shoot {name} cannot be read any more");
            let error = CommandError::new(Exit::Precondition, message);
            error.hint("an apply of its manifest replaces machines on hosts that are being emptied as well")
        })?;
        let stays = |facts: &Facts| due.stays(facts);
        let application = Application {
            verb: VERB,
            run: &self.args.run,
            create_namespace: false,
            resume: Some(self.context.config.command_line()).filter(|_| !self.args.watch),
            is_new: false,
            stays: Some(&stays),
            begun: &Cell::new(false),
        };
        let applied = apply::apply(&application, self.context, signals, &self.provider, &shoot);
        let (exit, verb) = applied.await?;
        if exit == Exit::Done && verb != "unchanged" {
            ui.data(&format!("shoot.core.gardener.cloud/{name} evacuated\n"));
        }
        Ok(exit)
    }
}

impl Due {
    fn why(&self) -> String {
        match self.machines.as_slice() {
            [] => "its last evacuation was cut off".to_owned(),
            [one] => format!("machine {one} stands on a host that is being emptied"),
            all => format!(
                "machines {} stand on hosts that are being emptied",
                all.join(", ")
            ),
        }
    }

    /// What somebody did between the look and the lock wins: says why nothing is to be done.
    fn stays(&self, facts: &Facts) -> Option<String> {
        let name = display_name(&self.record.name);
        let known = self.record.annotations.get(SPEC_HASH);
        let known = known.and_then(|it| Hash::parse(it)).unwrap_or_default();
        match &facts.record {
            None => Some(format!("shoot {name} is gone")),
            Some(it) if it.leaving || it.uid != self.record.uid => {
                Some(format!("shoot {name} is being deleted"))
            }
            // That run has replaced them as well.
            Some(it) if it.hash != known => Some(format!("shoot {name} was changed meanwhile")),
            Some(_) => {
                let mut machines = facts.machines.values().flatten();
                let is_due = self.machines.is_empty() || machines.any(|it| it.1.evacuating);
                (!is_due).then(|| format!("shoot {name} has no machine any more that has to go"))
            }
        }
    }
}

/// Whether the last run was an evacuation, and did not get through.
fn has_failed(record: &RecordSeen) -> bool {
    let history = record.data.get(HISTORY).map(String::as_str);
    let runs = history.and_then(|it| serde_json::from_str::<Vec<RunRecord>>(it).ok());
    let last = runs.and_then(|it| it.into_iter().next());
    last.is_some_and(|it| it.verb == VERB && it.result != "converged")
}

/// Of a look: what no other look will mend.
fn is_final(error: &CommandError) -> bool {
    matches!(error.exit, Exit::NotFound | Exit::NotAllowed)
}

#[cfg(test)]
#[path = "evacuate_tests.rs"]
mod tests;
