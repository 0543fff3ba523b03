//! A locked and observed shoot, and the run that works on it.

use super::background;
use super::group::{RunGroup, WRITES};
use super::reporter::Reporter;
use super::result::RunResult;
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit, failed};
use crate::app::signals::Signals;
use crate::app::why::root_cause::RootCause;
use crate::app::why::root_causes::root_causes_of_run;
use crate::cluster::{
    ApiClient, Error, Executor, Lease, LeaseHolder, Observer, ProviderContext, RecordSnapshot,
    RemainingObjects, Retryability,
};
use crate::config::ProcessIdentity;
use crate::flow::{self, ActionResult, EventKind, ItemStatus, RunEvent, RunLimits, RunReport};
use crate::state::action::{Action, Desired, RenderedAction};
use crate::state::facts::Facts;
use crate::state::failure::Failure;
use crate::state::names::role;
use crate::state::observed::Observed;
use crate::state::plan::{ItemKind, Plan};
use serde_json::Value;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

/// Time limit of the last requests of a run when the server probably does not answer.
const CLEANUP: Duration = Duration::from_secs(2);

/// Time limits of every run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunOptions {
    pub(crate) timeout: Duration,
    /// Time to wait for another run of the same shoot.
    pub(crate) lock_timeout: Duration,
}

/// The shoot of a run, and the run itself.
pub(crate) struct RunInfo<'a> {
    pub(crate) verb: &'static str,
    /// Display name of the shoot.
    pub(crate) shoot: &'a str,
    /// Technical ID.
    pub(crate) id: &'a str,
    pub(crate) beside: ProviderContext,
    /// The command that resumes the run; None if the caller handles that.
    pub(crate) resume: Option<String>,
    /// The other runs of the same command.
    pub(crate) group: Option<&'a RunGroup>,
}

/// A locked and observed shoot.
pub(crate) struct Session<'a> {
    signals: &'a Signals,
    info: RunInfo<'a>,
    started: Instant,
    lease: Lease,
    pub(crate) provider: ApiClient,
    observer: Arc<Observer>,
    performer: Executor,
    reporter: Reporter<'a>,
}

/// Returns a predicate for [`LeaseHolder::identity`]: true if that process ran on this computer and has ended.
pub(crate) fn is_gone(own: ProcessIdentity) -> impl Fn(&str) -> bool {
    move |other| {
        serde_json::from_str::<ProcessIdentity>(other).is_ok_and(|other| own.is_gone(&other))
    }
}

impl<'a> Session<'a> {
    /// Locks and observes a shoot. Only the lease is written.
    pub(crate) async fn start(
        context: &Context,
        signals: &'a Signals,
        provider: &ApiClient,
        options: RunOptions,
        info: RunInfo<'a>,
    ) -> Result<Self, CommandError> {
        let started = Instant::now();
        let reporter = match info.group {
            Some(group) => Reporter::of_group(started, group, group.label(info.id)),
            None => Reporter::new(started, context.ui.progress()),
        };
        reporter.report(EventKind::RunStarted {
            verb: info.verb,
            shoot: info.shoot.to_owned(),
            technical_ids: vec![info.id.to_owned()],
            namespace: provider.namespace().to_string(),
        });
        let own = context.config.identity();
        let holder = LeaseHolder {
            name: format!("{}, run {}", context.config.user_at_host(), context.run_id),
            identity: serde_json::to_string(&own).expect("numbers and texts"),
            verb: info.verb,
            role: role::LOCK,
        };
        let is_gone = is_gone(own);
        let report = |held: &Error| reporter.note(format!("waiting for the lock: {held}"));
        let wait = options.lock_timeout;
        let lease = Lease::acquire(provider, info.id, &holder, wait, is_gone, report);
        let lease = signals
            .or_interrupted("lock the shoot", async { lease.await.map_err(failed) })
            .await?;
        // Limits of the run do not include the time that it waited for the lock.
        let started = Instant::now();
        let observed = async {
            let beside = info.beside.clone();
            match info.group.and_then(|it| it.watches(info.id)) {
                Some(watches) => Observer::start_shared(watches, info.id, started, beside).await,
                None => Observer::start(provider, info.id, started, beside).await,
            }
        };
        let observer = match signals
            .or_interrupted("observe the shoot", async {
                observed.await.map_err(failed)
            })
            .await
        {
            Ok(observer) => Arc::new(observer),
            Err(error) => {
                // It expires if it cannot be released now.
                let _ = timeout(CLEANUP, lease.release()).await;
                return Err(error);
            }
        };
        let performer = Executor {
            provider: provider.clone(),
            observer: observer.clone(),
            run_id: context.run_id.as_str().into(),
            fence: lease.fence(),
            migrations: Default::default(),
        };
        Ok(Session {
            signals,
            info,
            started,
            lease,
            provider: provider.clone(),
            observer,
            performer,
            reporter,
        })
    }

