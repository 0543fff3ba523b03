//! The loop: look, plan, start what is due, wait for whatever comes first.

use super::event::{Event, EventKind};
use super::progress::Progress;
use super::retry::{Retries, Trials, Window};
use crate::state::action::Action;
use crate::state::facts::Facts;
use crate::state::failure::Failure;
use crate::state::key::ObjectKey;
use crate::state::observed::Observed;
use crate::state::plan::{Item, ItemState, Plan};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use std::collections::{HashSet, VecDeque};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

/// Plans are made at most so often.
const BETWEEN_PLANS: Duration = Duration::from_millis(100);
/// So long may what is on its way still take when a run is to end.
const LAST_ANSWERS: Duration = Duration::from_secs(10);

/// What came of an action.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer {
    Done,
    /// A passing error; `asked` is how long the server wants to be left alone.
    Again {
        cause: String,
        asked: Option<Duration>,
    },
    /// The world is not what the plan was made from: look again.
    Look(String),
    /// The same would be refused again.
    Refused(Failure),
}

/// Bounds of a run.
pub(crate) struct Limits {
    /// When the run began; all times of its events count from here.
    pub(crate) started: Instant,
    /// Actions on their way at once, at most.
    pub(crate) actions: usize,
    /// How long the run may take in all.
    pub(crate) timeout: Duration,
    /// Cancelled when the person wants to stop.
    pub(crate) interrupt: CancellationToken,
    /// Cancelled when another run may write to the same shoot.
    pub(crate) lost: CancellationToken,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Converged,
    /// Something failed, and the rest needs it.
    Stuck,
    Timeout,
    Interrupted,
    /// Another run took the shoot over.
    Lost,
}

/// How a run ended.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) outcome: Outcome,
    /// Actions that were carried out.
    pub(crate) performed: usize,
    pub(crate) done: usize,
    pub(crate) total: usize,
    /// Titles of what failed, and why.
    pub(crate) failed: Vec<(String, Failure)>,
    /// Titles of what was still waited for, and for what.
    pub(crate) waiting: Vec<(String, String)>,
}

