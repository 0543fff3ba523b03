//! `kvshoot list`.

use super::shoot_summary::{RunSummary, ShootSummary};
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit, failed};
use crate::app::provider::connect::connect;
use crate::app::run::session::is_gone;
use crate::cluster::{CurrentRun, NamespaceScope, RecordSnapshot};
use crate::ui::{Format, ListRow};
use futures::future::join;

/// Lists the shoots of the namespace, or of all namespaces.
pub(crate) fn list(
    all_namespaces: bool,
    output: Format,
    context: &Context,
) -> Result<Exit, CommandError> {
    let place = match all_namespaces {
        true => NamespaceScope::All,
        false => NamespaceScope::Current,
    };
    let (provider, records, runs) = context.block_on(async {
        let provider = connect(context).await?;
        let (records, runs) = join(provider.records(place), provider.current_runs(place)).await;
        // Readers of records may lack the permission to list leases.
        let runs = runs.unwrap_or_default();
        Ok::<_, CommandError>((provider, records.map_err(failed)?, runs))
    })??;
    let now = provider.server_time();
    let is_gone = is_gone(context.config.identity());
    let run_of = |record: &RecordSnapshot| {
        let is_of = |it: &&CurrentRun| it.namespace == record.namespace && it.id == record.name;
        let run = runs.iter().find(is_of)?;
        Some(RunSummary::of(run.clone(), &is_gone))
    };
    let shoots: Vec<ShootSummary> = records
        .iter()
        .map(|record| ShootSummary::of(record, now).with_run(run_of(record)))
        .collect();
    let none = match all_namespaces {
        true => "no shoots found".to_owned(),
        false => format!("no shoots in namespace {}", provider.namespace()),
    };
    match all_namespaces && matches!(output, Format::Table | Format::Wide) {
        true => {
            let shoots: Vec<_> = shoots.into_iter().map(WithNamespace).collect();
            context.ui.list(output, &shoots, &none);
        }
        false => context.ui.list(output, &shoots, &none),
    }
    Ok(Exit::Done)
}

/// A row with the namespace as the first column.
#[derive(Debug, serde::Serialize)]
struct WithNamespace(ShootSummary);

impl ListRow for WithNamespace {
    fn headers() -> &'static [&'static str] {
        &[
            "NAMESPACE",
            "NAME",
            "CLOUDPROFILE",
            "REGION",
            "K8S-VERSION",
            "LAST-OPERATION",
            "AGE",
        ]
    }

    fn wide_headers() -> &'static [&'static str] {
        ShootSummary::wide_headers()
    }

    fn cells(&self) -> Vec<String> {
        [self.0.namespace.clone()]
            .into_iter()
            .chain(self.0.cells())
            .collect()
    }

    fn wide_cells(&self) -> Vec<String> {
        self.0.wide_cells()
    }

    fn name(&self) -> String {
        self.0.name()
    }
}
