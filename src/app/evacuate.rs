//! Migrating or replacing machines on provider nodes that are being drained.

use super::apply::{ApplyRequest, RecordExpectation, apply_shoot};
use super::context::Context;
use super::error::{CommandError, Exit, failed};
use super::in_cluster::cronjob::{self, CronJob, CronJobOptions};
use super::inspect::shoot_summary::find;
use super::provider::connect::connect;
use super::run::history;
use super::run::session::{RunOptions, is_gone};
use super::signals::Signals;
use crate::cluster::{self, ApiClient, FactsScope, NamespaceScope, RecordSnapshot};
use crate::load::recorded_shoot;
use crate::state::duty::Duty;
use crate::state::facts::Facts;
use crate::state::facts::certificate_judgment::is_any_due;
use crate::state::names::display_name;
use crate::state::record::{HISTORY, RunRecord};
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

const VERB: &str = "evacuate";
/// Duties of `apply` and `keep` that need more permissions than replacing machines.
const SKIPPED: [Duty; 5] = [
    Duty::Objects,
    Duty::Certificates,
    Duty::Repair,
    Duty::Hibernation,
    Duty::Expiry,
];
const FIND: &str = "find machines on draining nodes";
/// The interval of `--watch`.
const INTERVAL: Duration = Duration::from_secs(5);
/// Time before a failed or locked shoot is tried again by `--watch`.
const PAUSE: Duration = Duration::from_secs(30);
/// The interval at which `--watch` looks up requests for certificates.
const REQUESTS_INTERVAL: Duration = Duration::from_secs(60);

/// Options of `kvshoot evacuate`.
#[derive(Debug)]
pub(crate) struct EvacuateOptions {
    /// Display name of the shoot; all shoots of the namespace if None.
    pub(crate) name: Option<String>,
    pub(crate) watch: bool,
    pub(crate) run: RunOptions,
}

/// A shoot with machines to replace, or certificates to approve.
struct DueShoot {
    record: RecordSnapshot,
    /// Names of the machines; empty if an interrupted evacuation has to be resumed.
    machines: Vec<Arc<str>>,
    /// Kubelets have requested certificates.
    has_requests: bool,
}

struct EvacuateRun<'a> {
    options: &'a EvacuateOptions,
    context: &'a Context,
    signals: &'a Signals,
    provider: ApiClient,
    /// When requests for certificates were last looked up.
    requests_read: Cell<Option<Instant>>,
}

/// Migrates or replaces machines on draining nodes, once or until a signal.
pub(crate) fn evacuate(options: &EvacuateOptions, context: &Context) -> Result<Exit, CommandError> {
    context.block_on(async {
        let limit = Some(options.run.timeout).filter(|_| !options.watch);
        let signals = Signals::listen(limit)?;
        let evacuation = EvacuateRun {
            options,
            context,
            signals: &signals,
            provider: signals.or_interrupted(FIND, connect(context)).await?,
            requests_read: Cell::new(None),
        };
        match options.watch {
            true => evacuation.watch().await,
            false => evacuation.once().await,
        }
    })?
}

/// Prints a CronJob that runs `kvshoot evacuate`. It reads the cluster-wide objects that apply reads, so that machines are
/// the same.
pub(crate) fn print_cronjob(
    options: &EvacuateOptions,
    cronjob: &CronJobOptions,
    context: &Context,
) -> Result<Exit, CommandError> {
    if context.provider.namespace.is_none() {
        let message = "a namespace is required: the ClusterRoleBinding names the namespace of the ServiceAccount";
        return Err(CommandError::new(Exit::Usage, message).hint("pass -n NAMESPACE"));
    }
    let job = CronJob {
        about: "Migrates or replaces machines on draining nodes",
        verb: VERB,
        name: VERB.to_owned(),
        arguments: options.name.iter().cloned().collect(),
        timeout: options.run.timeout,
        rules: cluster::rules_to_evacuate(),
        cluster_rules: Some(cluster::rules_for_placement()),
        migration_rules: Some(cluster::rules_to_migrate()),
        environment: Vec::new(),
        claims: Vec::new(),
    };
    cronjob::print(&job, cronjob, context);
    Ok(Exit::Done)
}

