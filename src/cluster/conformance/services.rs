//! Checks of Services.

use super::agents::Target;
use super::network::on_each_agent;
use super::objects::{self, HTTP_PORT, REPLICAS, WEB};
use super::outcome::{CheckFailure, CheckOutcome};
use super::testbed::{Agent, Testbed};
use crate::cluster::client::request::ResourceRef;
use crate::cluster::client::resources;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

/// Requests after which every pod has answered, except in one of 2^20 cases.
const TRIES: u32 = 20;
/// Limit for a connection from this computer.
const CONNECT: Duration = Duration::from_secs(5);
/// Attempts to reach a load balancer from one side after the other side has reached it.
const ATTEMPTS: u32 = 5;
const NODE_PORT: &str = "node-port";
const LOAD_BALANCER: &str = "load-balancer";
const AFFINITY: &str = "affinity";
const HAIRPIN: &str = "hairpin";

pub(super) async fn tcp(testbed: &Testbed) -> Result<CheckOutcome, CheckFailure> {
    answered_by_all(testbed, "http").await
}

pub(super) async fn udp(testbed: &Testbed) -> Result<CheckOutcome, CheckFailure> {
    answered_by_all(testbed, "udp").await
}

/// Each node reaches all pods of a Service by its address.
async fn answered_by_all(
    testbed: &Testbed,
    protocol: &'static str,
) -> Result<CheckOutcome, CheckFailure> {
    let address = cluster_ip(testbed, WEB).await?;
    let target = Target {
        host: &address,
        port: 80,
        protocol,
    };
    // Pods may be replaced meanwhile, so that there are more names than pods.
    let nodes = on_each_agent(testbed, async |agent| {
        let names = names(testbed, agent, target, TRIES).await?;
        match names.len() >= REPLICAS {
            true => Ok(()),
            false => Err(CheckFailure(format!(
                "{} of {REPLICAS} pods answer",
                names.len()
            ))),
        }
    });
    let nodes = nodes.await?;
    Ok(nodes.outcome(|nodes| format!("{REPLICAS} pods answer {nodes}")))
}

/// The names of the pods that answered.
async fn names(
    testbed: &Testbed,
    agent: &Agent,
    target: Target<'_>,
    tries: u32,
) -> Result<BTreeSet<String>, CheckFailure> {
    let answers = testbed.ask(agent, target, "hostname", tries).await?;
    Ok(answers.all()?.into_iter().collect())
}

/// A pod reaches itself by a Service that has no other pod.
pub(super) async fn hairpin(testbed: &Testbed) -> Result<CheckOutcome, CheckFailure> {
    let agent = testbed.agent()?;
    let service = objects::service(
        HAIRPIN,
        objects::AGENT,
        json!({ "internalTrafficPolicy": "Local" }),
    );
    testbed.create_object(&resources::SERVICE, &service).await?;
    let address = cluster_ip(testbed, HAIRPIN).await?;
    let target = Target::http(&address, 80);
    let reached = testbed.until(async || names(testbed, agent, target, 1).await);
    let reached = reached.await?;
    match reached.contains(&agent.pod) {
        true => Ok(CheckOutcome::Passed(
            "a pod reaches itself by its Service".to_owned(),
        )),
        false => Ok(CheckOutcome::Failed(
            "another node answers a node-local Service".to_owned(),
        )),
    }
}

/// One client always reaches the same pod.
pub(super) async fn session_affinity(testbed: &Testbed) -> Result<CheckOutcome, CheckFailure> {
    let agent = testbed.agent()?;
    let service = objects::service(AFFINITY, WEB, json!({ "sessionAffinity": "ClientIP" }));
    testbed.create_object(&resources::SERVICE, &service).await?;
    let address = cluster_ip(testbed, AFFINITY).await?;
    let target = Target::http(&address, 80);
    testbed
        .until(async || {
            // The rolling update may take the pod away.
            let pods = names(testbed, agent, target, TRIES).await?;
            match pods.len() {
                1 => Ok(()),
                many => Err(CheckFailure(format!("{many} pods answer one client"))),
            }
        })
        .await?;
    Ok(CheckOutcome::Passed(format!(
        "one pod answers {TRIES} requests"
    )))
}

