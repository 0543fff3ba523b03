//! A shoot as its record tells it: what list, get and status have in common.

use super::provider::{before, failed};
use super::{CommandError, Exit};
use crate::cluster::{ApiClient, RecordSnapshot};
use crate::plan::names::{id_of, parts};
use crate::plan::record::{LAST_OPERATION, Operation};
use crate::ui::{Row, age};
use serde::Serialize;
use std::time::Duration;

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Summary {
    pub(super) name: String,
    pub(super) project: String,
    pub(super) namespace: String,
    pub(super) technical_id: String,
    pub(super) cloud_profile: String,
    pub(super) region: String,
    pub(super) kubernetes_version: String,
    pub(super) purpose: String,
    pub(super) pools: usize,
    pub(super) last_operation: Option<Operation>,
    pub(super) deleting: bool,
    #[serde(skip)]
    pub(super) age: Option<Duration>,
}

impl Summary {
    /// `now` is the server's time, in seconds since 1970.
    pub(super) fn of(record: &RecordSnapshot, now: Option<i64>) -> Summary {
        let applied = before(&record.data).map(|it| it.0);
        let shoot = applied.as_ref();
        let (project, name) = parts(&record.name);
        let profile = shoot.and_then(crate::validate::profile_named);
        Summary {
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

    /// As Gardener's table has it: `Create Succeeded (100%)`.
    pub(super) fn operation(&self) -> String {
        match &self.last_operation {
            _ if self.deleting => "Delete Processing".to_owned(),
            Some(it) => format!("{} {} ({}%)", it.kind, it.state, it.progress),
            None => "Create Processing".to_owned(),
        }
    }
}

/// A clock that lags gives no negative age.
pub(super) fn since(then: i64, now: i64) -> Duration {
    Duration::from_secs(u64::try_from(now - then).unwrap_or_default())
}

pub(super) fn shown_age(then: Option<i64>, now: Option<i64>) -> String {
    then.zip(now).map_or_else(
        || "<unknown>".to_owned(),
        |(then, now)| age(since(then, now)),
    )
}

impl Row for Summary {
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

/// The record of a shoot, or the error that there is none.
pub(super) async fn find(provider: &ApiClient, name: &str) -> Result<RecordSnapshot, CommandError> {
    let record = provider.record(&id_of(name)).await.map_err(failed)?;
    record.ok_or_else(|| {
        let message = format!(
            "there is no shoot {name} in namespace {}",
            provider.namespace()
        );
        CommandError::new(Exit::NotFound, message).hint("kvshoot list shows what is there")
    })
}

/// The shoot that is meant when none is named: the only one of the namespace.
pub(super) async fn only(
    provider: &ApiClient,
    name: Option<&str>,
) -> Result<RecordSnapshot, CommandError> {
    if let Some(name) = name {
        return find(provider, name).await;
    }
    let mut records = provider
        .records(crate::cluster::NamespaceScope::Current)
        .await
        .map_err(failed)?;
    match records.len() {
        1 => Ok(records.remove(0)),
        0 => {
            let message = format!("there are no shoots in namespace {}", provider.namespace());
            Err(CommandError::new(Exit::NotFound, message).hint("kvshoot apply -f FILE makes one"))
        }
        count => {
            let all: Vec<&str> = records.iter().map(|it| parts(&it.name).1).collect();
            let message = format!(
                "there are {count} shoots in namespace {}: {}",
                provider.namespace(),
                all.join(", ")
            );
            Err(CommandError::new(Exit::Usage, message).hint("name one of them"))
        }
    }
}
