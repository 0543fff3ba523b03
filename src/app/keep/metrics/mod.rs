//! The knowledge of `kvshoot keep`, as metrics.

pub(crate) mod families;
mod shoot;

use self::families as metric;
use self::shoot::ShootMetrics;
pub(super) use self::shoot::{MeasuredRun, ShootObservation};
use crate::metrics::{Exposition, Family};
use crate::state::duty::Duty;
use crate::state::names::display_name;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The version of this program.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Metrics of all shoots. The server reads them while the keeper works.
#[derive(Debug)]
pub(super) struct KeepMetrics {
    namespace: String,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    leads: bool,
    expired: u64,
    /// By technical ID.
    shoots: BTreeMap<String, ShootMetrics>,
}

impl KeepMetrics {
    pub(super) fn new(namespace: &str) -> KeepMetrics {
        KeepMetrics {
            namespace: namespace.to_owned(),
            known: Mutex::default(),
        }
    }

    /// Takes note of an election, or of its end. Another process knows the shoots then.
    pub(super) fn set_leader(&self, leads: bool) {
        let mut known = self.lock();
        known.leads = leads;
        known.shoots.clear();
    }

    pub(super) fn observed(&self, id: &str, observation: ShootObservation) {
        self.of(id, |it| {
            it.kept = true;
            it.observation = Some(observation);
        });
    }

    /// The shoot cannot be kept now.
    pub(super) fn failed(&self, id: &str) {
        self.of(id, |it| it.kept = false);
    }

    /// The shoot is no longer kept.
    pub(super) fn gone(&self, id: &str) {
        self.lock().shoots.remove(id);
    }

    /// An expired shoot was deleted.
    pub(super) fn expired(&self, id: &str) {
        let mut known = self.lock();
        known.expired += 1;
        known.shoots.remove(id);
    }

    /// A run of any kvshoot, as its record has it. One that failed early has left no trace there.
    pub(super) fn recorded_run(&self, id: &str, run: MeasuredRun) {
        self.of(id, |it| {
            if it.last_run.is_none_or(|last| last.ended < run.ended) {
                it.last_run = Some(run);
            }
        });
    }

    /// A run of this process, and the duties that were due in it.
    pub(super) fn ran(&self, id: &str, run: MeasuredRun, duties: &BTreeSet<Duty>) {
        self.of(id, |it| {
            *it.runs.entry(run.has_succeeded).or_default() += 1;
            for duty in duties {
                it.count(*duty, run.has_succeeded);
            }
            it.last_run = Some(run);
        });
    }

    /// A duty that needs no run.
    pub(super) fn did(&self, id: &str, duty: Duty, has_succeeded: bool) {
        self.of(id, |it| it.count(duty, has_succeeded));
    }

    /// When the next backup is due, in seconds since 1970.
    pub(super) fn next_backup(&self, id: &str, time: Option<i64>) {
        self.of(id, |it| it.next_backup = time);
    }

