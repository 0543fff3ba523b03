//! `kvshoot nodes list`.

pub(crate) mod detail;
pub(crate) mod logs;

use crate::app::context::Context;
use crate::app::error::{CommandError, Exit, failed};
use crate::app::inspect::shoot_summary::{find_or_only, format_age};
use crate::app::provider::connect::connect;
use crate::cluster::{ApiClient, FactsScope, RecordSnapshot};
use crate::state::facts::{Facts, ObservedMachine, ShootApi};
use crate::state::names::parts;
use crate::ui::{Format, ListRow, wide_table};
use serde::Serialize;
use std::time::Duration;

/// Options of `kvshoot nodes list`.
#[derive(Debug)]
pub(crate) struct NodesOptions {
    /// Display name of the shoot; the only one of the namespace if None.
    pub(crate) name: Option<String>,
    pub(crate) pool: Option<String>,
    pub(crate) output: Format,
    pub(crate) watch: bool,
}

/// The interval of `--watch`.
const INTERVAL: Duration = Duration::from_secs(1);

/// Lists the nodes of a shoot, and with `watch` each node that changes.
pub(crate) fn list_nodes(options: &NodesOptions, context: &Context) -> Result<Exit, CommandError> {
    context.block_on(async {
        let provider = connect(context).await?;
        let record = find_or_only(&provider, options.name.as_deref(), context).await?;
        let warn = &mut |why: &str| context.ui.warn(why);
        let pool = options.pool.as_deref();
        let nodes = read(pool, &provider, &record, warn).await?;
        let none = format!("shoot {} has no machines", parts(&record.name).1);
        context.ui.list(options.output, &nodes, &none);
        if options.watch {
            watch(options, context, &provider, &record, nodes).await?;
        }
        Ok(Exit::Done)
    })?
}

/// The nodes of a shoot as text, for support bundles.
pub(crate) async fn nodes_text(
    provider: &ApiClient,
    record: &RecordSnapshot,
) -> Result<String, CommandError> {
    let mut warnings = String::new();
    let warn = &mut |why: &str| warnings += &format!("\n{why}\n");
    let nodes = read(None, provider, record, warn).await?;
    Ok(wide_table(&nodes) + &warnings)
}

async fn read(
    pool: Option<&str>,
    provider: &ApiClient,
    record: &RecordSnapshot,
    warn: &mut dyn FnMut(&str),
) -> Result<Vec<NodeRow>, CommandError> {
    let facts = node_facts(provider, record, warn).await?;
    Ok(node_rows(&facts, pool, provider.server_time()))
}

/// Reads machines and their nodes. `warn` is called if the shoot is not reachable.
pub(super) async fn node_facts(
    provider: &ApiClient,
    record: &RecordSnapshot,
    warn: &mut dyn FnMut(&str),
) -> Result<Facts, CommandError> {
    let facts = provider.list_facts(record, FactsScope::NODES);
    let facts = facts.await.map_err(failed)?;
    if let ShootApi::Unreachable(error) = &facts.shoot_api {
        warn(&format!(
            "the API server of the shoot is not reachable, showing machines only: {error}"
        ));
    }
    Ok(facts)
}

pub(super) fn node_rows(facts: &Facts, pool: Option<&str>, now: Option<i64>) -> Vec<NodeRow> {
    let machines = facts.machines().into_iter();
    let of_pool = machines.filter(|it| pool.is_none_or(|pool| *pool == **it.0));
    of_pool
        .map(|(pool, name, machine)| NodeRow::of(facts, pool, name, machine, now))
        .collect()
}

