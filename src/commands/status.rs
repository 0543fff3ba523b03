use super::protect::protection;
use super::provider;
use super::shoots::{Summary, only};
use super::ttl::expiry;
use super::{CommandError, Context, Exit, complete, health};
use crate::cluster::{ApiClient, RecordSnapshot};
use crate::plan::health::Condition as Found;
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
    /// Base URLs of the API server, the outer one first.
    addresses: Vec<String>,
    /// When gc takes it, in RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<String>,
    /// Why it may not be deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    protection: Option<String>,
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

impl Condition {
    fn of(found: Found) -> Condition {
        Condition {
            kind: found.kind,
            status: if found.is_true { "True" } else { "False" },
            message: found.message,
        }
    }
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
    of(&provider, &record).await
}

/// As a person reads it.
pub(super) async fn told(
    provider: &ApiClient,
    record: &RecordSnapshot,
) -> Result<String, CommandError> {
    Ok(text(&of(provider, record).await?))
}

async fn of(provider: &ApiClient, record: &RecordSnapshot) -> Result<Status, CommandError> {
    let found = health::look(provider, record).await?;
    let addresses = provider.shoot_urls(&record.name).await;
    let summary = Summary::of(record, provider.server_time());
    Ok(Status {
        expires: expiry(record).map(|it| format!("{it:.0}")),
        protection: protection(record, &summary.name),
        healthy: !summary.deleting && found.iter().all(|it| it.is_true),
        summary,
        // Without a control plane there are none.
        addresses: addresses.unwrap_or_default(),
        conditions: found.into_iter().map(Condition::of).collect(),
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
    if let Some(end) = &status.expires {
        out += &format!("  expires          {end}\n");
    }
    if let Some(protection) = &status.protection {
        out += &format!("  {protection}\n");
    }
    if !status.addresses.is_empty() {
        out += &format!("  API server       {}\n", status.addresses.join(", "));
    }
    for condition in &status.conditions {
        out += &format!(
            "  {:<24} {:<6} {}\n",
            condition.kind, condition.status, condition.message
        );
    }
    out
}
