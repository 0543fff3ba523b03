//! Metrics of one shoot.

use super::families as metric;
use crate::app::apply::Applied;
use crate::app::error::{CommandError, Exit};
use crate::app::inspect::health::judge;
use crate::app::inspect::pools::worker_size;
use crate::app::run::history::earlier_runs;
use crate::cluster::RecordSnapshot;
use crate::metrics::{Exposition, Family};
use crate::plan::duties::due_actions;
use crate::state::conditions::HIBERNATED;
use crate::state::desired::SizesByPool;
use crate::state::duty::Duty;
use crate::state::facts::{Facts, ObjectStatus, ShootApi};
use crate::state::key::ClusterSide;
use crate::state::plan::Plan;
use crate::validate::ValidShoot;
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::time::Duration;

/// The result of a successful run in the history.
const CONVERGED: &str = "converged";

/// Everything known of a shoot.
#[derive(Debug, Default)]
pub(super) struct ShootMetrics {
    pub(super) kept: bool,
    pub(super) observation: Option<ShootObservation>,
    pub(super) last_run: Option<MeasuredRun>,
    /// By whether they succeeded.
    pub(super) runs: BTreeMap<bool, u64>,
    duties: BTreeMap<(Duty, bool), u64>,
    /// Seconds since 1970.
    pub(super) next_backup: Option<i64>,
}

/// The result of a run.
#[derive(Debug, Clone, Copy)]
pub(in crate::app::keep) struct MeasuredRun {
    /// Seconds since 1970.
    pub(in crate::app::keep) ended: i64,
    pub(in crate::app::keep) seconds: f64,
    pub(in crate::app::keep) has_succeeded: bool,
}

impl MeasuredRun {
    /// The result of a run that ended at `ended`; None if it had nothing to do, or if another one was faster.
    pub(in crate::app::keep) fn of(
        applied: &Result<Applied, CommandError>,
        ended: i64,
        duration: Duration,
    ) -> Option<MeasuredRun> {
        let has_succeeded = match applied {
            Ok(applied) if applied.verb == "unchanged" => return None,
            Ok(applied) => applied.exit == Exit::Done,
            Err(error) if error.exit == Exit::Held => return None,
            Err(_) => false,
        };
        Some(MeasuredRun {
            ended,
            seconds: duration.as_secs_f64(),
            has_succeeded,
        })
    }

    /// The last run in the history of a record.
    pub(in crate::app::keep) fn recorded(record: &RecordSnapshot) -> Option<MeasuredRun> {
        let run = earlier_runs(Some(record)).into_iter().next()?;
        let started: Timestamp = run.started.parse().ok()?;
        let seconds = i64::try_from(run.seconds).ok()?;
        Some(MeasuredRun {
            ended: started.as_second().checked_add(seconds)?,
            seconds: seconds as f64,
            has_succeeded: run.result == CONVERGED,
        })
    }
}

/// A shoot, as it was observed last.
#[derive(Debug, Default)]
pub(in crate::app::keep) struct ShootObservation {
    version: String,
    hibernates: bool,
    conditions: Vec<(&'static str, bool)>,
    pools: Vec<PoolNodes>,
    /// Ends of certificates by Secret, in seconds since 1970.
    certificates: BTreeMap<String, i64>,
    pending: BTreeMap<Duty, usize>,
    /// Seconds since 1970.
    last_backup: Option<i64>,
}

/// Nodes of a pool.
#[derive(Debug)]
struct PoolNodes {
    pool: String,
    desired: usize,
    /// None while it is not known.
    ready: Option<usize>,
}

impl ShootObservation {
    pub(in crate::app::keep) fn of(
        record: &RecordSnapshot,
        shoot: &ValidShoot,
        facts: &Facts,
        plan: &Plan,
    ) -> ShootObservation {
        let observed = facts.record.as_ref();
        let hibernates = observed.is_some_and(|it| it.hibernation.enabled);
        let conditions = judge(facts, record, plan).into_iter();
        // During a hibernation, the API server is absent by intention.
        let conditions = conditions.filter(|it| !hibernates || it.kind == HIBERNATED);
        let objects = facts.objects.iter();
        let objects = objects.filter(|(key, _)| key.side == ClusterSide::Provider);
        let certificates = objects.filter_map(|(key, object)| match &object.status {
            ObjectStatus::Secret(secret) => {
                let ends = secret.certificate.as_ref()?.expires;
                Some((key.name.to_string(), ends))
            }
            _ => None,
        });
        ShootObservation {
            version: shoot.kubernetes.clone(),
            hibernates,
            conditions: conditions.map(|it| (it.kind, it.is_true)).collect(),
            pools: pools(shoot, facts, hibernates),
            certificates: certificates.collect(),
            pending: due_actions(plan),
            last_backup: observed.and_then(|it| it.last_backup),
        }
    }

