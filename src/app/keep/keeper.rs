//! The shoots that are kept: those with a record, until it is gone. Expired ones are deleted.

use super::options::FIND;
use super::scope::KeepScope;
use super::shoot::KeptShoot;
use crate::app::error::{CommandError, Exit, failed};
use crate::app::gc;
use crate::app::inspect::shoot_summary::find;
use crate::app::run::history;
use crate::app::signals::Signals;
use crate::cluster::{NamespaceScope, RecordSnapshot};
use crate::state::duty::Duty;
use crate::ui::count;
use futures::StreamExt as _;
use futures::future::LocalBoxFuture;
use futures::stream::FuturesUnordered;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// Time between two lists of the records.
const INTERVAL: Duration = Duration::from_secs(10);
/// Time until a shoot that could not be kept or deleted is tried again.
const PAUSE: Duration = Duration::from_secs(60);

/// Work on one shoot: its UID when it ends, and whether it failed.
type Work<'a> = LocalBoxFuture<'a, (Arc<str>, bool)>;

/// A shoot that is worked on, or that failed.
struct Busy {
    /// Ends the work.
    signals: Signals,
    /// When it is tried again after a failure; None during the work.
    until: Option<Instant>,
}

impl KeepScope<'_> {
    /// Ends with a signal, or with an error of the first list.
    pub(super) async fn work(&self) -> Result<(), CommandError> {
        let mut busy: HashMap<Arc<str>, Busy> = HashMap::new();
        let mut work: FuturesUnordered<Work<'_>> = FuturesUnordered::new();
        let first = &self.signals.first;
        let mut last_warning = None;
        let mut next = Instant::now();
        loop {
            // Once for all branches: a signal that arrives in between must not switch off the branch that waits for it.
            let is_ending = first.is_cancelled();
            if is_ending && work.is_empty() {
                return Ok(());
            }
            if !is_ending && Instant::now() >= next {
                next = Instant::now() + INTERVAL;
                match self.records().await {
                    Ok(records) => {
                        if last_warning.replace(String::new()).is_none() {
                            self.report_start(records.len());
                        }
                        work.extend(self.start(records, &mut busy));
                    }
                    Err(error) if last_warning.is_none() => return Err(error),
                    Err(error) => self.warn_once(&mut last_warning, error.message),
                }
            }
            tokio::select! {
                Some((uid, has_failed)) = work.next(), if !work.is_empty() => match has_failed {
                    true => {
                        let busy = busy.get_mut(&uid).into_iter();
                        busy.for_each(|it| it.until = Some(Instant::now() + PAUSE));
                    }
                    false => drop(busy.remove(&uid)),
                },
                () = sleep_until(next), if !is_ending => {}
                () = first.cancelled(), if !is_ending => {}
                () = self.signals.second.cancelled() => return Ok(()),
            }
        }
    }

    /// Starts to work on shoots that nothing works on, and ends the work on those that are to be deleted.
    fn start(
        &self,
        records: Vec<RecordSnapshot>,
        busy: &mut HashMap<Arc<str>, Busy>,
    ) -> Vec<Work<'_>> {
        let now = Instant::now();
        busy.retain(|_, it| it.until.is_none_or(|it| it > now));
        let mut work: Vec<Work<'_>> = Vec::new();
        for record in records {
            let is_deleted = history::is_being_deleted(&record);
            let is_expired = self.is_expired(&record);
            if let Some(busy) = busy.get(&record.uid) {
                if is_deleted || is_expired {
                    busy.signals.first.cancel();
                }
                continue;
            }
            if is_deleted {
                continue;
            }
            let signals = self.signals.child();
            let started = Busy {
                signals: signals.clone(),
                until: None,
            };
            busy.insert(record.uid.clone(), started);
            work.push(match is_expired {
                true => Box::pin(self.delete(record)),
                false => Box::pin(self.keep(record, signals)),
            });
        }
        work
    }

    fn is_expired(&self, record: &RecordSnapshot) -> bool {
        let skips_expiry = self.options.skipped.contains(&Duty::Expiry);
        !skips_expiry && gc::is_expired(record, self.provider)
    }

    /// Keeps one shoot until it is deleted, or fails.
    async fn keep(&self, record: RecordSnapshot, signals: Signals) -> (Arc<str>, bool) {
        let uid = record.uid.clone();
        let id = record.name.clone();
        let kept = KeptShoot::new(self, record, signals.clone()).keep().await;
        let error = kept.err().filter(|_| !signals.first.is_cancelled());
        match &error {
            Some(_) => self.metrics.failed(&id),
            None => self.metrics.gone(&id),
        }
        (uid, error.map(|it| it.report(&self.context.ui)).is_some())
    }

    async fn delete(&self, record: RecordSnapshot) -> (Arc<str>, bool) {
        let (uid, run) = (record.uid.clone(), self.options.run);
        let id = record.name.clone();
        let signals = self.signals.with_timeout(run.timeout);
        let deleted =
            gc::collect_expired_of(&[record], run, self.context, &signals, self.provider).await;
        let exit = deleted.unwrap_or_else(|error| error.report(&self.context.ui));
        match exit {
            Exit::Done => self.metrics.expired(&id),
            _ => self.metrics.did(&id, Duty::Expiry, false),
        }
        (uid, exit != Exit::Done)
    }

    async fn records(&self) -> Result<Vec<RecordSnapshot>, CommandError> {
        let listed = async {
            match &self.options.name {
                Some(name) => match find(self.provider, name, self.context).await {
                    Ok(record) => Ok(vec![record]),
                    Err(error) if error.exit == Exit::NotFound => Ok(Vec::new()),
                    Err(error) => Err(error),
                },
                None => {
                    let records = self.provider.records(NamespaceScope::Current).await;
                    records.map_err(failed)
                }
            }
        };
        self.signals.or_interrupted(FIND, listed).await
    }

    fn report_start(&self, shoots: usize) {
        let namespace = self.provider.namespace();
        let shoots = count(shoots, "shoot");
        let text = format!("keeping {shoots} in namespace {namespace}");
        self.context.ui.status(&text);
    }

    /// Warns unless the last warning was the same.
    fn warn_once(&self, last: &mut Option<String>, message: String) {
        if !self.signals.first.is_cancelled() && last.as_ref() != Some(&message) {
            let text = format!("{message}; retrying");
            self.context.ui.warn(&text);
            *last = Some(message);
        }
    }
}
