//! A shoot as its record describes it, for lists and status.

use crate::app::context::Context;
use crate::app::error::{CommandError, Exit, failed};
use crate::app::inspect::recorded_hibernation::hibernation;
use crate::cluster::{ApiClient, CurrentRun, NamespaceScope, RecordSnapshot};
use crate::load::last_applied;
use crate::state::names::{id_of, parts};
use crate::state::record::{LAST_OPERATION, Operation};
use crate::ui::{ListRow, age};
use serde::Serialize;
use std::time::Duration;

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ShootSummary {
    pub(crate) name: String,
    pub(crate) project: String,
    pub(crate) namespace: String,
    pub(crate) technical_id: String,
    pub(crate) cloud_profile: String,
    pub(crate) region: String,
    pub(crate) kubernetes_version: String,
    pub(crate) purpose: String,
    pub(crate) pools: usize,
    pub(crate) last_operation: Option<Operation>,
    /// The run in progress, or one that was killed. Absent if leases may not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) run: Option<RunSummary>,
    pub(crate) deleting: bool,
    /// Hibernating or Hibernated; absent while the shoot is to be awake.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hibernation: Option<&'static str>,
    #[serde(skip)]
    pub(crate) age: Option<Duration>,
}

/// A run that works on a shoot, or did when it was killed.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunSummary {
    /// The subcommand.
    pub(crate) verb: String,
    /// User, host and run.
    pub(crate) holder: String,
    pub(crate) active: bool,
    /// Items done, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) progress: Option<u8>,
}

impl RunSummary {
    /// `is_gone` returns true for the identity of a process of this computer that has ended.
    pub(crate) fn of(run: CurrentRun, is_gone: impl Fn(&str) -> bool) -> RunSummary {
        RunSummary {
            active: run.is_fresh && !is_gone(&run.identity),
            verb: run.verb,
            holder: run.holder,
            progress: run.percent,
        }
    }
}

impl ShootSummary {
    /// The same shoot with its run.
    pub(crate) fn with_run(self, run: Option<RunSummary>) -> ShootSummary {
        ShootSummary { run, ..self }
    }

    /// `now` is the server's time, in seconds since 1970.
    pub(crate) fn of(record: &RecordSnapshot, now: Option<i64>) -> ShootSummary {
        let applied = last_applied(&record.data).map(|it| it.0);
        let shoot = applied.as_ref();
        let (project, name) = parts(&record.name);
        let profile = shoot.and_then(crate::validate::profile_named);
        ShootSummary {
            name: name.to_owned(),
            project: project.to_owned(),
            namespace: record.namespace.to_string(),
            technical_id: record.name.to_string(),
            cloud_profile: profile.unwrap_or_default().to_owned(),
            region: shoot.map(|it| it.spec.region.clone()).unwrap_or_default(),
            kubernetes_version: shoot
                .map(|it| it.spec.kubernetes.version.clone())
                .unwrap_or_default(),
            purpose: shoot
                .and_then(|it| it.spec.purpose.clone())
                .unwrap_or_else(|| "evaluation".to_owned()),
            pools: shoot.map_or(0, |it| it.spec.provider.workers.len()),
            last_operation: record
                .data
                .get(LAST_OPERATION)
                .and_then(|it| serde_json::from_str(it).ok()),
            run: None,
            deleting: record.leaving,
            hibernation: hibernation_phase(record),
            age: record.created.zip(now).map(|(then, now)| since(then, now)),
        }
    }

    /// Returns true if everything is stopped, and is to be.
    pub(crate) fn is_hibernated(&self) -> bool {
        self.hibernation == Some(HIBERNATED)
    }

    /// The last operation in Gardener's format: `Create Succeeded (100%)`. A run that was killed is `Aborted`, and a shoot
    /// that is stopped `Hibernated`.
    pub(crate) fn operation(&self) -> String {
        let Some(run) = &self.run else {
            return match &self.last_operation {
                _ if self.deleting => "Delete Processing".to_owned(),
                Some(_) if self.hibernation == Some(HIBERNATED) => HIBERNATED.to_owned(),
                Some(it) => format!("{} {} ({}%)", it.kind, it.state, it.progress),
                None => "Create Processing".to_owned(),
            };
        };
        let kind = match &self.last_operation {
            _ if self.deleting || run.verb == "delete" => "Delete",
            Some(_) => "Reconcile",
            None => "Create",
        };
        let state = if run.active { "Processing" } else { "Aborted" };
        let progress = run.progress.map(|it| format!(" ({it}%)"));
        format!("{kind} {state}{}", progress.unwrap_or_default())
    }

    /// The run in words; None without one.
    pub(crate) fn describe_run(&self) -> Option<String> {
        let run = self.run.as_ref()?;
        Some(match run.active {
            true => format!("{} by {} in progress", run.verb, run.holder),
            false => format!(
                "{} by {} was killed; run the same command again to resume",
                run.verb, run.holder
            ),
        })
    }
}

const HIBERNATED: &str = "Hibernated";

/// None while the shoot is to be awake, and if the record is not readable.
fn hibernation_phase(record: &RecordSnapshot) -> Option<&'static str> {
    let hibernation = hibernation(record).ok().filter(|it| it.enabled)?;
    Some(match hibernation.complete {
        true => HIBERNATED,
        false => "Hibernating",
    })
}

