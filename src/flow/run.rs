//! The control loop: observe, plan, start due actions, wait for the next change.

use super::changes::ChangeTracker;
use super::event::{EventKind, RunEvent};
use super::retry::{CanaryMachines, Retries, Window};
use crate::state::action::Action;
use crate::state::facts::Facts;
use crate::state::failure::{ErrorClass, Failure};
use crate::state::key::ObjectKey;
use crate::state::observed::Observed;
use crate::state::plan::{Item, ItemId, ItemState, Plan};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use std::collections::{HashSet, VecDeque};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, Span};

/// Minimum time between two plans.
const PLAN_INTERVAL: Duration = Duration::from_millis(100);
/// Time that requests in flight get to finish when a run ends.
const GRACE_PERIOD: Duration = Duration::from_secs(10);

/// Result of an action.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ActionResult {
    Done,
    /// A transient error; `retry_after` is the minimum delay that the server requested.
    Retry {
        cause: String,
        retry_after: Option<Duration>,
    },
    /// The object differs from the observation; plan again.
    Replan(String),
    /// A permanent error: the same request would fail again.
    Refused(Failure),
}

/// Limits of a run.
pub(crate) struct RunLimits {
    /// Start of the run; event times are relative to it.
    pub(crate) started: Instant,
    /// Maximum number of concurrent actions.
    pub(crate) actions: usize,
    /// Maximum duration of the run.
    pub(crate) timeout: Duration,
    /// Cancelled on SIGINT or SIGTERM.
    pub(crate) interrupt: CancellationToken,
    /// Cancelled when the lease is lost and another run may write to the shoot.
    pub(crate) lost: CancellationToken,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The first plan was refused: nothing was reported or started.
    Refused(Failure),
    Converged,
    /// An item failed, and the remaining items depend on it.
    Stuck,
    Timeout,
    Interrupted,
    /// Another run took over the shoot.
    Lost,
}

/// Result of a run.
#[derive(Debug)]
pub(crate) struct RunReport {
    pub(crate) outcome: Outcome,
    /// Number of actions that succeeded.
    pub(crate) performed: usize,
    pub(crate) done: usize,
    pub(crate) total: usize,
    /// Titles of failed items, with the cause.
    pub(crate) failed: Vec<(String, Failure)>,
    /// Titles of waiting items, with the reason, a clause that stands alone.
    pub(crate) waiting: Vec<(String, String)>,
}

/// Refuses a plan with a failure that no run can fix: a missing prerequisite, an object of another owner, or a missing
/// permission.
pub(crate) fn check_feasible(plan: &Plan) -> Result<(), Failure> {
    for item in &plan.items {
        if let ItemState::Failed(failure) = &item.state
            && matches!(
                failure.class,
                ErrorClass::Missing | ErrorClass::Foreign | ErrorClass::NotAllowed
            )
        {
            return Err(failure.clone());
        }
    }
    Ok(())
}

/// Runs until all items are done, no item can make progress, or the timeout expires.
///
/// `admit` sees the first plan before anything is reported or started; its error ends the run.
///
/// Plans again whenever the facts change, at most every 100 ms; in between, the remaining due actions of the previous
/// plan may start. After a cancellation no action starts, and requests in flight get 10 s to finish.
pub(crate) async fn run<F>(
    limits: &RunLimits,
    mut facts: watch::Receiver<Arc<Facts>>,
    plan: impl Fn(&Observed) -> Plan,
    admit: impl FnOnce(&Plan) -> Result<(), Failure>,
    perform: impl Fn(Action, Arc<Facts>) -> F,
    emit: impl FnMut(RunEvent),
) -> RunReport
where
    F: Future<Output = ActionResult>,
{
    let mut run = Run::new(limits, emit);
    let mut running = FuturesUnordered::new();
    let mut admit = Some(admit);
    loop {
        run.observed.facts = facts.borrow_and_update().clone();
        let plan = run.plan(&plan);
        if let Some(admit) = admit.take()
            && let Err(failure) = admit(&plan)
        {
            return run.report(Outcome::Refused(failure), &plan);
        }
        run.report_changes(&plan);
        if running.is_empty()
            && let Some(outcome) = run.outcome(&plan)
        {
            return run.report(outcome, &plan);
        }
        run.queue_due(&plan);
        let mut dirty = false;
        let earliest = Instant::now() + PLAN_INTERVAL;
        loop {
            for action in run.start(running.len()) {
                let item = item_of(&action, &plan);
                let span = span(&action, item.as_ref());
                let result = perform(action.clone(), run.observed.facts.clone()).instrument(span);
                running.push(async move { (action, item, result.await) });
            }
            if run.has_stopped(running.is_empty()) {
                let outcome = run.stopped_by();
                return run.report(outcome, &plan);
            }
            if run.is_overdue() {
                return run.report(Outcome::Timeout, &plan);
            }
            tokio::select! {
                biased;
                Some((action, item, result)) = running.next() => {
                    run.finish(&action, item, result);
                    dirty = true;
                }
                () = run.cancelled(), if !run.stopping => run.interrupt(),
                changed = facts.changed() => {
                    dirty = true;
                    if changed.is_err() { break }
                }
                () = sleep_until(earliest), if dirty => break,
                () = sleep_until(run.wake(&plan)) => break,
            }
        }
    }
}