/// Each node reaches the port of the Service at its own address.
pub(super) async fn node_port(testbed: &Testbed) -> Result<CheckOutcome, CheckFailure> {
    let service = objects::service(NODE_PORT, WEB, json!({ "type": "NodePort" }));
    let created = testbed.create_object(&resources::SERVICE, &service).await?;
    let port = created["spec"]["ports"][0]["nodePort"].as_u64();
    let port = port.and_then(|it| u16::try_from(it).ok());
    let port = port.ok_or_else(|| CheckFailure("the Service has no port at nodes".to_owned()))?;
    let nodes = on_each_agent(testbed, async |agent| {
        let node = ResourceRef {
            resource: &resources::NODE,
            namespace: None,
            name: Some(&agent.node),
        };
        let node = testbed.shoot.get(node).await?;
        let host = internal_address(&node);
        let host = host.ok_or_else(|| CheckFailure("it has no InternalIP".to_owned()))?;
        let target = Target::http(host, port);
        testbed
            .until(async || names(testbed, agent, target, 1).await)
            .await?;
        Ok(())
    });
    let nodes = nodes.await?;
    Ok(nodes.outcome(|nodes| format!("port {port} of {nodes}")))
}

fn internal_address(node: &Value) -> Option<&str> {
    let addresses = node["status"]["addresses"].as_array()?;
    let internal = addresses.iter().find(|it| it["type"] == "InternalIP")?;
    internal["address"].as_str()
}

/// A load balancer gets an address that answers pods and this computer.
pub(super) async fn load_balancer(testbed: &Testbed) -> Result<CheckOutcome, CheckFailure> {
    let mut service = objects::service(LOAD_BALANCER, WEB, json!({ "type": "LoadBalancer" }));
    // Many load balancers do not have both protocols at one address.
    service["spec"]["ports"] = json!([{ "name": "http", "port": 80, "targetPort": HTTP_PORT }]);
    testbed.create_object(&resources::SERVICE, &service).await?;
    let address = |it: &Value| {
        let ingress = &it["status"]["loadBalancer"]["ingress"][0];
        let address = ingress["ip"]
            .as_str()
            .or_else(|| ingress["hostname"].as_str());
        address.map(str::to_owned)
    };
    let assigned = testbed
        .wait(&resources::SERVICE, LOAD_BALANCER, address)
        .await;
    let host = assigned.map_err(|_| CheckFailure("it gets no address".to_owned()))?;
    let agent = testbed.agent()?;
    let target = Target::http(&host, 80);
    let here = async || page(&host).await;
    let pods = async || names(testbed, agent, target, 1).await;
    // It may take a while until anything is answered. Some load balancers are reached from one side only, so that the
    // other side has less time then.
    testbed
        .until(async || match here().await {
            Ok(()) => Ok(()),
            Err(failure) => pods().await.map(|_| ()).map_err(|_| failure),
        })
        .await
        .map_err(|CheckFailure(error)| CheckFailure(format!("{host}: {error}")))?;
    let (from_here, from_pods) = tokio::join!(retry(ATTEMPTS, here), retry(ATTEMPTS, pods));
    Ok(match (from_here, from_pods) {
        (Ok(()), Ok(_)) => CheckOutcome::Passed(format!("{host} answers this computer and pods")),
        (Err(CheckFailure(error)), Ok(_)) => CheckOutcome::Warning(format!(
            "{host} answers pods, but not this computer: {error}"
        )),
        (Ok(()), Err(CheckFailure(error))) => CheckOutcome::Warning(format!(
            "{host} answers this computer, but not pods: {error}"
        )),
        (Err(CheckFailure(error)), Err(_)) => CheckOutcome::Failed(format!("{host}: {error}")),
    })
}

/// Repeats a check until it succeeds, and returns the last result.
async fn retry<T>(
    attempts: u32,
    check: impl AsyncFn() -> Result<T, CheckFailure>,
) -> Result<T, CheckFailure> {
    for _ in 1..attempts {
        if let Ok(result) = check().await {
            return Ok(result);
        }
        sleep(Duration::from_secs(1)).await;
    }
    check().await
}

/// Requests a page of a load balancer.
async fn page(host: &str) -> Result<(), CheckFailure> {
    let exchange = async {
        let mut stream = TcpStream::connect((host, 80)).await?;
        stream.write_all(b"GET /hostname HTTP/1.0\r\n\r\n").await?;
        let mut head = [0; 12];
        stream.read_exact(&mut head).await?;
        Ok::<_, std::io::Error>(head)
    };
    let head = timeout(CONNECT, exchange).await;
    let head = head.map_err(|_| CheckFailure("no answer".to_owned()))?;
    let head = head.map_err(|error| CheckFailure(error.to_string()))?;
    match head.ends_with(b" 200") {
        true => Ok(()),
        false => Err(CheckFailure("it does not answer as the pods do".to_owned())),
    }
}

async fn cluster_ip(testbed: &Testbed, service: &str) -> Result<String, CheckFailure> {
    let address = |it: &Value| it["spec"]["clusterIP"].as_str().map(str::to_owned);
    testbed.wait(&resources::SERVICE, service, address).await
}
