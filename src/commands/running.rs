//! One run that changes things: lock, look, work off plans, tell how it went, unlock.

use super::provider::{exit_of_class, failed};
use super::signals::Signals;
use super::{CommandError, Context, Exit};
use crate::cluster::{
    Beside, Error, Fence, Holder, Lease, Leftovers, Observer, Performer, Provider, Verdict,
};
use crate::config::ProcessIdentity;
use crate::flow::{self, Answer, Event, EventKind, Limits, Outcome, Report, Status};
use crate::state::action::Action;
use crate::state::facts::Facts;
use crate::state::observed::Observed;
use crate::state::plan::Plan;
use crate::state::record::{HISTORY, RunRecord};
use crate::ui::Progress;
use serde_json::Value;
use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

/// Writes on their way at once; more gains nothing at an API server of two cores.
const WRITES: usize = 32;
/// How often what a person watches is drawn anew.
const TICK: Duration = Duration::from_millis(200);
/// The lock is renewed more often than that where the API server answers.
const SILENCE: Duration = Duration::from_secs(11);
/// How long the last words of a run may take where the server most likely does not hear them.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Flags of every command that changes things.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct RunArgs {
    /// How long it may take in all, such as 90s or 1h30m
    #[arg(long, value_name = "TIME", default_value = "30m", value_parser = duration)]
    pub(super) timeout: Duration,
    /// How long to wait for another run of the same shoot to end
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = duration)]
    pub(super) lock_timeout: Duration,
}

pub(super) fn duration(text: &str) -> Result<Duration, String> {
    crate::model::Duration::parse(text).map(|it| it.value)
}

/// Whether the process of a [`Holder::identity`] was on this computer and is no more.
pub(super) fn is_gone(own: ProcessIdentity) -> impl Fn(&str) -> bool {
    move |other| serde_json::from_str::<ProcessIdentity>(other).is_ok_and(|it| own.is_gone(&it))
}

/// What a run is about.
pub(super) struct About<'a> {
    pub(super) verb: &'static str,
    /// The shoot's name, for people.
    pub(super) shoot: &'a str,
    /// The technical ID.
    pub(super) id: &'a str,
    pub(super) beside: Beside,
    /// The command that goes on where this run ends; none where whoever began it sees to that.
    pub(super) resume: Option<String>,
}

/// A shoot that is locked and looked at.
pub(super) struct Session<'a> {
    signals: &'a Signals,
    about: About<'a>,
    started: Instant,
    lease: Lease,
    pub(super) provider: Provider,
    observer: Arc<Observer>,
    performer: Performer,
    progress: RefCell<Progress>,
}

impl<'a> Session<'a> {
    /// Locks and looks; nothing but the lease is written.
    pub(super) async fn start(
        context: &Context,
        signals: &'a Signals,
        provider: &Provider,
        args: &RunArgs,
        about: About<'a>,
    ) -> Result<Self, CommandError> {
        let started = Instant::now();
        let progress = RefCell::new(context.ui.progress());
        let run = EventKind::RunStarted {
            verb: about.verb,
            shoot: about.shoot.to_owned(),
            technical_id: about.id.to_owned(),
            namespace: provider.namespace().to_string(),
        };
        progress.borrow_mut().event(&Event {
            at: Duration::ZERO,
            kind: run,
        });
        let own = context.config.identity();
        let holder = Holder {
            name: format!("{}, run {}", context.config.user_at_host(), context.run_id),
            identity: serde_json::to_string(&own).expect("numbers and texts"),
            verb: about.verb,
        };
        let is_gone = is_gone(own);
        let tell = |held: &Error| {
            let text = format!("waiting for the lock: {held}");
            progress.borrow_mut().event(&Event {
                at: started.elapsed(),
                kind: EventKind::Note { text },
            });
        };
        let wait = args.lock_timeout;
        let lease = Lease::acquire(provider, about.id, &holder, wait, is_gone, tell);
        let lease = signals
            .or_interrupted("lock the shoot", async { lease.await.map_err(failed) })
            .await?;
        let beside = about.beside.clone();
        let looked = Observer::start(provider, about.id, started, beside);
        let observer = match signals
            .or_interrupted("look", async { looked.await.map_err(failed) })
            .await
        {
            Ok(observer) => Arc::new(observer),
            Err(error) => {
                // It ends by itself if it cannot be given back now.
                let _ = timeout(LAST_WORDS, lease.release()).await;
                return Err(error);
            }
        };
        let performer = Performer {
            provider: provider.clone(),
            observer: observer.clone(),
            run_id: context.run_id.as_str().into(),
            fence: lease.fence(),
        };
        let provider = provider.clone();
        Ok(Session {
            signals,
            about,
            started,
            lease,
            provider,
            observer,
            performer,
            progress,
        })
    }

    pub(super) fn facts(&self) -> Arc<Facts> {
        self.observer.facts().borrow().clone()
    }