    #[cfg(test)]
    pub(super) fn for_tests() -> ShootObservation {
        ShootObservation {
            version: "1.33.5".to_owned(),
            conditions: vec![("APIServerAvailable", true)],
            pools: vec![PoolNodes {
                pool: "cpu".to_owned(),
                desired: 2,
                ready: Some(1),
            }],
            certificates: [("shoot--dev--a-ca".to_owned(), 9)].into(),
            last_backup: Some(4),
            ..ShootObservation::default()
        }
    }
}

fn pools(shoot: &ValidShoot, facts: &Facts, hibernates: bool) -> Vec<PoolNodes> {
    let observed = facts.record.iter().flat_map(|it| &it.sizes);
    let sizes = observed.map(|(pool, size)| (pool.to_string(), size.clone()));
    let sizes: SizesByPool = sizes.collect();
    let workers = shoot.manifest.spec.provider.workers.iter();
    let pools = workers.map(|worker| {
        let machines = facts.machines.get(worker.name.as_str()).into_iter();
        let ready = machines
            .flatten()
            .filter(|(name, machine)| facts.is_ready(name, machine.runs));
        PoolNodes {
            pool: worker.name.clone(),
            desired: match hibernates {
                true => 0,
                false => worker_size(worker, &sizes),
            },
            ready: (facts.shoot_api == ShootApi::Reachable).then(|| ready.count()),
        }
    });
    pools.collect()
}

impl ShootMetrics {
    pub(super) fn count(&mut self, duty: Duty, has_succeeded: bool) {
        *self.duties.entry((duty, has_succeeded)).or_default() += 1;
    }

    /// Writes the samples of a family. `labels` name the shoot.
    pub(super) fn write(&self, family: &Family, labels: [(&str, &str); 2], text: &mut Exposition) {
        let mut write = |more: &[(&str, &str)], value: f64| {
            text.sample(family, &[&labels, more].concat(), value);
        };
        let observed = self.observation.as_ref();
        let run = self.last_run;
        let single = match *family {
            metric::KEPT => Some(flag(self.kept)),
            metric::HIBERNATED => observed.map(|it| flag(it.hibernates)),
            metric::RUN_TIME => run.map(|it| it.ended as f64),
            metric::RUN_DURATION => run.map(|it| it.seconds),
            metric::RUN_SUCCEEDED => run.map(|it| flag(it.has_succeeded)),
            metric::LAST_BACKUP => observed.and_then(|it| it.last_backup).map(|it| it as f64),
            metric::NEXT_BACKUP => self.next_backup.map(|it| it as f64),
            _ => None,
        };
        if let Some(value) = single {
            write(&[], value);
        }
        match *family {
            metric::RUNS => {
                for has_succeeded in [true, false] {
                    let runs = self.runs.get(&has_succeeded).copied().unwrap_or_default();
                    write(&[("result", result(has_succeeded))], runs as f64);
                }
            }
            metric::DUTIES => {
                for duty in Duty::ALL {
                    for has_succeeded in [true, false] {
                        let times = self.duties.get(&(duty, has_succeeded)).copied();
                        let labels = [("duty", duty.name()), ("result", result(has_succeeded))];
                        write(&labels, times.unwrap_or_default() as f64);
                    }
                }
            }
            _ => {}
        }
        let Some(observed) = observed else { return };
        match *family {
            metric::INFO => write(&[("version", &observed.version)], 1.0),
            metric::CONDITION => {
                for (condition, is_true) in &observed.conditions {
                    write(&[("condition", condition)], flag(*is_true));
                }
            }
            metric::NODES_DESIRED => {
                for pool in &observed.pools {
                    write(&[("pool", &pool.pool)], pool.desired as f64);
                }
            }
            metric::NODES_READY => {
                for pool in &observed.pools {
                    if let Some(ready) = pool.ready {
                        write(&[("pool", &pool.pool)], ready as f64);
                    }
                }
            }
            metric::PENDING => {
                for duty in Duty::ALL {
                    let pending = observed.pending.get(&duty).copied().unwrap_or_default();
                    write(&[("duty", duty.name())], pending as f64);
                }
            }
            metric::CERTIFICATE_EXPIRY => {
                for (secret, ends) in &observed.certificates {
                    write(&[("secret", secret)], *ends as f64);
                }
            }
            _ => {}
        }
    }
}

fn flag(is_true: bool) -> f64 {
    f64::from(u8::from(is_true))
}

fn result(has_succeeded: bool) -> &'static str {
    match has_succeeded {
        true => "succeeded",
        false => "failed",
    }
}
