use super::provider::{self, before, failed};
use super::shoots::{Summary, only};
use super::{CommandError, Context, Exit, complete};
use crate::ui::Format;
use clap_complete::engine::ArgValueCompleter;
use serde::Serialize;

/// Show how a cluster is; exits with 1 when it is not as it should be
#[derive(Debug, clap::Args)]
pub(super) struct StatusArgs {
    /// Name of the shoot; the only one of the namespace when absent
    #[arg(add = ArgValueCompleter::new(complete::shoots))]
    name: Option<String>,
    /// How to print it
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    output: Format,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    #[serde(flatten)]
    summary: Summary,
    healthy: bool,
    conditions: Vec<Condition>,
}

/// In the words of Gardener's conditions.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Condition {
    #[serde(rename = "type")]
    kind: &'static str,
    status: &'static str,
    message: String,
}

pub(super) fn run(args: &StatusArgs, context: &Context) -> Result<Exit, CommandError> {
    let status = context.block_on(look(args, context))??;
    match args.output {
        Format::Json | Format::Yaml => context.ui.value(args.output, &status),
        Format::Name => context.ui.item(args.output, &status.summary),
        Format::Table | Format::Wide => context.ui.data(&text(&status)),
    }
    Ok(if status.healthy { Exit::Done } else { Exit::No })
}

async fn look(args: &StatusArgs, context: &Context) -> Result<Status, CommandError> {
    let provider = provider::connect(context).await?;
    let record = only(&provider, args.name.as_deref()).await?;
    let machines = provider.machines(&record.name).await.map_err(failed)?;
    let images = provider.images(Some(&record.name)).await.map_err(failed)?;
    let wanted: i32 = before(&record.data).map_or(0, |it| {
        it.0.spec.provider.workers.iter().map(|it| it.minimum).sum()
    });
    let ready = machines.iter().filter(|it| it.ready).count();
    let reasons = machines
        .iter()
        .filter(|it| !it.ready)
        .map(|it| match &it.complaint {
            Some(complaint) => format!("{} {}: {complaint}", it.name, it.status),
            None => format!("{} {}", it.name, it.status),
        });
    let why: Vec<String> = reasons.collect();
    let enough = i32::try_from(ready).unwrap_or(i32::MAX) >= wanted;
    let machines = Condition {
        kind: "EveryMachineReady",
        status: if enough && why.is_empty() {
            "True"
        } else {
            "False"
        },
        message: match why.is_empty() {
            true => format!("{ready} of {} machines run", machines.len()),
            false => format!(
                "{ready} of {} machines run; {}",
                machines.len(),
                why.join("; ")
            ),
        },
    };
    let imported = images.iter().filter(|it| it.import.done).count();
    let images = Condition {
        kind: "ImagesImported",
        status: if imported == images.len() {
            "True"
        } else {
            "False"
        },
        message: format!("{imported} of {} images are imported", images.len()),
    };
    let summary = Summary::of(&record, provider.server_time());
    let conditions = vec![images, machines];
    Ok(Status {
        healthy: !summary.deleting && conditions.iter().all(|it| it.status == "True"),
        summary,
        conditions,
    })
}

fn text(status: &Status) -> String {
    let it = &status.summary;
    let mut out = format!(
        "shoot {} in namespace {}: {}\n  last operation   {}\n",
        it.name,
        it.namespace,
        if status.healthy {
            "healthy"
        } else {
            "not healthy"
        },
        it.operation()
    );
    for error in it.last_operation.iter().flat_map(|it| &it.last_errors) {
        out += &format!("    {}: {}\n", error.task_id, error.description);
    }
    for condition in &status.conditions {
        out += &format!(
            "  {:<18} {:<6} {}\n",
            condition.kind, condition.status, condition.message
        );
    }
    out
}