    /// Works off plans until one is done, or nothing moves any more.
    pub(super) async fn run(
        &self,
        plan: impl Fn(&Observed) -> Plan,
        render: impl Fn(&Facts, &Action) -> Vec<Value>,
    ) -> Result<Report, CommandError> {
        let lost = CancellationToken::new();
        let limits = Limits {
            started: self.started,
            actions: WRITES,
            timeout: self.started.elapsed().saturating_add(self.signals.left()),
            interrupt: self.signals.first.clone(),
            lost: lost.clone(),
        };
        let perform = |action: Action, facts: Arc<Facts>| {
            let objects = render(&facts, &action);
            async move { answer(self.performer.perform(&action, objects).await) }
        };
        let tell = |event: Event| self.progress.borrow_mut().event(&event);
        tokio::select! {
            report = flow::run(&limits, self.observer.facts(), plan, perform, tell) => Ok(report),
            never = self.beside(lost.clone()) => match never {},
            () = self.signals.second.cancelled() => {
                let left = CommandError::new(self.signals.exit(), "left at once");
                Err(match self.resume() {
                    Some(resume) => left.hint(format!("to go on: {resume}")),
                    None => left,
                })
            }
        }
    }

    /// What goes on while a run does: the clock, the lease's owner, a note when nobody answers.
    async fn beside(&self, lost: CancellationToken) -> std::convert::Infallible {
        let clock = async {
            loop {
                sleep(TICK).await;
                self.progress.borrow_mut().tick(self.started.elapsed());
            }
        };
        let owner = async {
            let mut facts = self.observer.facts();
            if let Ok(found) = facts
                .wait_for(|it| it.record.is_some())
                .await
                .map(|it| it.record.clone())
                && let Some(record) = found
                && let Err(error) = self.lease.owned_by(&record.name, &record.uid).await
            {
                tracing::debug!(%error, "the lease has no owner yet");
            }
            std::future::pending::<()>().await;
        };
        let fence: Fence = self.lease.fence();
        let lost = async {
            let error = fence.lost().await;
            self.note(error.to_string());
            lost.cancel();
            std::future::pending::<()>().await;
        };
        let silence = async {
            let mut is_silent = false;
            loop {
                sleep(TICK).await;
                let age = fence.age();
                if is_silent != (age > SILENCE) {
                    is_silent = !is_silent;
                    self.note(match is_silent {
                        true => format!("the API server does not answer since {} s", age.as_secs()),
                        false => "the API server answers again".to_owned(),
                    });
                }
            }
        };
        let health = async {
            let mut health = self.observer.health();
            while health.wait_for(Option::is_some).await.is_ok() {
                // Most of it passes, and is tried again at once.
                let passed = timeout(SILENCE, health.wait_for(Option::is_none))
                    .await
                    .is_ok();
                let text = health.borrow().clone().filter(|_| !passed);
                let Some(text) = text else { continue };
                self.note(text);
                if health.wait_for(Option::is_none).await.is_ok() {
                    self.note("what is there is seen again");
                }
            }
            std::future::pending::<()>().await;
        };
        tokio::join!(clock, owner, lost, silence, health).0
    }

    pub(super) fn note(&self, text: impl Into<String>) {
        self.tell(EventKind::Note { text: text.into() });
    }

    fn tell(&self, kind: EventKind) {
        self.progress.borrow_mut().event(&Event {
            at: self.started.elapsed(),
            kind,
        });
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Gives up what takes longer than it may at the end of a run.
    pub(super) async fn at_last(&self, exit: Exit, words: impl Future<Output = ()>) {
        let _ = timeout(last_words(exit), words).await;
    }

    /// Writes how it went onto the record.
    pub(super) async fn report(&self, data: Value) -> Result<(), Error> {
        match &self.facts().record {
            Some(record) => self.performer.note(record, &data).await,
            None => Ok(()),
        }
    }

    /// Earlier runs, newest first.
    pub(super) async fn history(&self) -> Vec<RunRecord> {
        let record = self.provider.record(self.about.id).await.ok().flatten();
        let text = record.and_then(|it| it.data.get(HISTORY).cloned());
        text.and_then(|it| serde_json::from_str(&it).ok())
            .unwrap_or_default()
    }

    /// By which machines reach the API server, as far as this run has seen.
    pub(super) fn cluster_ip(&self) -> Option<Arc<str>> {
        self.observer.facts().borrow().cluster_ip(self.about.id)
    }

    pub(super) fn verb(&self) -> &'static str {
        self.about.verb
    }

    /// The command that goes on from here.
    pub(super) fn resume(&self) -> Option<String> {
        self.about.resume.clone()
    }

    /// Deletes what is left of a shoot and would not go by itself.
    pub(super) async fn push(&self, left: &Leftovers) {
        self.provider.push(left, &self.lease.fence()).await;
    }

