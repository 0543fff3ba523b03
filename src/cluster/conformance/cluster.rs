//! Checks of what a cluster reports about itself.

use super::outcome::{CheckFailure, CheckOutcome};
use super::state::{conditions, is_true};
use super::testbed::Testbed;
use crate::cluster::client::request::ResourceRef;
use crate::cluster::client::resources::{self, Resource};
use serde_json::Value;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Conditions of a node that mean trouble if they are true.
const PRESSURE: [&str; 4] = [
    "MemoryPressure",
    "DiskPressure",
    "PIDPressure",
    "NetworkUnavailable",
];
const SYSTEM: &str = "kube-system";
/// Time between two reads of metrics, which have a resolution of 15 s.
const INTERVAL: Duration = Duration::from_secs(3);

pub(super) async fn api_server(testbed: &Testbed) -> Result<CheckOutcome, CheckFailure> {
    let begun = Instant::now();
    let answer = testbed.shoot.get_path("/version", "the version").await?;
    let millis = begun.elapsed().as_millis();
    let version = answer["gitVersion"].as_str().unwrap_or_default();
    // A build of a distribution has a suffix, such as -eks or +k3s.
    let number = version.trim_start_matches('v');
    let number = number.split(['-', '+']).next().unwrap_or_default();
    match number == testbed.options.kubernetes {
        true => Ok(CheckOutcome::Passed(format!(
            "{version} answers in {millis} ms"
        ))),
        false => Ok(CheckOutcome::Failed(format!(
            "it is {version}, but {} was applied",
            testbed.options.kubernetes
        ))),
    }
}

pub(super) async fn nodes(testbed: &Testbed) -> Result<CheckOutcome, CheckFailure> {
    let nodes = list(testbed, &resources::NODE, None).await?;
    let ready = nodes.iter().filter(|it| is_true(it, "Ready")).count();
    let troubled = nodes.iter().find_map(|node| {
        let mut trouble = PRESSURE.iter().filter(|it| is_true(node, it));
        let not_ready = (!is_true(node, "Ready")).then_some("not Ready");
        let trouble = not_ready.or_else(|| trouble.next().copied())?;
        Some(format!("node {}: {trouble}", name(node)))
    });
    Ok(match troubled {
        Some(text) => CheckOutcome::Failed(text),
        None if nodes.is_empty() => CheckOutcome::Failed("there are no nodes".to_owned()),
        None => CheckOutcome::Passed(format!("{ready} of {} Ready", nodes.len())),
    })
}

pub(super) async fn system_pods(testbed: &Testbed) -> Result<CheckOutcome, CheckFailure> {
    let pods = list(testbed, &resources::POD, Some(SYSTEM)).await?;
    let is_well = |pod: &Value| pod["status"]["phase"] == "Succeeded" || is_true(pod, "Ready");
    let failed = pods.iter().filter(|it| !is_well(it));
    let failed: Vec<&str> = failed.map(name).collect();
    Ok(match failed.first() {
        Some(first) => CheckOutcome::Failed(match failed.len() {
            1 => format!("pod {first} is not Ready"),
            many => format!("{many} of {} pods are not Ready, {first} first", pods.len()),
        }),
        None => CheckOutcome::Passed(format!("{} pods Ready", pods.len())),
    })
}

pub(super) async fn api_services(testbed: &Testbed) -> Result<CheckOutcome, CheckFailure> {
    let services = list(testbed, &resources::API_SERVICE, None).await?;
    for service in &services {
        if let Some(condition) = conditions(service).find(|it| it["type"] == "Available")
            && condition["status"] != "True"
        {
            let message = condition["message"].as_str().unwrap_or_default();
            return Ok(CheckOutcome::Failed(format!(
                "{}: {message}",
                name(service)
            )));
        }
    }
    let remote = services
        .iter()
        .filter(|it| !it["spec"]["service"].is_null());
    let remote = remote.count();
    Ok(CheckOutcome::Passed(format!(
        "{} available, {remote} served by pods",
        services.len()
    )))
}

pub(super) async fn node_metrics(testbed: &Testbed) -> Result<CheckOutcome, CheckFailure> {
    let nodes = list(testbed, &resources::NODE, None).await?.len();
    loop {
        let problem = match list(testbed, &resources::NODE_METRICS, None).await {
            Ok(metrics) if metrics.len() >= nodes => {
                return Ok(CheckOutcome::Passed(format!("of {nodes} of {nodes} nodes")));
            }
            Ok(metrics) => CheckFailure(format!("of {} of {nodes} nodes", metrics.len())),
            Err(problem) => problem,
        };
        if Instant::now() + INTERVAL > testbed.deadline() {
            return Err(problem);
        }
        sleep(INTERVAL).await;
    }
}

pub(super) async fn list(
    testbed: &Testbed,
    resource: &'static Resource,
    namespace: Option<&str>,
) -> Result<Vec<Value>, CheckFailure> {
    let all = ResourceRef::all(resource, namespace);
    Ok(testbed.shoot.list(all, None).await?.items)
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}
