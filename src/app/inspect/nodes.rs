//! `kvshoot nodes list`.

use super::shoot_summary::{find_or_only, format_age};
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit, failed};
use crate::app::provider::connect::connect;
use crate::cluster::{MachineSeen, NodeSeen, Provider};
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
        let nodes = read(options.pool.as_deref(), &provider, &record.name, warn).await?;
        let none = format!("shoot {} has no machines", parts(&record.name).1);
        context.ui.list(options.output, &nodes, &none);
        if options.watch {
            watch(options, context, &provider, &record.name, nodes).await?;
        }
        Ok(Exit::Done)
    })?
}

/// The nodes of a shoot as text, for support bundles.
pub(crate) async fn nodes_text(provider: &Provider, id: &str) -> Result<String, CommandError> {
    let mut warnings = String::new();
    let warn = &mut |why: &str| warnings += &format!("\n{why}\n");
    let nodes = read(None, provider, id, warn).await?;
    Ok(wide_table(&nodes) + &warnings)
}

/// Reads machines and their nodes. `warn` is called if the shoot is not reachable.
async fn read(
    pool: Option<&str>,
    provider: &Provider,
    id: &str,
    warn: &mut dyn FnMut(&str),
) -> Result<Vec<NodeRow>, CommandError> {
    let (machines, shoot) = tokio::join!(provider.machines(id), provider.shoot_seen(id));
    let machines = machines.map_err(failed)?;
    let nodes = match shoot {
        Ok(shoot) => Some(shoot.nodes),
        Err(error) => {
            warn(&format!(
                "the API server of the shoot is not reachable, showing machines only: {error}"
            ));
            None
        }
    };
    let now = provider.server_time();
    let of_pool = |machine: &&MachineSeen| pool.is_none_or(|pool| *pool == *machine.pool);
    let row = |machine: &MachineSeen| {
        let node = match &nodes {
            None => Registration::Unknown,
            Some(nodes) => nodes
                .iter()
                .find(|node| node.name == machine.name)
                .map_or(Registration::Pending, Registration::Registered),
        };
        NodeRow::of(machine, node, now)
    };
    Ok(machines.iter().filter(of_pool).map(row).collect())
}

/// Prints new and changed nodes until a signal.
async fn watch(
    options: &NodesOptions,
    context: &Context,
    provider: &Provider,
    id: &str,
    mut before: Vec<NodeRow>,
) -> Result<(), CommandError> {
    loop {
        tokio::select! {
            () = tokio::time::sleep(INTERVAL) => {}
            _ = tokio::signal::ctrl_c() => return Ok(()),
        }
        // The warning was printed once.
        let now = read(options.pool.as_deref(), provider, id, &mut |_| {}).await?;
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
struct NodeRow {
    name: String,
    pool: String,
    zone: String,
    status: String,
    ready: bool,
    roles: Vec<String>,
    /// Version of the kubelet.
    #[serde(skip_serializing_if = "String::is_empty")]
    version: String,
    addresses: Vec<String>,
    image: String,
    /// Node of the provider cluster.
    host: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip)]
    age: String,
    /// Seconds since 1970.
    created: Option<i64>,
}

/// The node of a machine.
#[derive(Clone, Copy)]
enum Registration<'a> {
    /// The shoot is not reachable.
    Unknown,
    Pending,
    Registered(&'a NodeSeen),
}

