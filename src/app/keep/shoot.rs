//! One shoot that is kept: observed all the time, and locked only while something is due.

use super::autoscaler::ObservedShoot;
use super::metrics::{MeasuredRun, ShootObservation};
use super::options::VERB;
use super::pause::{Pause, due_items};
use super::scope::KeepScope;
use crate::app::apply::{ApplyRequest, RecordExpectation, apply_shoot};
use crate::app::error::{CommandError, Exit, failed};
use crate::app::provider::external_objects::external_objects;
use crate::app::run::history;
use crate::app::run::session::is_gone;
use crate::app::signals::Signals;
use crate::clock::{self, Moment};
use crate::cluster::{HealthMemory, Observer, ProviderContext, RecordSnapshot};
use crate::load::recorded_shoot;
use crate::plan::duties::{due_actions, plan_without};
use crate::render::control_plane::known::known;
use crate::state::duty::Duty;
use crate::state::facts::Facts;
use crate::state::names::display_name;
use crate::state::observed::Observed;
use crate::state::plan::{ItemKind, Plan};
use crate::state::record::hibernation_schedule::until_next_tick;
use crate::validate::ValidShoot;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

/// Time for which something has to be due before a run starts: another run may just have ended.
const SETTLE: Duration = Duration::from_secs(2);
/// Time until facts that are read only once are read again.
const REFRESH: Duration = Duration::from_secs(10 * 60);
/// Minimum time between two plans.
const PLAN_INTERVAL: Duration = Duration::from_secs(1);

/// A shoot, as its record was when it was read.
pub(super) struct KeptShoot<'a> {
    pub(super) scope: &'a KeepScope<'a>,
    pub(super) record: RecordSnapshot,
    /// Ends the work on this shoot.
    pub(super) signals: Signals,
    /// Memory of all observations of this shoot.
    pub(super) health: Arc<HealthMemory>,
    pause: RefCell<Pause>,
    /// When the last backup of this process was begun, in seconds since 1970.
    pub(super) last_backup: Cell<Option<i64>>,
    /// When this process last tried an update, in seconds since 1970.
    pub(super) last_update: Cell<Option<i64>>,
    /// When this process last looked for volumes of nodes that are gone.
    pub(super) last_detachment: Cell<Option<Instant>>,
}

/// Why an observation ended.
enum Ended {
    /// The record is gone, or will be.
    Gone,
    /// The manifest has changed, or facts are old.
    Outdated,
}

