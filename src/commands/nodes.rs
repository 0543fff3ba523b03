use super::provider::{self, failed};
use super::shoots::{only, shown_age};
use super::{CommandError, Context, Exit, complete};
use crate::cluster::{MachineSeen, Provider};
use crate::ui::{Format, Row, Ui};
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
    let machines = look(args, &provider, &record.name).await?;
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

async fn look(
    args: &ListArgs,
    provider: &Provider,
    id: &str,
) -> Result<Vec<Machine>, CommandError> {
    let seen = provider.machines(id).await.map_err(failed)?;
    let now = provider.server_time();
    let of_pool = |it: &&MachineSeen| args.pool.as_ref().is_none_or(|pool| **pool == *it.pool);
    Ok(seen
        .iter()
        .filter(of_pool)
        .map(|it| Machine::of(it, now))
        .collect())
}

/// Lines for what is new or other than before; ends with a signal.
async fn watch(
    args: &ListArgs,
    context: &Context,
    provider: &Provider,
    id: &str,
    mut before: Vec<Machine>,
) -> Result<(), CommandError> {
    loop {
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            _ = tokio::signal::ctrl_c() => return Ok(()),
        }
        let now = look(args, provider, id).await?;
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

impl Machine {
    fn of(seen: &MachineSeen, now: Option<i64>) -> Machine {
        let status = if seen.draining {
            format!("{},Leaving", seen.status)
        } else {
            seen.status.to_string()
        };
        Machine {
            name: seen.name.to_string(),
            pool: seen.pool.to_string(),
            zone: seen.zone.to_string(),
            status: if status.is_empty() {
                "Unknown".to_owned()
            } else {
                status
            },
            ready: seen.ready,
            addresses: seen.addresses.iter().map(ToString::to_string).collect(),
            image: seen.image.as_deref().unwrap_or_default().to_owned(),
            host: seen.host.as_deref().unwrap_or_default().to_owned(),
            reason: seen.complaint.as_deref().map(str::to_owned),
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

impl Row for Machine {
    fn headers() -> &'static [&'static str] {
        &["NAME", "POOL", "ZONE", "STATUS", "ADDRESS", "AGE"]
    }

    fn wide_headers() -> &'static [&'static str] {
        &["IMAGE", "HOST", "REASON"]
    }

    fn cells(&self) -> Vec<String> {
        let address = self.addresses.first().cloned().unwrap_or_default();
        let cells = [
            &self.name,
            &self.pool,
            &self.zone,
            &self.status,
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