/// Runs until all is done, nothing can move any more, or time is up.
///
/// `plan` is asked again whenever the facts have changed; what else was due in an older plan stays due, so its
/// rest may be worked off. Cancelling starts nothing new, and waits a while for the answers that are still due.
pub(crate) async fn run<F>(
    limits: &Limits,
    mut facts: watch::Receiver<Arc<Facts>>,
    plan: impl Fn(&Observed) -> Plan,
    perform: impl Fn(Action, Arc<Facts>) -> F,
    tell: impl FnMut(Event),
) -> Report
where
    F: Future<Output = Answer>,
{
    let mut run = Run::new(limits, tell);
    let mut running = FuturesUnordered::new();
    loop {
        run.observed.facts = facts.borrow_and_update().clone();
        let plan = run.plan(&plan);
        if running.is_empty()
            && let Some(outcome) = run.verdict(&plan)
        {
            return run.report(outcome, &plan);
        }
        run.queue_due(&plan);
        let mut dirty = false;
        let earliest = Instant::now() + BETWEEN_PLANS;
        loop {
            for action in run.start(running.len()) {
                let answer = perform(action.clone(), run.observed.facts.clone());
                running.push(async move { (action, answer.await) });
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
                Some((action, answer)) = running.next() => {
                    run.answer(&action, answer);
                    dirty = true;
                }
                () = run.stop(), if !run.stopping => run.interrupt(),
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

/// What one run knows beside the facts.
struct Run<'a, T> {
    limits: &'a Limits,
    tell: T,
    observed: Observed,
    progress: Progress,
    retries: Retries,
    window: Window,
    trials: Trials,
    queue: VecDeque<Action>,
    performed: usize,
    round: u64,
    stopping: bool,
    last_answers: Instant,
}

impl<'a, T: FnMut(Event)> Run<'a, T> {
    fn new(limits: &'a Limits, tell: T) -> Self {
        Run {
            limits,
            tell,
            observed: Observed::default(),
            progress: Progress::default(),
            retries: Retries::default(),
            window: Window::new(limits.actions),
            trials: Trials::default(),
            queue: VecDeque::new(),
            performed: 0,
            round: 0,
            stopping: false,
            last_answers: limits.started,
        }
    }

    fn now(&self) -> Duration {
        self.limits.started.elapsed()
    }

    fn tell(&mut self, kind: EventKind) {
        let at = self.now();
        (self.tell)(Event { at, kind });
    }

    fn plan(&mut self, plan: impl Fn(&Observed) -> Plan) -> Plan {
        self.observed.now = self.now();
        let plan = plan(&self.observed);
        self.round += 1;
        for event in self.progress.update(&plan, self.round) {
            self.tell(event);
        }
        plan
    }

    /// Blocked items keep no run alive: they move only when what they need does.
    fn verdict(&self, plan: &Plan) -> Option<Outcome> {
        let moves = |it: &Item| matches!(it.state, ItemState::Due(_) | ItemState::Waiting(_));
        if plan.items.iter().all(|it| it.state == ItemState::Done) {
            Some(Outcome::Converged)
        } else if !plan.items.iter().any(moves) {
            Some(Outcome::Stuck)
        } else {
            (self.now() >= self.limits.timeout).then_some(Outcome::Timeout)
        }
    }

    fn queue_due(&mut self, plan: &Plan) {
        self.queue.clear();
        self.trials.plan();
        if self.stopping || self.now() >= self.limits.timeout {
            return;
        }
        let now = self.now();
        let mut keys: HashSet<&ObjectKey> = HashSet::new();
        for item in &plan.items {
            if let ItemState::Due(action) = &item.state
                && self.retries.allow(action.key(), now)
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
        let mut room = self.window.room(running);
        let mut held = VecDeque::new();
        let mut started = Vec::new();
        while room > 0
            && let Some(action) = self.queue.pop_front()
        {
            if self.trials.start(&action) {
                started.push(action);
                room -= 1;
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

    fn answer(&mut self, action: &Action, answer: Answer) {
        let key = action.key();
        self.observed.sent.remove(key);
        self.trials.end(action, answer == Answer::Done);
        match answer {
            Answer::Done => {
                self.performed += 1;
                self.window.grow();
                self.retries.forget(key);
                self.observed.count_zone_failure(action);
            }
            Answer::Again { cause, asked } => {
                self.window.shrink();
                let again = self.retries.again(key, self.now(), asked);
                self.tell(EventKind::Retried {
                    id: key.to_string(),
                    cause,
                    again,
                });
            }
            Answer::Look(cause) => {
                let again = self.retries.again(key, self.now(), None);
                self.tell(EventKind::Retried {
                    id: key.to_string(),
                    cause,
                    again,
                });
            }
            Answer::Refused(failure) => {
                self.window.shrink();
                self.observed
                    .refused
                    .insert(key.clone(), (action.clone(), failure));
            }
        }
    }

    async fn stop(&self) {
        tokio::select! {
            () = self.limits.interrupt.cancelled() => {}
            () = self.limits.lost.cancelled() => {}
        }
    }

    fn interrupt(&mut self) {
        self.stopping = true;
        self.queue.clear();
        self.last_answers = Instant::now() + LAST_ANSWERS;
        self.tell(EventKind::Interrupted);
    }

    fn has_stopped(&self, is_idle: bool) -> bool {
        self.stopping && (is_idle || Instant::now() >= self.last_answers)
    }

    /// Time is up, and what was on its way then does not end.
    fn is_overdue(&self) -> bool {
        self.now() >= self.limits.timeout.saturating_add(LAST_ANSWERS)
    }

    fn stopped_by(&self) -> Outcome {
        if self.limits.lost.is_cancelled() {
            Outcome::Lost
        } else {
            Outcome::Interrupted
        }
    }

    /// When time alone would change something.
    fn wake(&self, plan: &Plan) -> Instant {
        let now = self.now();
        let limits = [
            plan.wake.filter(|it| *it > now),
            self.retries.next(now),
            Some(self.limits.timeout).filter(|it| *it > now),
            Some(self.limits.timeout.saturating_add(LAST_ANSWERS)).filter(|it| *it > now),
        ];
        let first = limits
            .into_iter()
            .flatten()
            .min()
            .map_or(Instant::now() + LAST_ANSWERS, |it| self.limits.started + it);
        if self.stopping {
            first.min(self.last_answers)
        } else {
            first
        }
    }

    fn report(self, outcome: Outcome, plan: &Plan) -> Report {
        let (done, total) = self.progress.numbers();
        let mut report = Report {
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