    fn of(&self, id: &str, change: impl FnOnce(&mut ShootMetrics)) {
        change(self.lock().shoots.entry(id.to_owned()).or_default());
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The page that is served.
    pub(super) fn text(&self) -> String {
        let known = self.lock();
        let namespace = ("namespace", self.namespace.as_str());
        let mut text = Exposition::default();
        for family in metric::FAMILIES {
            text.family(family);
            known.write_own(family, namespace, &mut text);
            for (id, shoot) in &known.shoots {
                let name = display_name(id);
                let labels = [namespace, ("shoot", &*name)];
                shoot.write(family, labels, &mut text);
            }
        }
        text.finish()
    }
}

impl Known {
    /// Writes the samples of a family that is not about shoots.
    fn write_own(&self, family: &Family, namespace: (&str, &str), text: &mut Exposition) {
        let value = match *family {
            metric::BUILD_INFO => {
                let labels = [namespace, ("version", VERSION)];
                return text.sample(family, &labels, 1.0);
            }
            metric::LEADER => f64::from(u8::from(self.leads)),
            metric::EXPIRED => self.expired as f64,
            _ => return,
        };
        text.sample(family, &[namespace], value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "shoot--dev--a";

    fn run(has_succeeded: bool) -> MeasuredRun {
        MeasuredRun {
            ended: 1_700_000_000,
            seconds: 1.5,
            has_succeeded,
        }
    }

    fn has(metrics: &KeepMetrics, line: &str) -> bool {
        metrics.text().lines().any(|it| it == line)
    }

    #[test]
    fn each_family_is_announced_once_and_its_samples_follow() {
        let metrics = KeepMetrics::new("ns");
        metrics.set_leader(true);
        metrics.ran(ID, run(true), &[Duty::Machines].into());
        metrics.observed(ID, ShootObservation::for_tests());
        metrics.next_backup(ID, Some(5));
        let text = metrics.text();
        let mut current = "";
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# TYPE ") {
                current = rest.split(' ').next().expect("a name");
            } else if !line.starts_with('#') {
                let name = line.split(['{', ' ']).next().expect("a name");
                let name = name.strip_suffix("_total").unwrap_or(name);
                assert_eq!(name, current, "{line}");
                assert!(line.contains("namespace=\"ns\""), "{line}");
            }
        }
        for family in metric::FAMILIES {
            let announced = format!("# TYPE {} ", family.name);
            assert_eq!(text.matches(&announced).count(), 1, "{}", family.name);
            let sample = format!("\n{}{{", family.sample_name());
            assert!(text.contains(&sample), "{} has no sample", family.name);
            let is_of_shoots = family.name.starts_with("kvshoot_shoot_");
            let of_shoot = format!("\n{}{{namespace=\"ns\",shoot=", family.sample_name());
            assert_eq!(text.contains(&of_shoot), is_of_shoots, "{}", family.name);
            assert!(!family.help.ends_with('.'), "{}", family.help);
        }
        assert!(text.ends_with("# EOF\n"));
    }

    #[test]
    fn runs_and_duties_are_counted_by_result() {
        let metrics = KeepMetrics::new("ns");
        metrics.set_leader(true);
        metrics.ran(ID, run(true), &[Duty::Machines, Duty::Objects].into());
        metrics.ran(ID, run(false), &[Duty::Machines].into());
        metrics.did(ID, Duty::Backups, true);
        let earlier = MeasuredRun {
            ended: 1_600_000_000,
            ..run(true)
        };
        metrics.recorded_run(ID, earlier);
        for line in [
            r#"kvshoot_keep_leader{namespace="ns"} 1"#,
            r#"kvshoot_shoot_runs_total{namespace="ns",shoot="dev/a",result="succeeded"} 1"#,
            r#"kvshoot_shoot_runs_total{namespace="ns",shoot="dev/a",result="failed"} 1"#,
            r#"kvshoot_shoot_duties_total{namespace="ns",shoot="dev/a",duty="machines",result="succeeded"} 1"#,
            r#"kvshoot_shoot_duties_total{namespace="ns",shoot="dev/a",duty="machines",result="failed"} 1"#,
            r#"kvshoot_shoot_duties_total{namespace="ns",shoot="dev/a",duty="objects",result="failed"} 0"#,
            r#"kvshoot_shoot_duties_total{namespace="ns",shoot="dev/a",duty="backups",result="succeeded"} 1"#,
            r#"kvshoot_shoot_last_run_succeeded{namespace="ns",shoot="dev/a"} 0"#,
            r#"kvshoot_shoot_last_run_duration_seconds{namespace="ns",shoot="dev/a"} 1.5"#,
            r#"kvshoot_shoot_last_run_timestamp_seconds{namespace="ns",shoot="dev/a"} 1700000000"#,
        ] {
            assert!(has(&metrics, line), "{line}\n{}", metrics.text());
        }
        metrics.expired(ID);
        assert!(!metrics.text().contains("dev/a"));
        assert!(has(
            &metrics,
            r#"kvshoot_keep_deleted_shoots_total{namespace="ns"} 1"#
        ));
        metrics.failed(ID);
        assert!(has(
            &metrics,
            r#"kvshoot_shoot_kept{namespace="ns",shoot="dev/a"} 0"#
        ));
        // Another process keeps them from now on.
        metrics.set_leader(false);
        assert!(!metrics.text().contains("dev/a"));
    }
}