impl EvacuateRun<'_> {
    async fn once(&self) -> Result<Exit, CommandError> {
        let due = self.signals.or_interrupted(FIND, self.due()).await?;
        if due.is_empty() {
            let ui = &self.context.ui;
            ui.status("no machines on draining nodes");
        }
        let mut worst = Exit::Done;
        for shoot in &due {
            if self.signals.first.is_cancelled() {
                return Ok(self.signals.exit());
            }
            // A failure does not keep the others from being replaced.
            match self.replace(shoot, self.signals).await {
                Ok(Exit::Done) => {}
                Ok(exit) => worst = exit,
                // The other run replaces the machines, or the next evacuation does.
                Err(error) if error.exit == Exit::Held && self.options.name.is_none() => {
                    error.report(&self.context.ui);
                }
                Err(error) => worst = error.report(&self.context.ui),
            }
        }
        Ok(worst)
    }

    /// Ends with a signal, or with an error that does not pass.
    async fn watch(&self) -> Result<Exit, CommandError> {
        let mut not_before: HashMap<Arc<str>, Instant> = HashMap::new();
        let mut last_warning = String::new();
        let mut is_first = true;
        loop {
            let found = tokio::select! {
                found = self.due() => found,
                () = self.signals.first.cancelled() => return Ok(self.signals.exit()),
            };
            let due = match found {
                Ok(due) => {
                    last_warning.clear();
                    due
                }
                Err(error) if is_first || is_permanent(&error) => return Err(error),
                Err(error) => {
                    if last_warning != error.message {
                        last_warning.clone_from(&error.message);
                        let ui = &self.context.ui;
                        ui.warn(&format!("{last_warning}; retrying"));
                    }
                    Vec::new()
                }
            };
            if is_first {
                let namespace = self.provider.namespace();
                let text = format!("watching machines in namespace {namespace}");
                self.context.ui.status(&text);
                is_first = false;
            }
            for shoot in due {
                let uid = &shoot.record.uid;
                let is_early = not_before.get(uid).is_some_and(|it| *it > Instant::now());
                if is_early || self.signals.first.is_cancelled() {
                    continue;
                }
                let signals = self.signals.with_timeout(self.options.run.timeout);
                let exit = self.replace(&shoot, &signals).await;
                let exit = exit.unwrap_or_else(|error| error.report(&self.context.ui));
                if exit != Exit::Done {
                    not_before.insert(uid.clone(), Instant::now() + PAUSE);
                }
            }
            tokio::select! {
                () = sleep(INTERVAL) => {}
                () = self.signals.first.cancelled() => return Ok(self.signals.exit()),
            }
        }
    }

    /// Returns the shoots with machines to replace, sorted by name.
    async fn due(&self) -> Result<Vec<DueShoot>, CommandError> {
        let records = match &self.options.name {
            Some(name) => vec![find(&self.provider, name, self.context).await?],
            None => {
                let records = self.provider.records(NamespaceScope::Current).await;
                records.map_err(failed)?
            }
        };
        let mut machines = self.provider.evacuating_machines().await.map_err(failed)?;
        let reads_requests = self.is_time_for_requests();
        let mut due = Vec::new();
        for record in records.into_iter().filter(|record| !record.leaving) {
            let machines = machines.remove(&record.name).unwrap_or_default();
            let has_requests = reads_requests && self.has_requests(&record).await?;
            if !machines.is_empty() || has_requests || self.is_interrupted(&record).await? {
                due.push(DueShoot {
                    record,
                    machines,
                    has_requests,
                });
            }
        }
        Ok(due)
    }

    /// Returns true once per [`REQUESTS_INTERVAL`].
    fn is_time_for_requests(&self) -> bool {
        let last = self.requests_read.get();
        let is_due = last.is_none_or(|it| it.elapsed() >= REQUESTS_INTERVAL);
        if is_due {
            self.requests_read.set(Some(Instant::now()));
        }
        is_due
    }

    /// Returns true if certificates of kubelets can be approved or denied. A shoot that is not reachable has none.
    async fn has_requests(&self, record: &RecordSnapshot) -> Result<bool, CommandError> {
        let facts = self.provider.list_facts(record, FactsScope::CERTIFICATES);
        Ok(is_any_due(&facts.await.map_err(failed)?))
    }

    /// Returns true if the last evacuation did not finish: it may have deleted machines without replacing them.
    async fn is_interrupted(&self, record: &RecordSnapshot) -> Result<bool, CommandError> {
        let is_gone = is_gone(self.context.config.identity());
        let was_killed = self.provider.was_interrupted(&record.name, VERB, is_gone);
        Ok(has_failed(record) || was_killed.await.map_err(failed)?)
    }

    async fn replace(&self, due: &DueShoot, signals: &Signals) -> Result<Exit, CommandError> {
        let record = &due.record;
        let name = display_name(&record.name);
        let ui = &self.context.ui;
        ui.status(&format!("shoot {name}: {}", due.why()));
        let complete = self.provider.complete_record(record.clone()).await;
        let complete = complete.map_err(failed)?;
        let shoot = recorded_shoot(&record.name, &complete.data, crate::clock::now());
        let shoot = shoot.ok_or_else(|| {
            let message = format!("cannot read the record of shoot {name}");
            let error = CommandError::new(Exit::Precondition, message);
            error.hint("apply its manifest, which also replaces machines on draining nodes")
        })?;
        let skip_if = |facts: &Facts| due.skip_if(facts);
        let started = Cell::new(false);
        let request = ApplyRequest {
            verb: VERB,
            run: self.options.run,
            create_namespace: false,
            resume: Some(self.context.config.command_line()).filter(|_| !self.options.watch),
            expects: RecordExpectation::Any,
            skipped: SKIPPED.into(),
            health: None,
            skip_if: Some(&skip_if),
            started: &started,
            group: None,
        };
        let applied = apply_shoot(&request, self.context, signals, &self.provider, &shoot).await?;
        if applied.exit == Exit::Done && applied.verb == "unchanged" && started.get() {
            self.check_replaced(due).await?;
        }
        if applied.exit == Exit::Done && applied.verb != "unchanged" {
            ui.data(&format!("shoot.core.gardener.cloud/{name} evacuated\n"));
        }
        Ok(applied.exit)
    }

    /// # Errors
    ///
    /// A machine stays on a draining node, since something else of the shoot has to be created or updated first.
    async fn check_replaced(&self, due: &DueShoot) -> Result<(), CommandError> {
        let mut machines = self.provider.evacuating_machines().await.map_err(failed)?;
        let left = machines.remove(&due.record.name).unwrap_or_default();
        let Some(machine) = left.iter().find(|it| due.machines.contains(it)) else {
            return Ok(());
        };
        let message = format!(
            "machine {machine} stays on a draining node: other objects of the shoot are missing or outdated"
        );
        Err(CommandError::new(Exit::Partly, message).hint("apply its manifest"))
    }
}

