//! Checks of what users of a cluster rely on.

use super::report::{CheckReport, ConformanceReport, ReportFormat};
use super::{CheckedCluster, refused};
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit, failed};
use crate::app::signals::Signals;
use crate::cluster::InFlight;
use crate::cluster::conformance::checks::{CLUSTER_CHECKS, ConformanceCheck, POD_CHECKS};
use crate::cluster::conformance::outcome::CheckOutcome;
use crate::cluster::conformance::testbed::{Testbed, TestbedOptions};
use crate::load::recorded_outline;
use futures::future::join_all;
use std::cell::RefCell;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// The image of the pods, which has a server, a client and a shell.
pub(crate) const IMAGE: &str = "registry.k8s.io/e2e-test-images/agnhost:2.63.0";
/// The check whose failure leaves out those that need pods.
const PODS: &str = "pods";
const PODS_MEANING: &str =
    "nodes do not start pods: the image cannot be pulled, or the container runtime fails";
/// Checks that run side by side.
const PARALLEL: usize = 10;
/// Checks that are named while a person waits.
const SHOWN: usize = 5;
/// Limit for starting the pods, and again for the checks, unless it is given.
const TIMEOUT: Duration = Duration::from_secs(3 * 60);
/// The longest limit: a namespace that is older than an hour is deleted as abandoned.
const LONGEST: Duration = Duration::from_secs(20 * 60);
/// Limit for the deletion of the namespace.
const CLEANUP: Duration = Duration::from_secs(3 * 60);

/// Options of `kvshoot conformance --quick`.
#[derive(Debug)]
pub(crate) struct QuickOptions {
    /// Display name of the shoot.
    pub(crate) name: String,
    pub(crate) image: String,
    /// Limit for starting the pods, and again for the checks; at most 20 minutes.
    pub(crate) timeout: Option<Duration>,
    /// Names of checks; empty for all.
    pub(crate) only: Vec<String>,
    pub(crate) skip: Vec<String>,
    pub(crate) output: ReportFormat,
}

impl QuickOptions {
    fn limit(&self) -> Result<Duration, CommandError> {
        let limit = self.timeout.unwrap_or(TIMEOUT);
        if limit > LONGEST {
            let message = "--timeout must be at most 20m with --quick";
            return Err(CommandError::new(Exit::Usage, message));
        }
        Ok(limit)
    }

    fn selects(&self, check: &ConformanceCheck) -> bool {
        let is_named = |names: &[String]| names.iter().any(|it| it == check.name);
        (self.only.is_empty() || is_named(&self.only)) && !is_named(&self.skip)
    }
}

/// Names of all checks that can be selected.
pub(crate) fn check_names() -> impl Iterator<Item = &'static str> {
    CLUSTER_CHECKS.iter().chain(POD_CHECKS).map(|it| it.name)
}

/// Runs the checks in a namespace that is deleted afterwards. The exit code is 1 if one fails.
pub(crate) fn quick_conformance(
    options: &QuickOptions,
    context: &Context,
) -> Result<Exit, CommandError> {
    context.block_on(async {
        let signals = Signals::listen(None)?;
        let begun = Instant::now();
        let prepared = prepare(options, context);
        let (cluster, testbed) = signals.or_interrupted("start the checks", prepared).await?;
        let testbed = Testbed::create(&cluster.shoot, testbed).await;
        let mut testbed = testbed.map_err(failed)?;
        let checked = tokio::select! {
            reports = run_checks(options, &mut testbed, context) => Ok(reports),
            () = signals.first.cancelled() => Err(CommandError::new(signals.exit(), "interrupted")),
        };
        clean_up(&testbed, &signals, context).await;
        let report = ConformanceReport::new(&options.name, begun, "check", checked?);
        Ok(cluster.print(report, options.output, context).await)
    })?
}