    pub(crate) fn facts(&self) -> Arc<Facts> {
        self.observer.facts().borrow().clone()
    }

    /// Plans and performs until a plan is done or no progress is possible. `admit` may refuse the first plan.
    pub(crate) async fn run(
        &self,
        plan: impl Fn(&Observed) -> Plan,
        admit: impl FnOnce(&Plan) -> Result<(), Failure>,
        render: impl Fn(&Facts, &Desired) -> Vec<Value>,
    ) -> Result<RunReport, CommandError> {
        let lost = CancellationToken::new();
        let limits = RunLimits {
            started: self.started,
            actions: WRITES,
            timeout: self
                .started
                .elapsed()
                .saturating_add(self.signals.remaining()),
            interrupt: self.signals.first.clone(),
            lost: lost.clone(),
        };
        let perform = |action: Action, facts: Arc<Facts>| {
            let action = action.rendered(|desired| render(&facts, desired));
            async move {
                // A drain waits, for hours if a PodDisruptionBudget prevents it.
                let drains = matches!(action, RenderedAction::Drain(_));
                let _permit = match self.info.group.filter(|_| !drains) {
                    Some(group) => group.permit().await,
                    None => None,
                };
                answer(self.performer.execute(action).await)
            }
        };
        let report = |event: RunEvent| {
            if let EventKind::Progress { done, total } = event.kind {
                self.lease.set_progress(done, total);
            }
            self.reporter.report(event.kind);
        };
        let run = flow::run(&limits, self.observer.facts(), plan, admit, perform, report);
        let background = self.background(lost);
        tokio::select! {
            // A plan that is refused ends the run before the background tasks write anything.
            biased;
            report = run => Ok(report),
            never = background => match never {},
            () = self.signals.second.cancelled() => {
                let aborted = CommandError::new(self.signals.exit(), "aborted");
                Err(match self.resume() {
                    Some(resume) => aborted.hint(format!("to resume: {resume}")),
                    None => aborted,
                })
            }
        }
    }

    /// Does work of a run that no plan has, and holds the lease meanwhile.
    ///
    /// # Errors
    ///
    /// The work was interrupted, took longer than the run may, or the lease was lost.
    pub(crate) async fn during<T>(
        &self,
        what: &str,
        work: impl Future<Output = Result<T, CommandError>>,
    ) -> Result<T, CommandError> {
        let lost = CancellationToken::new();
        let background = self.background(lost.clone());
        let (exit, why) = tokio::select! {
            done = work => return done,
            () = self.signals.first.cancelled() => (self.signals.exit(), "interrupted"),
            () = sleep(self.signals.remaining()) => (Exit::Timeout, "timed out"),
            () = lost.cancelled() => (Exit::Partly, "lost the lock, another run may hold it"),
            never = background => match never {},
        };
        let stopped = CommandError::new(exit, format!("cannot {what}: {why}"));
        Err(match self.resume() {
            Some(resume) => stopped.hint(format!("to resume: {resume}")),
            None => stopped,
        })
    }

    async fn background(&self, lost: CancellationToken) -> Infallible {
        let is_deletion = self.info.beside.is_deletion;
        background::run(
            &self.reporter,
            &self.observer,
            &self.lease,
            is_deletion,
            lost,
        )
        .await
    }

    /// Lets the lock outlive the record, for a run that deletes the record.
    pub(crate) async fn keep_lock_without_record(&self) {
        if let Err(error) = self.lease.remove_owner().await {
            tracing::debug!(%error, "cannot remove the owner of the lease");
        }
    }