impl NodeRow {
    fn of(seen: &MachineSeen, registration: Registration, now: Option<i64>) -> NodeRow {
        let node = match registration {
            Registration::Registered(node) => Some(node),
            Registration::Unknown | Registration::Pending => None,
        };
        let own = node.and_then(|it| it.address.as_deref());
        let mut addresses: Vec<String> = seen.addresses.iter().map(ToString::to_string).collect();
        if let Some(own) = own {
            addresses.retain(|it| it != own);
            addresses.insert(0, own.to_owned());
        }
        let why = node.and_then(|it| it.why.as_deref());
        let reason = why.or(seen.complaint.as_deref());
        NodeRow {
            name: seen.name.to_string(),
            pool: seen.pool.to_string(),
            zone: seen.zone.to_string(),
            status: status(seen, registration),
            ready: match registration {
                Registration::Unknown => seen.ready,
                Registration::Pending => false,
                Registration::Registered(node) => node.why.is_none(),
            },
            roles: node.map_or_else(Vec::new, |it| {
                it.roles.iter().map(ToString::to_string).collect()
            }),
            version: node.map_or_else(String::new, |it| it.version.to_string()),
            addresses,
            image: seen.image.as_deref().unwrap_or_default().to_owned(),
            host: seen.host.as_deref().unwrap_or_default().to_owned(),
            reason: reason.map(str::to_owned),
            age: format_age(seen.created, now),
            created: seen.created,
        }
    }

    /// Compares everything but the age.
    fn is_same(&self, other: &NodeRow) -> bool {
        (&self.name, &self.status, &self.addresses, &self.host)
            == (&other.name, &other.status, &other.addresses, &other.host)
    }
}

/// The status of the node as kubectl shows it, or KubeVirt's status of the machine.
fn status(seen: &MachineSeen, registration: Registration) -> String {
    let mut status = match registration {
        Registration::Registered(node) if node.why.is_none() => "Ready".to_owned(),
        // Ready, but not schedulable yet.
        Registration::Registered(node) if node.ready => "Joining".to_owned(),
        Registration::Registered(_) => "NotReady".to_owned(),
        Registration::Pending if seen.ready => "Joining".to_owned(),
        Registration::Pending | Registration::Unknown => seen.status.to_string(),
    };
    if status.is_empty() {
        "Unknown".clone_into(&mut status);
    }
    if matches!(registration, Registration::Registered(node) if node.cordoned) {
        status += ",SchedulingDisabled";
    }
    if seen.draining {
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

    fn machine(status: &str, ready: bool) -> MachineSeen {
        MachineSeen {
            name: "a".into(),
            pool: "cpu".into(),
            zone: "z1".into(),
            zone_index: 0,
            ordinal: 0,
            hash: crate::state::hash::Hash::default(),
            status: status.into(),
            ready,
            draining: false,
            host: None,
            addresses: vec!["192.0.2.9".into(), "10.0.0.1".into()],
            image: None,
            created: None,
            complaint: None,
        }
    }

    fn node(why: Option<&str>) -> NodeSeen {
        NodeSeen {
            name: "a".into(),
            ready: why != Some("no network"),
            why: why.map(Into::into),
            cordoned: why.is_none(),
            roles: vec!["worker".into()],
            version: "v1.33.1".into(),
            address: Some("10.0.0.1".into()),
            created: None,
        }
    }

    #[test]
    fn a_machine_has_the_status_of_its_node() {
        let (running, starting) = (machine("Running", true), machine("Starting", false));
        let status = |seen: &MachineSeen, joined| NodeRow::of(seen, joined, None).status;
        assert_eq!(status(&running, Registration::Pending), "Joining");
        assert_eq!(status(&running, Registration::Unknown), "Running");
        assert_eq!(status(&starting, Registration::Pending), "Starting");
        let healthy = node(None);
        assert_eq!(
            status(&running, Registration::Registered(&healthy)),
            "Ready,SchedulingDisabled"
        );
        let broken = node(Some("no network"));
        let it = NodeRow::of(&running, Registration::Registered(&broken), None);
        assert_eq!((&*it.status, it.ready), ("NotReady", false));
        assert_eq!(it.reason.as_deref(), Some("no network"));
        assert_eq!(it.addresses, ["10.0.0.1", "192.0.2.9"]);
        let unknown = node(Some("not initialized by the cloud controller manager"));
        assert!(status(&running, Registration::Registered(&unknown)).starts_with("Joining"));
    }
}
