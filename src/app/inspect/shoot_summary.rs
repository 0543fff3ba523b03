//! A shoot as its record describes it, for lists and status.

use crate::app::context::Context;
use crate::app::error::{CommandError, Exit, failed};
use crate::cluster::{Provider, RecordSeen, Where};
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
    pub(crate) deleting: bool,
    #[serde(skip)]
    pub(crate) age: Option<Duration>,
}

impl ShootSummary {
    /// `now` is the server's time, in seconds since 1970.
    pub(crate) fn of(record: &RecordSeen, now: Option<i64>) -> ShootSummary {
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
            deleting: record.leaving,
            age: record.created.zip(now).map(|(then, now)| since(then, now)),
        }
    }

    /// The last operation in Gardener's format: `Create Succeeded (100%)`.
    pub(crate) fn operation(&self) -> String {
        match &self.last_operation {
            _ if self.deleting => "Delete Processing".to_owned(),
            Some(it) => format!("{} {} ({}%)", it.kind, it.state, it.progress),
            None => "Create Processing".to_owned(),
        }
    }
}

/// The time between two timestamps; zero if the clock went backwards.
pub(crate) fn since(then: i64, now: i64) -> Duration {
    Duration::from_secs(u64::try_from(now - then).unwrap_or_default())
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
    provider: &Provider,
    name: &str,
    context: &Context,
) -> Result<RecordSeen, CommandError> {
    let record = provider.record(&id_of(name)).await.map_err(failed)?;
    record.ok_or_else(|| {
        let namespace = provider.namespace();
        let message = format!("shoot {name:?} not found in namespace {namespace}");
        let list = context.hint_command(&["list"]);
        CommandError::new(Exit::NotFound, message).hint(format!("list shoots: {list}"))
    })
}

/// Finds a shoot by name, or the only shoot of the namespace.
pub(crate) async fn find_or_only(
    provider: &Provider,
    name: Option<&str>,
    context: &Context,
) -> Result<RecordSeen, CommandError> {
    if let Some(name) = name {
        return find(provider, name, context).await;
    }
    let mut records = provider.records(Where::Namespace).await.map_err(failed)?;
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