    /// Waits until the facts are as `is_wanted`.
    pub(crate) async fn wait_for(&self, is_wanted: impl Fn(&Facts) -> bool) {
        let mut facts = self.observer.facts();
        // The sender lives as long as the observer.
        let _ = facts.wait_for(|it| is_wanted(it)).await;
    }

    /// A client of the shoot's API server, once it was reached.
    pub(crate) fn shoot_client(&self) -> Option<ApiClient> {
        self.observer.shoot_client()
    }

    pub(crate) fn note(&self, text: impl Into<String>) {
        self.reporter.note(text);
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.reporter.elapsed()
    }

    /// Runs the last requests of a run, within a short time limit.
    pub(crate) async fn with_deadline(&self, exit: Exit, work: impl Future<Output = ()>) {
        let _ = timeout(cleanup_limit(exit), work).await;
    }

    /// Writes data of this run to the record.
    pub(crate) async fn write_record(&self, data: Value) -> Result<(), Error> {
        match &self.facts().record {
            Some(record) => self.performer.patch_record(record, &data).await,
            None => Ok(()),
        }
    }

    /// The record as it is now; None if it cannot be read.
    pub(crate) async fn record(&self) -> Option<RecordSnapshot> {
        self.provider.record(self.info.id).await.ok().flatten()
    }

    /// The ClusterIP through which machines reach the API server, if it was observed.
    pub(crate) fn cluster_ip(&self) -> Option<Arc<str>> {
        self.observer.facts().borrow().cluster_ip(self.info.id)
    }

    /// The root causes that keep the shoot from being healthy, from the observation of this run. None without a record.
    pub(crate) async fn root_causes(
        &self,
        context: &Context,
    ) -> Result<Option<Vec<RootCause>>, CommandError> {
        root_causes_of_run(&self.observer, &self.provider, self.info.id, context).await
    }

    pub(crate) fn verb(&self) -> &'static str {
        self.info.verb
    }

    /// The command that resumes this run.
    pub(crate) fn resume(&self) -> Option<String> {
        self.info.resume.clone()
    }

    /// Deletes remaining objects of a shoot that nothing else deletes.
    pub(crate) async fn force_delete(&self, remaining: &RemainingObjects) {
        self.provider
            .force_cleanup(remaining, &self.lease.fence())
            .await;
    }

    /// Reports what the verification of a deletion waits for.
    pub(crate) fn report_verification(&self, why: &str) {
        self.reporter.report(EventKind::Item {
            id: "proof".to_owned(),
            kind: ItemKind::Other("proof".into()),
            title: "Verify that nothing remains".to_owned(),
            status: ItemStatus::Waiting,
            why: Some(why.to_owned()),
        });
        self.reporter.tick();
    }

    /// Releases the lease. The lease of a shoot without a record is deleted, since nothing else would delete it.
    pub(crate) async fn unlock(&self, exit: Exit) {
        let unlock = async {
            let result = match self.facts().record {
                Some(_) => self.lease.release().await,
                None => self.lease.delete().await,
            };
            if let Err(error) = result {
                tracing::debug!(%error, "cannot release the lease; it expires");
            }
        };
        self.with_deadline(exit, unlock).await;
    }

    /// Unlocks the shoot and reports the result.
    pub(crate) async fn finish(self, result: RunResult) -> Exit {
        self.unlock(result.exit).await;
        self.reporter.report(EventKind::RunFinished {
            exit_code: result.exit.code(),
            outcome: result.outcome,
            summary: result.summary,
            hint: result.hint,
            resume: result.resume,
        });
        result.exit
    }
}

fn cleanup_limit(exit: Exit) -> Duration {
    match exit {
        Exit::Timeout | Exit::Interrupted | Exit::Terminated => CLEANUP,
        _ => 5 * CLEANUP,
    }
}

fn answer(result: Result<(), Error>) -> ActionResult {
    let Err(error) = result else {
        return ActionResult::Done;
    };
    match error.retryability() {
        Retryability::Retry => {
            let asked = match &error {
                Error::Throttled { retry_after, .. } => *retry_after,
                _ => None,
            };
            ActionResult::Retry {
                cause: error.to_string(),
                retry_after: asked,
            }
        }
        Retryability::Replan => ActionResult::Replan(error.to_string()),
        Retryability::Fatal(_) => ActionResult::Refused(error.failure()),
    }
}