impl<'a> KeptShoot<'a> {
    pub(super) fn new(
        scope: &'a KeepScope<'a>,
        record: RecordSnapshot,
        signals: Signals,
    ) -> KeptShoot<'a> {
        KeptShoot {
            scope,
            record,
            signals,
            health: Arc::default(),
            pause: RefCell::new(Pause::new(Instant::now())),
            last_backup: Cell::new(None),
            last_update: Cell::new(None),
            last_detachment: Cell::new(None),
        }
    }

    /// Ends with a signal, and once the shoot is deleted.
    pub(super) async fn keep(mut self) -> Result<(), CommandError> {
        let kept = self.keep_until_gone().await;
        // Another process may answer its autoscaler from now on.
        let KeepScope {
            autoscaled,
            provider,
            ..
        } = *self.scope;
        autoscaled.remove(provider, &self.record.name);
        kept
    }

    async fn keep_until_gone(&mut self) -> Result<(), CommandError> {
        loop {
            let shoot = Arc::new(self.read().await?);
            match self.observe(&shoot).await? {
                Ended::Gone => return Ok(()),
                Ended::Outdated => {}
            }
            match self.current_record().await? {
                Some(record) => self.record = record,
                None => return Ok(()),
            }
        }
    }

    /// The record as it is now; None if the shoot is being deleted, or was.
    pub(super) async fn current_record(&self) -> Result<Option<RecordSnapshot>, CommandError> {
        let record = self.scope.provider.record(&self.record.name).await;
        let record = record.map_err(failed)?;
        Ok(record.filter(|it| it.uid == self.record.uid && !history::is_being_deleted(it)))
    }

    /// The manifest that was applied last.
    async fn read(&self) -> Result<ValidShoot, CommandError> {
        let provider = self.scope.provider;
        let complete = provider.complete_record(self.record.clone()).await;
        let complete = complete.map_err(failed)?;
        if let Some(run) = MeasuredRun::recorded(&self.record) {
            self.scope.metrics.recorded_run(&self.record.name, run);
        }
        let now = clock::now();
        recorded_shoot(&self.record.name, &complete.data, now).ok_or_else(|| {
            let name = display_name(&self.record.name);
            let message = format!("cannot read the record of shoot {name}");
            let error = CommandError::new(Exit::Precondition, message);
            error.hint("apply its manifest, which writes the record again")
        })
    }

    /// Observes the shoot, runs when something is due, makes backups and detaches volumes beside.
    async fn observe(&self, shoot: &Arc<ValidShoot>) -> Result<Ended, CommandError> {
        let (provider, signals) = (self.scope.provider, &self.signals);
        let (started, moment) = (Instant::now(), Moment::now());
        let beside = ProviderContext {
            health: self.health.clone(),
            ..external_objects(shoot, provider)
        };
        let observer = async {
            let observer = Observer::start(provider, &shoot.id, started, beside).await;
            observer.map_err(failed)
        };
        let observer = signals
            .or_interrupted("observe the shoot", observer)
            .await?;
        self.serve_autoscaler(shoot, observer.facts(), started)
            .await;
        let stop = CancellationToken::new();
        let work = async {
            let ended = self.work(shoot, observer.facts(), started, &moment).await;
            stop.cancel();
            ended
        };
        let backups = self.make_backups(shoot, observer.facts(), &stop);
        let volumes = stop.run_until_cancelled(self.detach_volumes(&observer));
        let (ended, (), _) = tokio::join!(work, backups, volumes);
        ended
    }

    /// Answers the cluster autoscaler of the shoot from this observation.
    async fn serve_autoscaler(
        &self,
        shoot: &Arc<ValidShoot>,
        facts: watch::Receiver<Arc<Facts>>,
        started: Instant,
    ) {
        let KeepScope {
            options,
            context,
            provider,
            autoscaled,
            ..
        } = *self.scope;
        if options.autoscaler.is_none() {
            return;
        }
        let authorities = known(shoot, &facts.borrow()).ca;
        let observed = ObservedShoot {
            shoot: shoot.clone(),
            facts,
            started,
            record: self.record.clone(),
            authorities,
        };
        if let Err(error) = autoscaled.observe(provider, observed).await {
            // Everything else goes on.
            let name = display_name(&self.record.name);
            let text = format!(
                "the cluster autoscaler of shoot {name} is not served: {}",
                error.message
            );
            context.ui.warn(&text);
        }
    }

    /// Runs when something is due, until the facts are no longer those of this manifest. `moment` is before they were read.
    async fn work(
        &self,
        shoot: &ValidShoot,
        mut facts: watch::Receiver<Arc<Facts>>,
        started: Instant,
        moment: &Moment,
    ) -> Result<Ended, CommandError> {
        let signals = &self.signals;
        let mut due_since = None;
        // The time by which is planned: a schedule may have become due while the shoot was observed.
        let now = facts.borrow().time;
        let window = self.until_window(shoot, now).unwrap_or(REFRESH);
        let outdated = Instant::now() + lifetime(shoot, now).min(window);
        loop {
            let seen: Arc<Facts> = facts.borrow_and_update().clone();
            if let Some(ended) = self.ended(&seen, outdated) {
                return Ok(ended);
            }
            if self.update_if_due(shoot, &seen).await {
                return Ok(Ended::Outdated);
            }
            let plan = self.plan(shoot, &seen, started);
            let observation = ShootObservation::of(&self.record, shoot, &seen, &plan);
            self.scope.metrics.observed(&shoot.id, observation);
            let due = due_items(&plan);
            let since = (!due.is_empty()).then(|| due_since.unwrap_or_else(Instant::now));
            due_since = since;
            let start = since.map(|it| (it + SETTLE).max(self.pause.borrow().end(&due)));
            if start.is_some_and(|it| it <= Instant::now()) {
                let duties = due_actions(&plan).into_keys().collect();
                if let Some(ended) = self.run(shoot, &duties, due).await? {
                    return Ok(ended);
                }
                due_since = None;
            }
            let wake = plan.wake.map(|it| started + it);
            let wake = wake.filter(|it| *it > Instant::now());
            let wake = [Some(outdated), wake, start].into_iter().flatten();
            let wake = wake.filter(|it| *it > Instant::now()).min();
            let wake = wake.unwrap_or_else(|| Instant::now() + PLAN_INTERVAL);
            tokio::select! {
                () = signals.first.cancelled() => return Ok(Ended::Gone),
                () = sleep_until(wake) => {}
                () = moment.until_clock_jumps() => return Ok(Ended::Outdated),
                changed = facts.changed() => {
                    if changed.is_err() {
                        return Ok(Ended::Outdated);
                    }
                    sleep(PLAN_INTERVAL).await;
                }
            }
        }
    }

    fn ended(&self, facts: &Facts, outdated: Instant) -> Option<Ended> {
        match &facts.record {
            None => Some(Ended::Gone),
            Some(record) if record.leaving || record.uid != self.record.uid => Some(Ended::Gone),
            Some(record) if record.hash != self.record.spec_hash() => Some(Ended::Outdated),
            Some(_) => (Instant::now() >= outdated).then_some(Ended::Outdated),
        }
    }

    fn plan(&self, shoot: &ValidShoot, facts: &Arc<Facts>, started: Instant) -> Plan {
        let observed = Observed {
            now: started.elapsed(),
            facts: facts.clone(),
            ..Observed::default()
        };
        plan_without(shoot, &observed, &self.scope.options.skipped)
    }

    /// Does what is due, as `apply` does, unless another run works on the shoot.
    ///
    /// `due` are the items, which are of these duties.
    async fn run(
        &self,
        shoot: &ValidShoot,
        duties: &BTreeSet<Duty>,
        due: Vec<ItemKind>,
    ) -> Result<Option<Ended>, CommandError> {
        let KeepScope {
            options,
            context,
            provider,
            ..
        } = *self.scope;
        // An interrupted deletion is resumed by the next one, and must not be undone.
        if self.current_record().await?.is_none() {
            return Ok(Some(Ended::Gone));
        }
        let other = provider.current_run(&shoot.id).await.map_err(failed)?;
        let is_gone = is_gone(context.config.identity());
        if other.is_some_and(|it| it.is_fresh && !is_gone(&it.identity)) {
            self.pause.borrow_mut().locked(Instant::now());
            return Ok(None);
        }
        let skip_if = |facts: &Facts| history::change_since(&self.record, facts);
        let request = ApplyRequest {
            verb: VERB,
            run: options.run,
            create_namespace: false,
            resume: None,
            expects: RecordExpectation::Any,
            skipped: options.skipped.clone(),
            health: Some(self.health.clone()),
            skip_if: Some(&skip_if),
            started: &Cell::new(false),
            group: None,
        };
        let signals = self.signals.with_timeout(options.run.timeout);
        let begin = Instant::now();
        let applied = apply_shoot(&request, context, &signals, provider, shoot).await;
        let ended = provider.current_time();
        let result = MeasuredRun::of(&applied, ended, begin.elapsed());
        if let Some(result) = result.filter(|_| !self.signals.first.is_cancelled()) {
            self.scope.metrics.ran(&shoot.id, result, duties);
        }
        match applied {
            Ok(applied) if applied.exit == Exit::Done && applied.verb != "unchanged" => {
                self.pause.borrow_mut().succeeded();
                let name = display_name(&self.record.name);
                let line = format!("shoot.core.gardener.cloud/{name} kept\n");
                context.ui.data(&line);
                return Ok(None);
            }
            Err(error) if error.exit == Exit::Held => {
                self.pause.borrow_mut().locked(Instant::now());
                return Ok(None);
            }
            Err(error) if !signals.first.is_cancelled() => {
                error.report(&context.ui);
            }
            _ => {}
        }
        self.pause.borrow_mut().failed(due, Instant::now());
        Ok(None)
    }
}

/// Time for which facts are current that were read at `now`, in seconds since 1970: they have the time of a run, and are
/// read again when a schedule has to be followed.
fn lifetime(shoot: &ValidShoot, now: i64) -> Duration {
    let hibernation = shoot.manifest.spec.hibernation.as_ref();
    let next = hibernation.and_then(|it| until_next_tick(&it.schedules, now, REFRESH));
    next.unwrap_or(REFRESH)
}
