//! Checks of controllers of workloads.

use super::agents::Target;
use super::objects::{self, APP, Run, WEB};
use super::outcome::{CheckFailure, CheckOutcome};
use super::state::{conditions, is_rolled_out, is_true};
use super::testbed::Testbed;
use crate::cluster::client::error::Error;
use crate::cluster::client::request::WRITE_TIMEOUT;
use crate::cluster::client::resources;
use serde_json::{Value, json};
use std::cell::Cell;
use std::time::Duration;
use tokio::time::sleep;

/// Time between the requests of the client of a rolling update, five at a time.
const PAUSE: Duration = Duration::from_millis(500);
/// Number of pods of the Job.
const COMPLETIONS: usize = 2;
/// Name of the Job.
const JOB: &str = "job";
/// Name of the PodDisruptionBudget and its pod.
const BUDGET: &str = "budget";
/// Name of the HorizontalPodAutoscaler.
const AUTOSCALING: &str = "autoscaling";

pub(super) async fn job(testbed: &Testbed) -> Result<CheckOutcome, CheckFailure> {
    let script = "echo index $JOB_COMPLETION_INDEX";
    let container = objects::container(&testbed.options.image, &Run::Script(script));
    let mut spec = objects::pod_spec(&[container]);
    spec["restartPolicy"] = "Never".into();
    let job = json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": { "name": JOB },
        "spec": {
            "completions": COMPLETIONS,
            "parallelism": COMPLETIONS,
            "completionMode": "Indexed",
            "backoffLimit": 0,
            "template": { "metadata": { "labels": { APP: JOB } }, "spec": spec },
        },
    });
    testbed.create_object(&resources::JOB, &job).await?;
    let ended = |it: &Value| match (is_true(it, "Complete"), is_true(it, "Failed")) {
        (true, _) => Some(Ok(())),
        (_, true) => {
            let failed = conditions(it).find(|it| it["type"] == "Failed");
            let message = failed.and_then(|it| it["message"].as_str());
            Some(Err(CheckFailure(message.unwrap_or("it failed").to_owned())))
        }
        _ => None,
    };
    testbed.wait(&resources::JOB, JOB, ended).await??;
    Ok(CheckOutcome::Passed(format!("{COMPLETIONS} pods ended")))
}

/// All pods of a Deployment are replaced while a client uses its Service.
pub(super) async fn rolling_update(testbed: &Testbed) -> Result<CheckOutcome, CheckFailure> {
    let change = json!({ "spec": { "template": { "metadata": { "annotations": { "kvshoot.io/conformance": "2" } } } } });
    let deployment = testbed.one(&resources::DEPLOYMENT, WEB);
    testbed
        .shoot
        .patch(deployment, &change, WRITE_TIMEOUT)
        .await?;
    let service = testbed
        .shoot
        .get(testbed.one(&resources::SERVICE, WEB))
        .await?;
    let host = service["spec"]["clusterIP"].as_str().unwrap_or_default();
    let target = Target::http(host, 80);
    let agent = testbed.agent()?;
    let is_over = Cell::new(false);
    let roll = async {
        let rolled = |it: &Value| is_rolled_out(it).then_some(());
        let rolled = testbed.wait(&resources::DEPLOYMENT, WEB, rolled).await;
        is_over.set(true);
        rolled
    };
    let requests = async {
        let (mut answered, mut failed) = (0, Vec::new());
        while !is_over.get() {
            let mut answers = testbed.ask(agent, target, "hostname", 5).await?;
            answered += answers.responses.len();
            failed.append(&mut answers.errors);
            sleep(PAUSE).await;
        }
        Ok::<_, CheckFailure>((answered, failed))
    };
    let (rolled, requests) = tokio::join!(roll, requests);
    let (answered, failed) = requests?;
    rolled?;
    Ok(match failed.first() {
        None if answered == 0 => CheckOutcome::Failed("no request was sent meanwhile".to_owned()),
        None => CheckOutcome::Passed(format!("none of {answered} requests failed")),
        Some(error) => CheckOutcome::Failed(format!(
            "{} of {} requests failed: {error}",
            failed.len(),
            failed.len() + answered
        )),
    })
}

/// The only pod of a budget is evicted when the budget is gone, and not before.
pub(super) async fn disruption_budget(testbed: &Testbed) -> Result<CheckOutcome, CheckFailure> {
    let budget = json!({
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": { "name": BUDGET },
        "spec": { "minAvailable": 1, "selector": { "matchLabels": { APP: BUDGET } } },
    });
    let created = testbed.create_object(&resources::DISRUPTION_BUDGET, &budget);
    let created = created.await?;
    let container = objects::container(&testbed.options.image, &Run::Args(&["pause"]));
    let pod = objects::pod(BUDGET, objects::pod_spec(&[container]));
    testbed.create_object(&resources::POD, &pod).await?;
    let healthy = |it: &Value| (it["status"]["currentHealthy"] == 1).then_some(());
    testbed
        .wait(&resources::DISRUPTION_BUDGET, BUDGET, healthy)
        .await?;
    match evict(testbed).await {
        Err(Error::Throttled { .. }) => {}
        Err(error) => return Err(error.into()),
        Ok(()) => {
            return Ok(CheckOutcome::Failed(
                "the pod is evicted all the same".to_owned(),
            ));
        }
    }
    let uid = created["metadata"]["uid"].as_str().unwrap_or_default();
    let budget = testbed.one(&resources::DISRUPTION_BUDGET, BUDGET);
    testbed
        .shoot
        .delete(budget, uid, None, WRITE_TIMEOUT)
        .await?;
    testbed.until(async || Ok(evict(testbed).await?)).await?;
    Ok(CheckOutcome::Passed("an eviction waits for it".to_owned()))
}

async fn evict(testbed: &Testbed) -> Result<(), Error> {
    let eviction = json!({
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": { "name": BUDGET, "namespace": testbed.namespace() },
    });
    let pod = testbed.one(&resources::POD, BUDGET);
    let evicted = testbed
        .shoot
        .create_subresource(pod, "eviction", &eviction, WRITE_TIMEOUT);
    evicted.await.map(|_| ())
}

/// A HorizontalPodAutoscaler sees the CPU of its pods.
pub(super) async fn autoscaling(testbed: &Testbed) -> Result<CheckOutcome, CheckFailure> {
    let metric = json!({
        "type": "Resource",
        // Far above what the pods use.
        "resource": { "name": "cpu", "target": { "type": "Utilization", "averageUtilization": 100_000 } },
    });
    let autoscaler = json!({
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": { "name": AUTOSCALING },
        "spec": {
            "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": WEB },
            "minReplicas": objects::REPLICAS,
            "maxReplicas": objects::REPLICAS,
            "metrics": [metric],
        },
    });
    testbed
        .create_object(&resources::POD_AUTOSCALER, &autoscaler)
        .await?;
    let usage = |it: &Value| {
        let current = &it["status"]["currentMetrics"][0]["resource"]["current"];
        current["averageUtilization"].as_u64()
    };
    let usage = testbed
        .wait(&resources::POD_AUTOSCALER, AUTOSCALING, usage)
        .await?;
    Ok(CheckOutcome::Passed(format!(
        "it sees {usage} % of the requested CPU"
    )))
}
