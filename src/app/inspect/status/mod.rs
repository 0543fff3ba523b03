//! `kvshoot status`.

mod backup;
mod etcd;
mod size;
mod version;

use self::backup::BackupStatus;
use self::size::SizeStatus;
use self::version::VersionStatus;
use super::health;
use super::recorded_hibernation::hibernation;
use super::shoot_summary::{RunSummary, ShootSummary, find_or_only};
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit, failed};
use crate::app::expiry::expiry;
use crate::app::protection;
use crate::app::provider::connect::connect;
use crate::app::rotate;
use crate::app::run::session::is_gone;
use crate::cluster::{ApiClient, CurrentKeeper, RecordSnapshot};
use crate::state::conditions::Condition;
use crate::state::printable::one_line;
use crate::state::record::rotation::{Credential, Rotation};
use crate::ui::Format;
use serde::Serialize;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ShootStatus {
    #[serde(flatten)]
    summary: ShootSummary,
    healthy: bool,
    #[serde(flatten)]
    backups: BackupStatus,
    /// Base URLs of the API server, external ones first.
    addresses: Vec<String>,
    /// The expiry, in RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<String>,
    /// The `kvshoot keep` that takes care of the shoot.
    #[serde(skip_serializing_if = "Option::is_none")]
    keeper: Option<KeeperStatus>,
    /// Why the shoot cannot be deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    protection: Option<String>,
    /// Sizes of pools that the manifest leaves open.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sizes: Vec<SizeStatus>,
    /// The rotations of roots and keys.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rotations: Vec<RotationStatus>,
    conditions: Vec<StatusCondition>,
    #[serde(flatten)]
    version: VersionStatus,
    /// Lines about etcd and its members, if they were asked for.
    #[serde(skip)]
    etcd: Vec<String>,
    /// Time of the server, in seconds since 1970.
    #[serde(skip)]
    now: Option<i64>,
}

/// The `kvshoot keep` of a shoot.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct KeeperStatus {
    /// User, host and run.
    holder: String,
    /// RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<String>,
}

impl KeeperStatus {
    fn of(keeper: CurrentKeeper) -> KeeperStatus {
        KeeperStatus {
            holder: keeper.holder,
            since: keeper.since.map(|it| format!("{it:.0}")),
        }
    }

    fn text(&self) -> String {
        match &self.since {
            Some(since) => format!("by {} since {since}", self.holder),
            None => format!("by {}", self.holder),
        }
    }
}

/// The rotation of a root or key.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct RotationStatus {
    credential: &'static str,
    /// Preparing, Prepared, Completing or Completed.
    phase: &'static str,
    message: String,
}

