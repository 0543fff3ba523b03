//! `kvshoot conformance`: checks of what users of a cluster rely on.

mod junit;
mod report;

use super::context::Context;
use super::error::{CommandError, Exit, failed};
use super::inspect::recorded_hibernation::hibernation;
use super::inspect::shoot_summary::find;
use super::provider::connect::connect;
use super::provider::doctor;
use super::signals::Signals;
use super::version::VERSION;
use crate::cluster::conformance::checks::{CLUSTER_CHECKS, ConformanceCheck, POD_CHECKS};
use crate::cluster::conformance::node_versions::NodeVersions;
use crate::cluster::conformance::outcome::CheckOutcome;
use crate::cluster::conformance::testbed::{Testbed, TestbedOptions};
use crate::cluster::{ApiClient, InFlight, RecordSnapshot};
use crate::load::recorded_outline;
use crate::ui::Format;
use futures::future::join_all;
use jiff::Timestamp;
use report::{CheckReport, CompleteReport, ConformanceReport};
use std::cell::RefCell;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

pub(crate) use report::ReportFormat;

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
/// Limit for the deletion of the namespace.
const CLEANUP: Duration = Duration::from_secs(3 * 60);

/// Options of `kvshoot conformance`.
#[derive(Debug)]
pub(crate) struct ConformanceOptions {
    /// Display name of the shoot.
    pub(crate) name: String,
    pub(crate) image: String,
    /// Limit for starting the pods, and again for the checks.
    pub(crate) timeout: Duration,
    /// Names of checks; empty for all.
    pub(crate) only: Vec<String>,
    pub(crate) skip: Vec<String>,
    pub(crate) output: ReportFormat,
}

impl ConformanceOptions {
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
pub(crate) fn conformance(
    options: &ConformanceOptions,
    context: &Context,
) -> Result<Exit, CommandError> {
    context.block_on(async {
        let signals = Signals::listen(None)?;
        let begun = Instant::now();
        let prepared = prepare(options, context);
        let cluster = signals.or_interrupted("start the checks", prepared).await?;
        let testbed = Testbed::create(&cluster.shoot, cluster.testbed.clone()).await;
        let mut testbed = testbed.map_err(failed)?;
        let checked = tokio::select! {
            reports = run_checks(options, &mut testbed, context) => Ok(reports),
            () = signals.first.cancelled() => Err(CommandError::new(signals.exit(), "interrupted")),
        };
        clean_up(&testbed, &signals, context).await;
        let checks = checked?;
        let is_conformant = checks.iter().all(|it| !it.is_failed());
        let report = ConformanceReport {
            name: options.name.clone(),
            started: report::started(begun),
            seconds: begun.elapsed().as_secs_f64(),
            version: VERSION,
            checks,
        };
        print(report, &cluster, options.output, context).await;
        Ok(if is_conformant { Exit::Done } else { Exit::No })
    })?
}

/// The cluster that is checked, and its provider cluster.
struct CheckedCluster {
    provider: ApiClient,
    record: RecordSnapshot,
    shoot: ApiClient,
    nodes: Vec<NodeVersions>,
    testbed: TestbedOptions,
}

/// Finds the cluster, and refuses one that cannot run pods.
async fn prepare(
    options: &ConformanceOptions,
    context: &Context,
) -> Result<CheckedCluster, CommandError> {
    let name = &options.name;
    let refused = |why: &str| {
        let message = format!("cannot check shoot {name}: {why}");
        CommandError::new(Exit::Precondition, message)
    };
    let provider = connect(context).await?;
    let record = find(&provider, name, context).await?;
    if hibernation(&record)?.enabled {
        let wake = context.hint_command(&["wake", name]);
        return Err(refused("it is hibernated").hint(format!("to start it: {wake}")));
    }
    let applied = recorded_outline(&record.name, &record.data, Timestamp::now());
    let applied = applied.ok_or_else(|| refused("its record cannot be read"))?;
    let shoot = provider.shoot_client(&record.name).await.map_err(failed)?;
    let nodes = shoot.node_versions().await.map_err(failed)?;
    if !nodes.is_empty() && nodes.iter().all(NodeVersions::is_simulated) {
        let error = refused("its nodes are simulated, and run no containers");
        return Err(error.hint("for machines that run: kvshoot sandbox up --guests"));
    }
    Testbed::delete_abandoned(&shoot).await.map_err(failed)?;
    let testbed = TestbedOptions {
        image: options.image.clone(),
        limit: options.timeout,
        kubernetes: applied.kubernetes,
        networking: applied.networking.type_,
    };
    Ok(CheckedCluster {
        provider,
        record,
        shoot,
        nodes,
        testbed,
    })
}

async fn print(
    report: ConformanceReport,
    cluster: &CheckedCluster,
    format: ReportFormat,
    context: &Context,
) {
    match format {
        ReportFormat::Text => context.ui.data(&report.summary()),
        ReportFormat::Junit => context.ui.data(&junit::render(&report)),
        ReportFormat::Json => {
            let doctor = doctor::results(&cluster.provider, Some(&cluster.record)).await;
            let doctor = doctor.unwrap_or_else(|error| {
                let text = format!(
                    "the report has no checks of the provider cluster: {}",
                    error.message
                );
                context.ui.warn(&text);
                Vec::new()
            });
            let nodes = &cluster.nodes;
            context.ui.value(
                Format::Json,
                &CompleteReport {
                    report,
                    nodes,
                    doctor,
                },
            );
        }
    }
}

/// Runs all selected checks, side by side as far as possible, and prints each as it ends.
async fn run_checks(
    options: &ConformanceOptions,
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
        check: PODS,
        meaning: PODS_MEANING,
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
            check: check.name,
            meaning: check.meaning,
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
