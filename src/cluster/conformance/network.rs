//! Checks of the pod network.

use super::agents::Target;
use super::objects::{self, APP, HTTP_PORT, UDP_PORT};
use super::outcome::{CheckFailure, CheckOutcome};
use super::state::is_true;
use super::testbed::{Agent, Testbed};
use crate::cluster::client::resources;
use futures::future::join_all;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Nodes that are checked side by side.
const PARALLEL: usize = 8;
/// The server answers with at most 2048 bytes.
const MAX_DATAGRAM: usize = 2000;
/// Headers of IPv4 and UDP.
const HEADERS: usize = 28;
/// Lines of the large response.
const LINES: u32 = 10_000;
/// Size of the large response.
const SIZE: &str = "48 kB";
/// Name of the pod that a NetworkPolicy isolates.
const ISOLATED: &str = "isolated";
/// Time that a NetworkPolicy may take to have an effect.
const POLICY_DELAY: Duration = Duration::from_secs(30);
/// Kinds of pod networks without NetworkPolicies.
const WITHOUT_POLICIES: [&str; 1] = ["flannel"];

/// Nodes on which a check succeeded.
pub(super) struct NodesChecked {
    number: usize,
    /// Why the first attempt on a node failed.
    trouble: Option<String>,
}

impl NodesChecked {
    /// The outcome, from a text with the number of nodes; a warning if one attempt was not enough.
    pub(super) fn outcome(self, text: impl FnOnce(&str) -> String) -> CheckOutcome {
        let text = text(&match self.number {
            1 => "one node".to_owned(),
            many => format!("{many} nodes"),
        });
        match self.trouble {
            None => CheckOutcome::Passed(text),
            Some(trouble) => {
                CheckOutcome::Warning(format!("{text}, not at the first attempt: {trouble}"))
            }
        }
    }
}

/// Runs a check on each node, until it succeeds there or until the deadline.
///
/// # Errors
///
/// The last problem of a node, with the name of the node.
pub(super) async fn on_each_agent(
    testbed: &Testbed,
    check: impl AsyncFn(&Agent) -> Result<(), CheckFailure>,
) -> Result<NodesChecked, CheckFailure> {
    let trouble = RefCell::new(None);
    let attempt = async |agent: &Agent| {
        let result = check(agent).await;
        let result = result.map_err(|CheckFailure(text)| format!("node {}: {text}", agent.node));
        if let Err(text) = &result {
            trouble.borrow_mut().get_or_insert_with(|| text.clone());
        }
        result.map_err(CheckFailure)
    };
    for some in testbed.agents.chunks(PARALLEL) {
        let checks = some
            .iter()
            .map(async |agent| testbed.until(async || attempt(agent).await).await);
        for result in join_all(checks).await {
            result?;
        }
    }
    Ok(NodesChecked {
        number: testbed.agents.len(),
        trouble: trouble.into_inner(),
    })
}

/// The server of the next node, in the order of names. Each node is the next one of another.
fn next<'a>(testbed: &'a Testbed, agent: &Agent) -> &'a Agent {
    let place = testbed.agents.iter().position(|it| it == agent);
    let next = place.map_or(0, |it| (it + 1) % testbed.agents.len());
    &testbed.agents[next]
}

fn between_nodes(testbed: &Testbed) -> Option<CheckOutcome> {
    let is_alone = testbed.agents.len() < 2;
    is_alone.then(|| CheckOutcome::Skipped("there is only one node".to_owned()))
}

/// Each node reaches the next one, which sees the address of the pod.
pub(super) async fn pod_to_pod(testbed: &Testbed) -> Result<CheckOutcome, CheckFailure> {
    if let Some(outcome) = between_nodes(testbed) {
        return Ok(outcome);
    }
    let nodes = on_each_agent(testbed, async |agent| {
        let peer = next(testbed, agent);
        let target = Target::http(&peer.address, HTTP_PORT);
        let answers = testbed.ask(agent, target, "clientip", 1).await?.all()?;
        let seen = answers.first().map(String::as_str).unwrap_or_default();
        // An IPv6 address is in brackets.
        match seen.contains(&*agent.address) {
            true => Ok(()),
            false => Err(CheckFailure(format!(
                "pod {} sees {seen} instead of {}",
                peer.pod, agent.address
            ))),
        }
    });
    let nodes = nodes.await?;
    Ok(nodes.outcome(|nodes| format!("each of {nodes} reaches the next")))
}

