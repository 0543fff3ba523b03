//! `kvshoot status`.

use super::health;
use super::shoot_summary::{ShootSummary, find_or_only};
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit};
use crate::app::expiry::expiry;
use crate::app::protection;
use crate::app::provider::connect::connect;
use crate::cluster::{Provider, RecordSeen};
use crate::state::conditions::Condition;
use crate::ui::Format;
use serde::Serialize;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ShootStatus {
    #[serde(flatten)]
    summary: ShootSummary,
    healthy: bool,
    /// Base URLs of the API server, external ones first.
    addresses: Vec<String>,
    /// The expiry, in RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<String>,
    /// Why the shoot cannot be deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    protection: Option<String>,
    conditions: Vec<StatusCondition>,
}

/// A condition in Gardener's format.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct StatusCondition {
    #[serde(rename = "type")]
    kind: &'static str,
    status: &'static str,
    message: String,
}

impl StatusCondition {
    fn of(condition: Condition) -> StatusCondition {
        StatusCondition {
            kind: condition.kind,
            status: if condition.is_true { "True" } else { "False" },
            message: condition.message,
        }
    }
}

/// Prints the status of a shoot. The exit code is 1 if it is not healthy.
pub(crate) fn status(
    name: Option<&str>,
    output: Format,
    context: &Context,
) -> Result<Exit, CommandError> {
    let status = context.block_on(async {
        let provider = connect(context).await?;
        let record = find_or_only(&provider, name, context).await?;
        status_of(&provider, &record).await
    })??;
    match output {
        Format::Json | Format::Yaml => context.ui.value(output, &status),
        Format::Name => context.ui.item(output, &status.summary),
        Format::Table | Format::Wide => context.ui.data(&text(&status)),
    }
    Ok(if status.healthy { Exit::Done } else { Exit::No })
}

/// The status as text, for support bundles.
pub(crate) async fn status_text(
    provider: &Provider,
    record: &RecordSeen,
) -> Result<String, CommandError> {
    Ok(text(&status_of(provider, record).await?))
}

async fn status_of(provider: &Provider, record: &RecordSeen) -> Result<ShootStatus, CommandError> {
    let conditions = health::conditions(provider, record).await?;
    let addresses = provider.shoot_addresses(&record.name).await;
    let summary = ShootSummary::of(record, provider.server_time());
    Ok(ShootStatus {
        expires: expiry(record).map(|end| format!("{end:.0}")),
        protection: protection::message(record, &summary.name),
        healthy: !summary.deleting && conditions.iter().all(|it| it.is_true),
        summary,
        // Without a control plane there are no addresses.
        addresses: addresses.unwrap_or_default(),
        conditions: conditions.into_iter().map(StatusCondition::of).collect(),
    })
}

fn text(status: &ShootStatus) -> String {
    let shoot = &status.summary;
    let mut out = format!(
        "shoot {} in namespace {}: {}\n  last operation   {}\n",
        shoot.name,
        shoot.namespace,
        if status.healthy {
            "healthy"
        } else {
            "not healthy"
        },
        shoot.operation()
    );
    for error in shoot.last_operation.iter().flat_map(|it| &it.last_errors) {
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