impl RotationStatus {
    fn of(credential: Credential, rotation: &Rotation, shoot: &str) -> RotationStatus {
        let mut message = rotate::describe(credential, Some(rotation));
        if let Some(next) = rotate::next_step(credential, Some(rotation.step)) {
            message +=
                &format!("; {next}, then run: kvshoot rotate {shoot} {credential} --complete");
        }
        RotationStatus {
            credential: credential.name(),
            phase: rotation.step.phase(),
            message,
        }
    }
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

/// Prints the status of a shoot. The exit code is 1 if it is neither healthy nor hibernated.
pub(crate) fn status(
    name: Option<&str>,
    output: Format,
    context: &Context,
) -> Result<Exit, CommandError> {
    let status = context.block_on(async {
        let provider = connect(context).await?;
        let record = find_or_only(&provider, name, context).await?;
        let is_gone = is_gone(context.config.identity());
        let mut status = status_of(&provider, &record, is_gone).await?;
        if matches!(output, Format::Wide) {
            let etcd = provider.observe_etcd(&record.name).await.map_err(failed)?;
            status.etcd = etcd::lines(&etcd);
        }
        Ok::<_, CommandError>(status)
    })??;
    match output {
        Format::Json | Format::Yaml => context.ui.value(output, &status),
        Format::Name => context.ui.item(output, &status.summary),
        Format::Table | Format::Wide => context.ui.data(&text(&status)),
    }
    let backup = status.backups.warning(&status.summary.name, status.now);
    for warning in backup.iter().chain(&status.version.warnings) {
        context.ui.warn(warning);
    }
    let is_well = status.healthy || status.summary.is_hibernated();
    Ok(if is_well { Exit::Done } else { Exit::No })
}

/// The status as text, for support bundles.
pub(crate) async fn status_text(
    provider: &ApiClient,
    record: &RecordSnapshot,
) -> Result<String, CommandError> {
    // The lease of a run that was killed expires soon.
    Ok(text(&status_of(provider, record, |_| false).await?))
}

async fn status_of(
    provider: &ApiClient,
    record: &RecordSnapshot,
    is_gone: impl Fn(&str) -> bool,
) -> Result<ShootStatus, CommandError> {
    let conditions = health::conditions(provider, record).await?;
    let addresses = provider.shoot_urls(&record.name).await;
    let run = provider.current_run(&record.name).await.ok().flatten();
    let run = run.map(|it| RunSummary::of(it, is_gone));
    let summary = ShootSummary::of(record, provider.server_time()).with_run(run);
    let rotations = rotate::rotations(record)?.rotations;
    let rotations = rotations
        .iter()
        .map(|(credential, it)| RotationStatus::of(*credential, it, &summary.name));
    let rotations = rotations.collect();
    let backups = BackupStatus::of(record, &hibernation(record).unwrap_or_default());
    // A role may not allow to list leases.
    let keeper = provider.keeper(&record.name).await.ok();
    let is_kept = keeper.as_ref().map(Option::is_some);
    Ok(ShootStatus {
        expires: expiry(record).map(|end| format!("{end:.0}")),
        keeper: keeper.flatten().map(KeeperStatus::of),
        protection: protection::message(record, &summary.name),
        backups,
        healthy: !summary.deleting && conditions.iter().all(|it| it.is_true),
        summary,
        // Without a control plane there are no addresses.
        addresses: addresses.unwrap_or_default(),
        sizes: SizeStatus::all(record, is_kept),
        rotations,
        conditions: conditions.into_iter().map(StatusCondition::of).collect(),
        version: VersionStatus::of(record, provider.server_time()),
        etcd: Vec::new(),
        now: provider.server_time(),
    })
}

fn text(status: &ShootStatus) -> String {
    let shoot = &status.summary;
    let mut out = format!(
        "shoot {} in namespace {}: {}\n  last operation   {}\n",
        one_line(&shoot.name),
        one_line(&shoot.namespace),
        match status.healthy {
            true => "healthy",
            false if shoot.is_hibernated() => "hibernated",
            false => "not healthy",
        },
        one_line(&shoot.operation())
    );
    if let Some(run) = shoot.describe_run() {
        out += &format!("  run              {}\n", one_line(&run));
    }
    for error in shoot.last_operation.iter().flat_map(|it| &it.last_errors) {
        let description = one_line(&error.description);
        out += &format!("    {}: {description}\n", one_line(&error.task_id));
    }
    if let Some(end) = &status.expires {
        out += &format!("  expires          {end}\n");
    }
    if let Some(keeper) = &status.keeper {
        out += &format!("  kept             {}\n", one_line(&keeper.text()));
    }
    if let Some(protection) = &status.protection {
        out += &format!("  {}\n", one_line(protection));
    }
    let expires = status.expires.is_some();
    if let Some(backup) = status.backups.text(&shoot.name, expires, status.now) {
        out += &format!("  backup           {backup}\n");
    }
    out += &status.version.text();
    if !status.addresses.is_empty() {
        out += &format!(
            "  API server       {}\n",
            one_line(&status.addresses.join(", "))
        );
    }
    for it in &status.sizes {
        out += &format!("  size             {}\n", it.text());
    }
    for rotation in &status.rotations {
        out += &format!("  rotation         {}\n", one_line(&rotation.message));
    }
    for (number, line) in status.etcd.iter().enumerate() {
        let title = if number == 0 { "etcd" } else { "" };
        out += &format!("  {title:<16} {}\n", one_line(line));
    }
    for condition in &status.conditions {
        out += &format!(
            "  {:<24} {:<6} {}\n",
            condition.kind,
            condition.status,
            one_line(&condition.message)
        );
    }
    out
}