/// State of a run.
struct Run<'a, T> {
    limits: &'a RunLimits,
    emit: T,
    observed: Observed,
    changes: ChangeTracker,
    retries: Retries,
    window: Window,
    canaries: CanaryMachines,
    queue: VecDeque<Action>,
    performed: usize,
    round: u64,
    stopping: bool,
    /// End of the grace period once the run is stopping.
    deadline: Instant,
}

impl<'a, T: FnMut(RunEvent)> Run<'a, T> {
    fn new(limits: &'a RunLimits, emit: T) -> Self {
        Run {
            limits,
            emit,
            observed: Observed::default(),
            changes: ChangeTracker::default(),
            retries: Retries::default(),
            window: Window::new(limits.actions),
            canaries: CanaryMachines::default(),
            queue: VecDeque::new(),
            performed: 0,
            round: 0,
            stopping: false,
            deadline: limits.started,
        }
    }

    fn now(&self) -> Duration {
        self.limits.started.elapsed()
    }

    fn emit(&mut self, kind: EventKind) {
        let at = self.now();
        (self.emit)(RunEvent { at, kind });
    }

    fn plan(&mut self, plan: impl Fn(&Observed) -> Plan) -> Plan {
        self.observed.now = self.now();
        plan(&self.observed)
    }

    fn report_changes(&mut self, plan: &Plan) {
        self.round += 1;
        for event in self.changes.update(plan, self.round, &self.observed.facts) {
            self.emit(event);
        }
    }

    /// Outcome if no action is running. Blocked items do not keep a run alive, since their dependencies must move first.
    fn outcome(&self, plan: &Plan) -> Option<Outcome> {
        let can_progress =
            |item: &Item| matches!(item.state, ItemState::Due(_) | ItemState::Waiting(_));
        if plan.items.iter().all(|it| it.state == ItemState::Done) {
            Some(Outcome::Converged)
        } else if !plan.items.iter().any(can_progress) {
            Some(Outcome::Stuck)
        } else {
            (self.now() >= self.limits.timeout).then_some(Outcome::Timeout)
        }
    }

    fn queue_due(&mut self, plan: &Plan) {
        self.queue.clear();
        self.canaries.new_plan();
        if self.stopping || self.now() >= self.limits.timeout {
            return;
        }
        let now = self.now();
        let mut keys: HashSet<&ObjectKey> = HashSet::new();
        for item in &plan.items {
            if let ItemState::Due(action) = &item.state
                && self.retries.is_allowed(action.key(), now)
                && keys.insert(action.key())
            {
                self.queue.push_back(action.clone());
            }
        }
    }

    fn start(&mut self, running: usize) -> Vec<Action> {
        if self.stopping {
            return Vec::new();
        }
        let mut available = self.window.available(running);
        let mut held = VecDeque::new();
        let mut started = Vec::new();
        while available > 0
            && let Some(action) = self.queue.pop_front()
        {
            if self.canaries.start(&action) {
                started.push(action);
                available -= 1;
            } else {
                held.push_back(action);
            }
        }
        held.append(&mut self.queue);
        self.queue = held;
        for action in &started {
            self.observed
                .sent
                .insert(action.key().clone(), action.clone());
        }
        started
    }