/// A cluster that can run pods, and how they are run.
async fn prepare(
    options: &QuickOptions,
    context: &Context,
) -> Result<(CheckedCluster, TestbedOptions), CommandError> {
    let limit = options.limit()?;
    let cluster = CheckedCluster::find(&options.name, context).await?;
    let record = &cluster.record;
    let applied = recorded_outline(&record.name, &record.data, crate::clock::now());
    let applied = applied.ok_or_else(|| refused(&options.name, "its record cannot be read"))?;
    cluster.needs_containers("for machines that run: kvshoot sandbox up --guests")?;
    Testbed::delete_abandoned(&cluster.shoot)
        .await
        .map_err(failed)?;
    let testbed = TestbedOptions {
        image: options.image.clone(),
        limit,
        kubernetes: applied.kubernetes,
        networking: applied.networking.type_,
    };
    Ok((cluster, testbed))
}

/// Runs all selected checks, side by side as far as possible, and prints each as it ends.
async fn run_checks(
    options: &QuickOptions,
    testbed: &mut Testbed,
    context: &Context,
) -> Vec<CheckReport> {
    let print = |report: CheckReport| {
        if options.output == ReportFormat::Text {
            context.ui.data(&report.line(context.ui.style()));
        }
        report
    };
    let namespace = testbed.namespace();
    context
        .ui
        .status(&format!("starting pods in namespace {namespace}"));
    let begun = Instant::now();
    let waiting = InFlight::many(format!("pods in namespace {namespace}"));
    let started = testbed.start_pods().await;
    drop(waiting);
    let can_run_pods = matches!(started, CheckOutcome::Passed(_));
    let mut reports = vec![print(CheckReport {
        check: PODS.into(),
        meaning: Some(PODS_MEANING),
        outcome: started,
        took: begun.elapsed(),
    })];
    testbed.restart_clock();
    let testbed = &*testbed;
    let pods = POD_CHECKS.iter().map(|it| (it, can_run_pods));
    let selected = CLUSTER_CHECKS.iter().map(|it| (it, true)).chain(pods);
    let selected = selected.filter(|(check, _)| options.selects(check));
    let selected: Vec<(&ConformanceCheck, bool)> = selected.collect();
    let open = OpenChecks::new(selected.iter().map(|(check, _)| check.name));
    let places = Semaphore::new(PARALLEL);
    let checks = selected.into_iter().map(async |(check, can_run)| {
        let _place = places.acquire().await;
        let (outcome, took) = match can_run {
            true => check.run(testbed).await,
            false => (
                CheckOutcome::Skipped("pods do not start".to_owned()),
                Duration::ZERO,
            ),
        };
        open.close(check.name);
        print(CheckReport {
            check: check.name.into(),
            meaning: Some(check.meaning),
            outcome,
            took,
        })
    });
    reports.extend(join_all(checks).await);
    reports
}

/// Checks that are not finished, for people who wait for them.
struct OpenChecks(RefCell<(Vec<&'static str>, Option<InFlight>)>);

impl OpenChecks {
    fn new(names: impl Iterator<Item = &'static str>) -> OpenChecks {
        let open = OpenChecks(RefCell::new((names.collect(), None)));
        open.close("");
        open
    }

    fn close(&self, name: &str) {
        let (names, report) = &mut *self.0.borrow_mut();
        names.retain(|it| *it != name);
        let shown = names[..names.len().min(SHOWN)].join(", ");
        let more = match names.len().saturating_sub(SHOWN) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        *report = Some(InFlight::many(format!("{shown}{more}")));
    }
}

/// Deletes the namespace. What remains is a warning: the checks are done.
async fn clean_up(testbed: &Testbed, signals: &Signals, context: &Context) {
    let name = testbed.namespace();
    context.ui.status(&format!("deleting namespace {name}"));
    let _waiting = InFlight::many(format!("the deletion of namespace {name}"));
    let cleanup = signals.for_cleanup(CLEANUP);
    let problem = tokio::select! {
        result = testbed.delete(CLEANUP) => match result {
            Ok(None) => return,
            Ok(Some(blocked)) => format!("namespace {name} of the shoot is still being deleted: {blocked}"),
            Err(error) => format!("cannot delete namespace {name} of the shoot: {error}"),
        },
        () = cleanup.first.cancelled() => format!("namespace {name} of the shoot may remain"),
    };
    context.ui.warn(&problem);
}