impl DueShoot {
    fn why(&self) -> String {
        match self.machines.as_slice() {
            [] if self.has_requests => "kubelets have requested certificates".to_owned(),
            [] => "the last evacuation was interrupted".to_owned(),
            [one] => format!("machine {one} is on a draining node"),
            all => format!("machines {} are on draining nodes", all.join(", ")),
        }
    }

    /// Returns why nothing has to be replaced after all. The shoot may have changed before it was locked.
    fn skip_if(&self, facts: &Facts) -> Option<String> {
        // Another run has replaced the machines as well.
        history::change_since(&self.record, facts).or_else(|| {
            let mut machines = facts.machines.values().flatten();
            let is_due = self.machines.is_empty()
                || machines.any(|(_, machine)| machine.evacuation.is_some());
            let name = display_name(&self.record.name);
            (!is_due).then(|| format!("shoot {name} has no machines on draining nodes"))
        })
    }
}

/// Returns true if the last run was an evacuation that did not converge.
fn has_failed(record: &RecordSnapshot) -> bool {
    let history = record.data.get(HISTORY).map(String::as_str);
    let runs = history.and_then(|text| serde_json::from_str::<Vec<RunRecord>>(text).ok());
    let last = runs.and_then(|runs| runs.into_iter().next());
    last.is_some_and(|run| run.verb == VERB && run.result != "converged")
}

/// Returns true for errors that a later attempt does not fix.
fn is_permanent(error: &CommandError) -> bool {
    matches!(error.exit, Exit::NotFound | Exit::NotAllowed)
}

#[cfg(test)]
#[path = "evacuate_tests.rs"]
mod tests;
