use super::provider::{self, failed};
use super::shoots::{only, shown_age};
use super::{CommandError, Context, Exit, complete};
use crate::cluster::{ApiClient, MachineSnapshot, NodeSnapshot};
use crate::ui::{Format, Row, Ui, wide};
use clap_complete::engine::ArgValueCompleter;
use serde::Serialize;
use std::time::Duration;

/// Work with the machines of a cluster
#[derive(Debug, clap::Args)]
pub(super) struct NodesArgs {
    #[command(subcommand)]
    command: NodesCommand,
}

#[derive(Debug, clap::Subcommand)]
enum NodesCommand {
    List(ListArgs),
}

/// List the machines of a cluster, with where they are and how
#[derive(Debug, clap::Args)]
#[command(visible_alias = "ls")]
struct ListArgs {
    /// Name of the shoot; the only one of the namespace when absent
    #[arg(add = ArgValueCompleter::new(complete::shoots))]
    name: Option<String>,
    /// Those of one pool
    #[arg(long, value_name = "NAME", add = ArgValueCompleter::new(complete::pools))]
    pool: Option<String>,
    /// How to print them
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    output: Format,
    /// Go on, and print each machine that changes
    #[arg(short, long)]
    watch: bool,
}

/// How often `--watch` looks.
const LOOK: Duration = Duration::from_secs(1);

pub(super) fn run(args: &NodesArgs, context: &Context) -> Result<Exit, CommandError> {
    let NodesCommand::List(args) = &args.command;
    context.block_on(list(args, context))?
}

async fn list(args: &ListArgs, context: &Context) -> Result<Exit, CommandError> {
    let provider = provider::connect(context).await?;
    let record = only(&provider, args.name.as_deref()).await?;
    let warn = &mut |why: &str| context.ui.warn(why);
    let machines = look(args.pool.as_deref(), &provider, &record.name, warn).await?;
    context.ui.list(
        args.output,
        &machines,
        &format!(
            "shoot {} has no machines",
            crate::plan::names::parts(&record.name).1
        ),
    );
    if args.watch {
        watch(args, context, &provider, &record.name, machines).await?;
    }
    Ok(Exit::Done)
}

/// As a person reads it, with all there is to say.
pub(super) async fn told(provider: &ApiClient, id: &str) -> Result<String, CommandError> {
    let mut warnings = String::new();
    let warn = &mut |why: &str| warnings += &format!("\n{why}\n");
    let machines = look(None, provider, id, warn).await?;
    Ok(wide(&machines) + &warnings)
}

/// Machines with the nodes that they are; `tell` hears when the shoot cannot be asked.
async fn look(
    pool: Option<&str>,
    provider: &ApiClient,
    id: &str,
    tell: &mut dyn FnMut(&str),
) -> Result<Vec<Machine>, CommandError> {
    let (machines, shoot) = tokio::join!(provider.machines(id), provider.shoot_snapshot(id));
    let machines = machines.map_err(failed)?;
    let nodes = match shoot {
        Ok(shoot) => Some(shoot.nodes),
        Err(error) => {
            tell(&format!(
                "the shoot cannot be asked, so these are its machines only: {error}"
            ));
            None
        }
    };
    let now = provider.server_time();
    let of_pool = |it: &&MachineSnapshot| pool.is_none_or(|pool| *pool == *it.pool);
    let joined = |machine: &MachineSnapshot| {
        let node = nodes.as_ref().map(|it| {
            let same = it.iter().find(|it| it.name == machine.name);
            same.map_or(Joined::NotYet, Joined::As)
        });
        Machine::of(machine, node.unwrap_or(Joined::Unknown), now)
    };
    Ok(machines.iter().filter(of_pool).map(joined).collect())
}

/// Lines for what is new or other than before; ends with a signal.
async fn watch(
    args: &ListArgs,
    context: &Context,
    provider: &ApiClient,
    id: &str,
    mut before: Vec<Machine>,
) -> Result<(), CommandError> {
    loop {
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            _ = tokio::signal::ctrl_c() => return Ok(()),
        }
        // It was told once.
        let now = look(args.pool.as_deref(), provider, id, &mut |_| {}).await?;
        let changed: Vec<Machine> = now
            .iter()
            .filter(|it| !before.iter().any(|old| old.is_same(it)))
            .cloned()
            .collect();
        tell(&context.ui, args.output, &changed);
        before = now;
    }
}