    /// `item` is the item of the action, if there is exactly one.
    fn finish(&mut self, action: &Action, item: Option<ItemId>, result: ActionResult) {
        let id = || item.map_or_else(|| action.key().to_string(), |item| item.to_string());
        let key = action.key();
        self.observed.sent.remove(key);
        self.canaries.end(action, result == ActionResult::Done);
        match result {
            ActionResult::Done => {
                self.performed += 1;
                self.window.grow();
                self.retries.forget(key);
                self.observed.count_zone_failure(action);
            }
            ActionResult::Retry { cause, retry_after } => {
                self.window.shrink();
                let again = self.retries.delay(key, self.now(), retry_after);
                self.emit(EventKind::Retried {
                    id: id(),
                    cause,
                    again,
                });
            }
            ActionResult::Replan(cause) => {
                let again = self.retries.delay(key, self.now(), None);
                self.emit(EventKind::Retried {
                    id: id(),
                    cause,
                    again,
                });
            }
            ActionResult::Refused(failure) => {
                self.window.shrink();
                self.observed
                    .refused
                    .insert(key.clone(), (action.clone(), failure));
            }
        }
    }

    async fn cancelled(&self) {
        tokio::select! {
            () = self.limits.interrupt.cancelled() => {}
            () = self.limits.lost.cancelled() => {}
        }
    }

    fn interrupt(&mut self) {
        self.stopping = true;
        self.queue.clear();
        self.deadline = Instant::now() + GRACE_PERIOD;
        self.emit(EventKind::Interrupted);
    }

    fn has_stopped(&self, is_idle: bool) -> bool {
        self.stopping && (is_idle || Instant::now() >= self.deadline)
    }

    /// The timeout expired, and requests in flight did not finish within the grace period.
    fn is_overdue(&self) -> bool {
        self.now() >= self.limits.timeout.saturating_add(GRACE_PERIOD)
    }

    fn stopped_by(&self) -> Outcome {
        if self.limits.lost.is_cancelled() {
            Outcome::Lost
        } else {
            Outcome::Interrupted
        }
    }

    /// When the passage of time alone would change the plan.
    fn wake(&self, plan: &Plan) -> Instant {
        let now = self.now();
        let timeout = self.limits.timeout;
        let first = [
            plan.wake,
            self.retries.next(now),
            Some(timeout),
            Some(timeout.saturating_add(GRACE_PERIOD)),
        ]
        .into_iter()
        .flatten()
        .filter(|at| *at > now)
        .min()
        .map_or(Instant::now() + GRACE_PERIOD, |at| self.limits.started + at);
        if self.stopping {
            first.min(self.deadline)
        } else {
            first
        }
    }

    fn report(self, outcome: Outcome, plan: &Plan) -> RunReport {
        let (done, total) = self.changes.numbers();
        let mut report = RunReport {
            outcome,
            performed: self.performed,
            done,
            total,
            failed: Vec::new(),
            waiting: Vec::new(),
        };
        for item in &plan.items {
            match &item.state {
                ItemState::Failed(failure) => {
                    report.failed.push((item.title.clone(), failure.clone()))
                }
                ItemState::Waiting(why) => report.waiting.push((item.title.clone(), why.clone())),
                ItemState::Done | ItemState::Due(_) | ItemState::Blocked => {}
            }
        }
        report
    }
}

/// The item that is completed by an action. None if there are several.
fn item_of(action: &Action, plan: &Plan) -> Option<ItemId> {
    let mut items = plan
        .items
        .iter()
        .filter(|item| matches!(&item.state, ItemState::Due(due) if due.key() == action.key()));
    match (items.next(), items.next()) {
        (Some(item), None) => Some(item.id.clone()),
        _ => None,
    }
}

/// Span of an action in the log, with the ID of the item that it belongs to.
fn span(action: &Action, item: Option<&ItemId>) -> Span {
    let verb = match action {
        Action::Apply(_) => "apply",
        Action::Delete(_) => "delete",
        Action::Drain(_) => "drain",
    };
    tracing::info_span!("action", verb, object = %action.key(), item = item.map(tracing::field::display))
}
