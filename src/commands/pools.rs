use super::provider::{self, before, failed};
use super::shoots::only;
use super::{CommandError, Context, Exit, complete};
use crate::cluster::MachineSnapshot;
use crate::model::Worker;
use crate::ui::{Format, Row};
use clap_complete::engine::ArgValueCompleter;
use serde::Serialize;

/// Work with the pools of a cluster
#[derive(Debug, clap::Args)]
pub(super) struct PoolsArgs {
    #[command(subcommand)]
    command: PoolsCommand,
}

#[derive(Debug, clap::Subcommand)]
enum PoolsCommand {
    List(ListArgs),
}

/// List the pools of a cluster, with how many of their machines run
#[derive(Debug, clap::Args)]
#[command(visible_alias = "ls")]
struct ListArgs {
    /// Name of the shoot; the only one of the namespace when absent
    #[arg(add = ArgValueCompleter::new(complete::shoots))]
    name: Option<String>,
    /// How to print them
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    output: Format,
}

pub(super) fn run(args: &PoolsArgs, context: &Context) -> Result<Exit, CommandError> {
    let PoolsCommand::List(args) = &args.command;
    let pools = context.block_on(async {
        let provider = provider::connect(context).await?;
        let record = only(&provider, args.name.as_deref()).await?;
        let machines = provider.machines(&record.name).await.map_err(failed)?;
        let workers = before(&record.data)
            .map(|it| it.0.spec.provider.workers)
            .unwrap_or_default();
        Ok::<_, CommandError>(
            workers
                .iter()
                .map(|it| Pool::of(it, &machines))
                .collect::<Vec<_>>(),
        )
    })??;
    context.ui.list(args.output, &pools, "there are no pools");
    Ok(Exit::Done)
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Pool {
    name: String,
    machine_type: String,
    image: String,
    zones: Vec<String>,
    minimum: i32,
    maximum: i32,
    machines: usize,
    ready: usize,
}

impl Pool {
    fn of(worker: &Worker, machines: &[MachineSnapshot]) -> Pool {
        let own = || machines.iter().filter(|it| *it.pool == *worker.name);
        let image = worker.machine.image.as_ref();
        Pool {
            name: worker.name.clone(),
            machine_type: worker.machine.type_.clone(),
            image: image
                .map(|it| [it.name.as_str(), it.version.as_deref().unwrap_or_default()].join(" "))
                .unwrap_or_default(),
            zones: worker.zones.clone(),
            minimum: worker.minimum,
            maximum: worker.maximum,
            machines: own().count(),
            ready: own().filter(|it| it.ready).count(),
        }
    }
}

impl Row for Pool {
    fn headers() -> &'static [&'static str] {
        &[
            "NAME", "TYPE", "IMAGE", "ZONES", "MIN", "MAX", "MACHINES", "READY",
        ]
    }

    fn cells(&self) -> Vec<String> {
        let numbers = [
            self.minimum.to_string(),
            self.maximum.to_string(),
            self.machines.to_string(),
            self.ready.to_string(),
        ];
        let texts = [
            self.name.clone(),
            self.machine_type.clone(),
            self.image.clone(),
            self.zones.join(","),
        ];
        texts.into_iter().chain(numbers).collect()
    }

    fn name(&self) -> String {
        format!("pool/{}", self.name)
    }
}