/// Prints new and changed nodes until a signal.
async fn watch(
    options: &NodesOptions,
    context: &Context,
    provider: &ApiClient,
    record: &RecordSnapshot,
    mut before: Vec<NodeRow>,
) -> Result<(), CommandError> {
    loop {
        tokio::select! {
            () = tokio::time::sleep(INTERVAL) => {}
            _ = tokio::signal::ctrl_c() => return Ok(()),
        }
        // The warning was printed once.
        let now = read(options.pool.as_deref(), provider, record, &mut |_| {}).await?;
        let changed: Vec<NodeRow> = now
            .iter()
            .filter(|node| !before.iter().any(|old| old.is_same(node)))
            .cloned()
            .collect();
        if !changed.is_empty() {
            context.ui.list(options.output, &changed, "");
        }
        before = now;
    }
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NodeRow {
    pub(super) name: String,
    pub(super) pool: String,
    pub(super) zone: String,
    pub(super) status: String,
    pub(super) ready: bool,
    roles: Vec<String>,
    /// Version of the kubelet.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) version: String,
    pub(super) addresses: Vec<String>,
    pub(super) image: String,
    /// Node of the provider cluster.
    pub(super) host: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
    #[serde(skip)]
    pub(super) age: String,
    /// Seconds since 1970.
    created: Option<i64>,
}

impl NodeRow {
    fn of(
        facts: &Facts,
        pool: &str,
        name: &str,
        machine: &ObservedMachine,
        now: Option<i64>,
    ) -> NodeRow {
        let info = facts.nodes.get(name).map(|it| &it.info);
        let own = info.and_then(|it| it.address.as_deref());
        let placement = &machine.placement;
        let others = placement.addresses.iter().map(|it| &**it);
        let addresses = own.into_iter().chain(others.filter(|it| Some(*it) != own));
        let created = i64::try_from(machine.born).ok().filter(|it| *it > 0);
        let problem = facts.node_problem(name).filter(|_| machine.runs);
        let reason = problem.or_else(|| machine.cause.clone());
        NodeRow {
            name: name.to_owned(),
            pool: pool.to_owned(),
            zone: placement.zone.to_string(),
            status: status(facts, name, machine),
            ready: facts.is_ready(name, machine.runs),
            roles: info.map_or_else(Vec::new, |info| {
                info.roles.iter().map(ToString::to_string).collect()
            }),
            version: info.map_or_else(String::new, |it| it.kubelet_version.to_string()),
            addresses: addresses.map(str::to_owned).collect(),
            image: machine.image.as_deref().unwrap_or_default().to_owned(),
            host: placement.host.as_deref().unwrap_or_default().to_owned(),
            reason: reason.map(|it| it.to_string()),
            age: format_age(created, now),
            created,
        }
    }

    /// Compares everything but the age.
    fn is_same(&self, other: &NodeRow) -> bool {
        (&self.name, &self.status, &self.addresses, &self.host)
            == (&other.name, &other.status, &other.addresses, &other.host)
    }
}

/// The status of the node as kubectl shows it, or KubeVirt's status of the machine.
fn status(facts: &Facts, name: &str, machine: &ObservedMachine) -> String {
    let node = facts.nodes.get(name);
    let is_known = facts.shoot_api == ShootApi::Reachable;
    let mut status = match node {
        Some(_) if facts.is_ready(name, machine.runs) => "Ready",
        // Ready, but not schedulable yet.
        Some(node) if machine.runs && node.info.is_kubelet_ready => "Joining",
        Some(_) => "NotReady",
        None if machine.runs && is_known => "Joining",
        None => machine.shown_status(),
    }
    .to_owned();
    if status.is_empty() {
        "Unknown".clone_into(&mut status);
    }
    if node.is_some_and(|it| it.info.cordoned) {
        status += ",SchedulingDisabled";
    }
    if machine.is_draining() {
        status += ",Leaving";
    }
    status
}

impl ListRow for NodeRow {
    fn headers() -> &'static [&'static str] {
        &[
            "NAME", "POOL", "ZONE", "STATUS", "ROLES", "VERSION", "ADDRESS", "AGE",
        ]
    }

    fn wide_headers() -> &'static [&'static str] {
        &["IMAGE", "HOST", "REASON"]
    }

    fn cells(&self) -> Vec<String> {
        let address = self.addresses.first().cloned().unwrap_or_default();
        let roles = self.roles.join(",");
        let cells = [
            &self.name,
            &self.pool,
            &self.zone,
            &self.status,
            &roles,
            &self.version,
            &address,
            &self.age,
        ];
        cells.map(String::clone).to_vec()
    }

    fn wide_cells(&self) -> Vec<String> {
        vec![
            self.image.clone(),
            self.host.clone(),
            self.reason.clone().unwrap_or_default(),
        ]
    }

    fn name(&self) -> String {
        format!("machine/{}", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::facts::{MachinePhase, NodeInfo, ObservedNode, Placement};
    use crate::state::testing;

    fn facts(status: &str, runs: bool) -> Facts {
        let machine = ObservedMachine {
            runs,
            status: status.into(),
            placement: Placement {
                addresses: ["192.0.2.9".into(), "10.0.0.1".into()].into(),
                ..Placement::default()
            },
            ..testing::machine(MachinePhase::Ready)
        };
        Facts {
            machines: [("cpu".into(), [("a".into(), machine)].into())].into(),
            shoot_api: ShootApi::Reachable,
            ..Facts::default()
        }
    }

    /// Adds the machine's node.
    fn with_node(mut facts: Facts, why: Option<&str>) -> Facts {
        let node = ObservedNode {
            serves: why.is_none(),
            why: why.unwrap_or_default().into(),
            info: NodeInfo {
                is_kubelet_ready: why != Some("no network"),
                cordoned: why.is_none(),
                address: Some("10.0.0.1".into()),
                ..NodeInfo::default()
            },
            ..testing::node()
        };
        facts.nodes.insert("a".into(), node);
        facts
    }

    fn row(facts: &Facts) -> NodeRow {
        node_rows(facts, None, None).remove(0)
    }

    #[test]
    fn a_machine_has_the_status_of_its_node() {
        let status = |facts: &Facts| row(facts).status;
        assert_eq!(status(&facts("Running", true)), "Joining");
        let unreachable = Facts {
            shoot_api: ShootApi::Unreachable("no response".into()),
            ..facts("Running", true)
        };
        assert_eq!(status(&unreachable), "Running");
        assert_eq!(status(&facts("Starting", false)), "Starting");
        let healthy = with_node(facts("Running", true), None);
        assert_eq!(status(&healthy), "Ready,SchedulingDisabled");
        let it = row(&with_node(facts("Running", true), Some("no network")));
        assert_eq!((&*it.status, it.ready), ("NotReady", false));
        assert_eq!(it.reason.as_deref(), Some("no network"));
        assert_eq!(it.addresses, ["10.0.0.1", "192.0.2.9"]);
        let uninitialized = "not initialized by the cloud controller manager";
        let uninitialized = with_node(facts("Running", true), Some(uninitialized));
        assert!(status(&uninitialized).starts_with("Joining"));
    }

    /// Its kubelet is no longer heard, but Kubernetes has not noticed yet.
    #[test]
    fn a_ready_node_of_a_stopped_machine_is_not_ready() {
        let it = row(&with_node(facts("Stopped", false), None));
        assert_eq!(
            (&*it.status, it.ready),
            ("NotReady,SchedulingDisabled", false)
        );
    }
}