    /// Tells what a run still waits for when its plan is worked off.
    pub(super) fn wait_for(&self, why: &str) {
        let (id, title) = (
            "proof".to_owned(),
            "Look whether anything is left".to_owned(),
        );
        self.tell(EventKind::Item {
            id,
            title,
            status: Status::Waiting,
            why: Some(why.to_owned()),
        });
        self.progress.borrow_mut().tick(self.started.elapsed());
    }

    /// Gives the lease back. That of a shoot that is gone, or was not begun, goes: nobody else would ever remove it.
    pub(super) async fn unlock(&self, exit: Exit) {
        let unlock = async {
            let result = match self.facts().record {
                Some(_) => self.lease.release().await,
                None => self.lease.delete().await,
            };
            if let Err(error) = result {
                tracing::debug!(%error, "the lease was not given back; it ends by itself");
            }
        };
        self.at_last(exit, unlock).await;
    }

    /// Unlocks, and tells the end.
    pub(super) async fn finish(self, end: End) -> Exit {
        self.unlock(end.exit).await;
        let kind = EventKind::RunFinished {
            exit_code: end.exit.code(),
            outcome: end.outcome,
            summary: end.summary,
            resume: end.resume,
        };
        self.progress.borrow_mut().event(&Event {
            at: self.started.elapsed(),
            kind,
        });
        end.exit
    }
}

/// How long it may take to write down how a run went, and to unlock.
fn last_words(exit: Exit) -> Duration {
    match exit {
        Exit::Timeout | Exit::Interrupted | Exit::Terminated => LAST_WORDS,
        _ => 5 * LAST_WORDS,
    }
}

/// How a run ended, in words.
pub(super) struct End {
    pub(super) exit: Exit,
    pub(super) outcome: &'static str,
    pub(super) summary: String,
    pub(super) resume: Option<String>,
}

impl End {
    /// `done` is what to say when all is well.
    pub(super) fn of(
        report: &Report,
        signals: &Signals,
        resume: Option<String>,
        done: String,
    ) -> End {
        let numbers = format!("{} of {} done", report.done, report.total);
        let (exit, outcome, summary) = match report.outcome {
            Outcome::Converged => (Exit::Done, "converged", done),
            Outcome::Stuck => (
                stuck(report),
                "failed",
                format!("{numbers}; {}", first_failure(report)),
            ),
            Outcome::Timeout => (
                Exit::Timeout,
                "timeout",
                format!("time is up, {numbers}; {}", first_wait(report)),
            ),
            Outcome::Interrupted => (
                signals.exit(),
                "interrupted",
                format!("interrupted, {numbers}"),
            ),
            Outcome::Lost => (
                Exit::Partly,
                "failed",
                format!("another run may have taken over, {numbers}"),
            ),
        };
        let resume = resume.filter(|_| exit != Exit::Done);
        End {
            exit,
            outcome,
            summary,
            resume,
        }
    }
}

/// The worst class decides; what a person has to mend first.
fn stuck(report: &Report) -> Exit {
    let classes = report.failed.iter().map(|it| it.1.class);
    classes
        .min()
        .map_or(Exit::Partly, |it| exit_of_class(it, report.performed > 0))
}

fn first_failure(report: &Report) -> String {
    match report.failed.as_slice() {
        [] => "nothing can move any more".to_owned(),
        [(title, failure)] => format!("failed to {}: {}", lower(title), failure.message),
        [(title, failure), rest @ ..] => {
            format!(
                "failed to {}: {} (and {} more)",
                lower(title),
                failure.message,
                rest.len()
            )
        }
    }
}

fn first_wait(report: &Report) -> String {
    match report.waiting.as_slice() {
        [] => "nothing is waited for".to_owned(),
        [(title, why)] => format!("{}: waiting for {why}", lower(title)),
        [(title, why), rest @ ..] => format!(
            "{}: waiting for {why} (and {} more)",
            lower(title),
            rest.len()
        ),
    }
}

fn lower(title: &str) -> String {
    let mut letters = title.chars();
    letters
        .next()
        .map_or_else(String::new, |it| it.to_lowercase().chain(letters).collect())
}

fn answer(result: Result<(), Error>) -> Answer {
    let Err(error) = result else {
        return Answer::Done;
    };
    match error.verdict() {
        Verdict::Again => {
            let asked = match &error {
                Error::Throttled { retry_after, .. } => *retry_after,
                _ => None,
            };
            Answer::Again {
                cause: error.to_string(),
                asked,
            }
        }
        Verdict::Look => Answer::Look(error.to_string()),
        Verdict::Refuse(_) => Answer::Refused(error.failure()),
    }
}

/// `1 machine`, `2 machines`.
pub(super) fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}

/// As a person says it: 42 s, 3 min 12 s.
pub(super) fn spoken(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}