/// The time between two timestamps; zero if the clock went backwards.
pub(crate) fn since(then: i64, now: i64) -> Duration {
    Duration::from_secs(u64::try_from(now.saturating_sub(then)).unwrap_or_default())
}

/// The age of an object, or `<unknown>`.
pub(crate) fn format_age(then: Option<i64>, now: Option<i64>) -> String {
    then.zip(now).map_or_else(
        || "<unknown>".to_owned(),
        |(then, now)| age(since(then, now)),
    )
}

impl ListRow for ShootSummary {
    fn headers() -> &'static [&'static str] {
        &[
            "NAME",
            "CLOUDPROFILE",
            "REGION",
            "K8S-VERSION",
            "LAST-OPERATION",
            "AGE",
        ]
    }

    fn wide_headers() -> &'static [&'static str] {
        &["PROJECT", "PURPOSE", "POOLS", "TECHNICAL-ID"]
    }

    fn cells(&self) -> Vec<String> {
        let age = self.age.map_or_else(|| "<unknown>".to_owned(), age);
        vec![
            self.name.clone(),
            self.cloud_profile.clone(),
            self.region.clone(),
            self.kubernetes_version.clone(),
            self.operation(),
            age,
        ]
    }

    fn wide_cells(&self) -> Vec<String> {
        vec![
            self.project.clone(),
            self.purpose.clone(),
            self.pools.to_string(),
            self.technical_id.clone(),
        ]
    }

    fn name(&self) -> String {
        format!("shoot.core.gardener.cloud/{}", self.name)
    }
}

/// # Errors
///
/// The shoot does not exist, or its record cannot be read.
pub(crate) async fn find(
    provider: &ApiClient,
    name: &str,
    context: &Context,
) -> Result<RecordSnapshot, CommandError> {
    let record = provider.record(&id_of(name)).await.map_err(failed)?;
    record.ok_or_else(|| {
        let namespace = provider.namespace();
        let message = format!("shoot {name:?} not found in namespace {namespace}");
        let list = context.hint_command(&["list"]);
        let restore = context.hint_command(&["restore", name, "--from", "DEST"]);
        CommandError::new(Exit::NotFound, message)
            .hint(format!("list shoots: {list}"))
            .hint(format!("bring a lost one back from a backup: {restore}"))
    })
}

/// Finds a shoot by name, or the only shoot of the namespace.
pub(crate) async fn find_or_only(
    provider: &ApiClient,
    name: Option<&str>,
    context: &Context,
) -> Result<RecordSnapshot, CommandError> {
    if let Some(name) = name {
        return find(provider, name, context).await;
    }
    let mut records = provider
        .records(NamespaceScope::Current)
        .await
        .map_err(failed)?;
    match records.len() {
        1 => Ok(records.remove(0)),
        0 => {
            let message = format!("no shoots in namespace {}", provider.namespace());
            let apply = context.hint_command(&["apply", "-f", "FILE"]);
            Err(CommandError::new(Exit::NotFound, message).hint(format!("create one: {apply}")))
        }
        count => {
            let all: Vec<&str> = records.iter().map(|it| parts(&it.name).1).collect();
            let message = format!(
                "namespace {} has {count} shoots: {}",
                provider.namespace(),
                all.join(", ")
            );
            Err(CommandError::new(Exit::Usage, message).hint("pass the name of one of them"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn summary(last_operation: Option<&str>, run: Option<(&str, bool, Option<u8>)>) -> String {
        let operation = last_operation.map(|it| {
            let text = format!(
                r#"{{"type": "Create", "state": "{it}", "progress": 100, "description": "", "lastUpdateTime": ""}}"#
            );
            (LAST_OPERATION.to_owned(), text)
        });
        let record = RecordSnapshot {
            namespace: "lab".into(),
            name: "shoot--local--dev".into(),
            uid: "1".into(),
            version: "1".into(),
            created: None,
            leaving: false,
            annotations: BTreeMap::new(),
            data: operation.into_iter().collect(),
        };
        let run = run.map(|(verb, active, progress)| RunSummary {
            verb: verb.to_owned(),
            holder: "ann@host, run 1".to_owned(),
            active,
            progress,
        });
        ShootSummary::of(&record, None).with_run(run).operation()
    }

    #[test]
    fn the_operation_of_a_run_in_progress_replaces_the_last_one() {
        let rolls = Some(("apply", true, Some(40)));
        assert_eq!(summary(Some("Succeeded"), None), "Create Succeeded (100%)");
        assert_eq!(
            summary(Some("Succeeded"), rolls),
            "Reconcile Processing (40%)"
        );
        assert_eq!(
            summary(None, Some(("apply", true, None))),
            "Create Processing"
        );
        let delete = Some(("delete", true, Some(7)));
        assert_eq!(summary(Some("Succeeded"), delete), "Delete Processing (7%)");
    }

    #[test]
    fn a_run_that_was_killed_is_aborted() {
        let killed = Some(("apply", false, Some(40)));
        assert_eq!(summary(None, killed), "Create Aborted (40%)");
        assert_eq!(
            summary(Some("Succeeded"), killed),
            "Reconcile Aborted (40%)"
        );
    }
}
