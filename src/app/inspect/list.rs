//! `kvshoot list`.

use super::shoot_summary::ShootSummary;
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit, failed};
use crate::app::provider::connect::connect;
use crate::cluster::NamespaceScope;
use crate::ui::{Format, ListRow};

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
    let (provider, records) = context.block_on(async {
        let provider = connect(context).await?;
        let records = provider.records(place).await.map_err(failed)?;
        Ok::<_, CommandError>((provider, records))
    })??;
    let now = provider.server_time();
    let shoots: Vec<ShootSummary> = records
        .iter()
        .map(|record| ShootSummary::of(record, now))
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