/// The largest datagram that is not fragmented, and a response of many segments.
pub(super) async fn large_packets(testbed: &Testbed) -> Result<CheckOutcome, CheckFailure> {
    if let Some(outcome) = between_nodes(testbed) {
        return Ok(outcome);
    }
    let first = testbed.agent()?;
    let mtu = testbed.shell(first, "cat /sys/class/net/eth0/mtu").await?;
    let mtu: usize = mtu
        .parse()
        .map_err(|_| CheckFailure(format!("the MTU is `{mtu}`")))?;
    let size = (mtu - HEADERS.min(mtu)).min(MAX_DATAGRAM);
    let command = "echo ";
    let echo = "x".repeat(size.saturating_sub(command.len()));
    let datagram = format!("{command}{echo}");
    let response = format!("shell?cmd=seq%20{LINES}");
    let nodes = on_each_agent(testbed, async |agent| {
        let peer = next(testbed, agent);
        let target = Target {
            host: &peer.address,
            port: UDP_PORT,
            protocol: "udp",
        };
        let sent = testbed.ask(agent, target, &datagram, 1).await?;
        if sent.responses != [echo.as_str()] {
            let text = format!("{size} bytes by UDP to node {} are lost", peer.node);
            return Err(CheckFailure(text));
        }
        let target = Target::http(&peer.address, HTTP_PORT);
        let answers = testbed.ask(agent, target, &response, 1).await?.all()?;
        match answers.iter().any(|it| it.contains(&LINES.to_string())) {
            true => Ok(()),
            false => Err(CheckFailure(format!(
                "a response of node {} is cut off",
                peer.node
            ))),
        }
    });
    let nodes = nodes.await?;
    Ok(nodes.outcome(|nodes| format!("{size} bytes by UDP, {SIZE} by TCP, {nodes}")))
}

/// A pod that no NetworkPolicy allows to reach becomes unreachable.
pub(super) async fn network_policy(testbed: &Testbed) -> Result<CheckOutcome, CheckFailure> {
    let spec = objects::pod_spec(&[objects::server(&testbed.options.image)]);
    let pod = objects::pod(ISOLATED, spec);
    testbed.create_object(&resources::POD, &pod).await?;
    let address = |it: &Value| {
        let is_ready = is_true(it, "Ready");
        let address = it["status"]["podIP"].as_str();
        address.filter(|_| is_ready).map(str::to_owned)
    };
    let address = testbed.wait(&resources::POD, ISOLATED, address).await?;
    let agent = testbed.agent()?;
    let command = format!("/agnhost connect --timeout=3s {address}:{HTTP_PORT}");
    testbed.shell(agent, &command).await?;
    let policy = json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": { "name": ISOLATED },
        "spec": { "podSelector": { "matchLabels": { APP: ISOLATED } }, "policyTypes": ["Ingress"] },
    });
    testbed
        .create_object(&resources::NETWORK_POLICY, &policy)
        .await?;
    let end = (Instant::now() + POLICY_DELAY).min(testbed.deadline());
    while Instant::now() < end {
        match testbed.shell(agent, &command).await {
            Err(CheckFailure(text)) if is_blocked(&text) => {
                return Ok(CheckOutcome::Passed("enforced".to_owned()));
            }
            // The request to the API server may fail for other reasons.
            _ => {}
        }
        sleep(Duration::from_secs(1)).await;
    }
    let networking = &*testbed.options.networking;
    Ok(match WITHOUT_POLICIES.contains(&networking) {
        true => CheckOutcome::Warning(format!("not enforced: {networking} does not have them")),
        false => CheckOutcome::Failed("not enforced".to_owned()),
    })
}

/// True for the report of `agnhost connect` that it reaches nothing.
fn is_blocked(text: &str) -> bool {
    ["TIMEOUT", "REFUSED", "OTHER"]
        .iter()
        .any(|it| text.contains(it))
}

/// Each node reaches the API server by its Service.
pub(super) async fn api_from_pods(testbed: &Testbed) -> Result<CheckOutcome, CheckFailure> {
    let host = "kubernetes.default.svc.cluster.local";
    let nodes = on_each_agent(testbed, async |agent| {
        let command = format!("/agnhost connect --timeout=5s {host}:443");
        testbed.shell(agent, &command).await.map(|_| ())
    });
    let nodes = nodes.await?;
    Ok(nodes.outcome(|nodes| format!("{host} from {nodes}")))
}