fn tell(ui: &Ui, format: Format, machines: &[Machine]) {
    if !machines.is_empty() {
        ui.list(format, machines, "");
    }
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Machine {
    name: String,
    pool: String,
    zone: String,
    status: String,
    ready: bool,
    roles: Vec<String>,
    /// Of the kubelet.
    #[serde(skip_serializing_if = "String::is_empty")]
    version: String,
    addresses: Vec<String>,
    image: String,
    /// Host in the provider cluster.
    host: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip)]
    age: String,
    /// Seconds since 1970.
    created: Option<i64>,
}

/// What the shoot knows of a machine.
#[derive(Clone, Copy)]
enum Joined<'a> {
    /// Nobody could be asked.
    Unknown,
    NotYet,
    As(&'a NodeSnapshot),
}

impl Machine {
    fn of(seen: &MachineSnapshot, joined: Joined, now: Option<i64>) -> Machine {
        let node = match joined {
            Joined::As(node) => Some(node),
            Joined::Unknown | Joined::NotYet => None,
        };
        let own = node.and_then(|it| it.address.as_deref());
        let mut addresses: Vec<String> = seen.addresses.iter().map(ToString::to_string).collect();
        if let Some(own) = own {
            addresses.retain(|it| it != own);
            addresses.insert(0, own.to_owned());
        }
        let why = node.and_then(|it| it.why.as_deref());
        let reason = why.or(seen.complaint.as_deref());
        Machine {
            name: seen.name.to_string(),
            pool: seen.pool.to_string(),
            zone: seen.zone.to_string(),
            status: status(seen, joined),
            ready: match joined {
                Joined::Unknown => seen.ready,
                Joined::NotYet => false,
                Joined::As(node) => node.why.is_none(),
            },
            roles: node.map_or_else(Vec::new, |it| {
                it.roles.iter().map(ToString::to_string).collect()
            }),
            version: node.map_or_else(String::new, |it| it.version.to_string()),
            addresses,
            image: seen.image.as_deref().unwrap_or_default().to_owned(),
            host: seen.host.as_deref().unwrap_or_default().to_owned(),
            reason: reason.map(str::to_owned),
            age: shown_age(seen.created, now),
            created: seen.created,
        }
    }

    /// But for its age.
    fn is_same(&self, other: &Machine) -> bool {
        (&self.name, &self.status, &self.addresses, &self.host)
            == (&other.name, &other.status, &other.addresses, &other.host)
    }
}

/// As kubectl tells a node; KubeVirt's word where there is none yet.
fn status(seen: &MachineSnapshot, joined: Joined) -> String {
    let mut status = match joined {
        Joined::As(node) if node.why.is_none() => "Ready".to_owned(),
        // Nobody may be put there yet.
        Joined::As(node) if node.ready => "Joining".to_owned(),
        Joined::As(_) => "NotReady".to_owned(),
        Joined::NotYet if seen.ready => "Joining".to_owned(),
        Joined::NotYet | Joined::Unknown => seen.status.to_string(),
    };
    if status.is_empty() {
        "Unknown".clone_into(&mut status);
    }
    if matches!(joined, Joined::As(node) if node.cordoned) {
        status += ",SchedulingDisabled";
    }
    if seen.draining {
        status += ",Leaving";
    }
    status
}

impl Row for Machine {
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

    fn machine(status: &str, ready: bool) -> MachineSnapshot {
        MachineSnapshot {
            name: "a".into(),
            pool: "cpu".into(),
            zone: "z1".into(),
            zone_index: 0,
            ordinal: 0,
            hash: crate::plan::Hash::default(),
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

    fn node(why: Option<&str>) -> NodeSnapshot {
        NodeSnapshot {
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
    fn a_machine_is_told_as_the_node_that_it_is() {
        let (running, starting) = (machine("Running", true), machine("Starting", false));
        let told = |seen: &MachineSnapshot, joined| Machine::of(seen, joined, None).status;
        assert_eq!(told(&running, Joined::NotYet), "Joining");
        assert_eq!(told(&running, Joined::Unknown), "Running");
        assert_eq!(told(&starting, Joined::NotYet), "Starting");
        let well = node(None);
        assert_eq!(
            told(&running, Joined::As(&well)),
            "Ready,SchedulingDisabled"
        );
        let ill = node(Some("no network"));
        let it = Machine::of(&running, Joined::As(&ill), None);
        assert_eq!((&*it.status, it.ready), ("NotReady", false));
        assert_eq!(it.reason.as_deref(), Some("no network"));
        assert_eq!(it.addresses, ["10.0.0.1", "192.0.2.9"]);
        let unknown = node(Some("the cloud controller manager to know it"));
        assert!(told(&running, Joined::As(&unknown)).starts_with("Joining"));
    }
}
