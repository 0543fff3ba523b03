//! Checks of DNS.

use super::agents::Target;
use super::network::on_each_agent;
use super::objects::{self, HTTP_PORT, REPLICAS, WEB};
use super::outcome::{CheckFailure, CheckOutcome};
use super::testbed::Testbed;
use crate::cluster::client::resources;
use serde_json::json;
use std::collections::BTreeSet;

/// Name of the headless Service.
const HEADLESS: &str = "web-pods";

/// Every node resolves a short and a full name.
pub(super) async fn services(testbed: &Testbed) -> Result<CheckOutcome, CheckFailure> {
    let full = format!("{WEB}.{}.svc.cluster.local", testbed.namespace());
    let names = [WEB, &*full];
    let nodes = on_each_agent(testbed, async |agent| {
        for host in names {
            let target = Target::http(host, 80);
            testbed.ask(agent, target, "hostname", 1).await?.all()?;
        }
        Ok(())
    });
    let nodes = nodes.await?;
    Ok(nodes.outcome(|nodes| format!("{full} on {nodes}")))
}

/// The name of a headless Service has the addresses of its pods.
pub(super) async fn headless(testbed: &Testbed) -> Result<CheckOutcome, CheckFailure> {
    let spec = json!({ "clusterIP": "None" });
    let service = objects::service(HEADLESS, WEB, spec);
    testbed.create_object(&resources::SERVICE, &service).await?;
    let agent = testbed.agent()?;
    let host = format!("{HEADLESS}.{}.svc.cluster.local", testbed.namespace());
    let target = Target::http(&host, HTTP_PORT);
    // The name is not there at once, and servers remember for some seconds that it was not.
    testbed
        .until(async || {
            let text = testbed.shell(agent, &format!("nslookup {host}")).await?;
            let own = text
                .split_whitespace()
                .filter(|it| it.parse::<std::net::IpAddr>().is_ok());
            let own: BTreeSet<&str> = own.collect();
            let pods = testbed.pods(WEB).await?;
            let addresses = pods.iter().filter_map(|it| it["status"]["podIP"].as_str());
            let found = addresses.filter(|it| own.contains(it)).count();
            match found >= REPLICAS {
                true => Ok(()),
                false => Err(CheckFailure(format!(
                    "{host} has {found} of {REPLICAS} addresses"
                ))),
            }
        })
        .await?;
    testbed.ask(agent, target, "hostname", 1).await?.all()?;
    Ok(CheckOutcome::Passed(format!(
        "{host} has {REPLICAS} addresses"
    )))
}
