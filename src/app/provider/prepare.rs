//! Manifests judged against the provider cluster that they are for.

use super::connect::connect_for;
use crate::app::context::Context;
use crate::app::error::{CommandError, failed};
use crate::app::manifests::files::{SourceTexts, load_context};
use crate::app::manifests::report::accept;
use crate::cluster::{ApiClient, Error};
use crate::load::{
    FetchedValues, LastApplied, LoadContext, Loaded, Needs, judge, last_applied, needs,
    provider_credentials,
};
use crate::manifest::Manifest;
use crate::model::{KeyReference, ReferenceKind};
use crate::validate::machine_deployment::ResolvedValue;
use std::collections::HashMap;

/// Manifests judged against what was last applied, and their provider cluster.
pub(crate) struct Prepared {
    pub(crate) provider: ApiClient,
    pub(crate) loaded: Loaded,
    /// Shoots that already exist, by technical ID.
    pub(crate) records: HashMap<String, LastApplied>,
}

/// Connects to the provider cluster, fetches what the manifests depend on, and judges them.
///
/// When the provider cluster cannot be reached, problems of the manifests alone are still reported.
pub(crate) async fn prepare(
    texts: SourceTexts,
    context: &Context,
) -> Result<Prepared, CommandError> {
    let manifest = Manifest::parse(texts);
    let load_context = load_context(context)?;
    let fetched = fetch(&manifest, context).await;
    let (provider, records, values) = match fetched {
        Ok(fetched) => fetched,
        Err(error) => {
            let load_context = LoadContext {
                values: FetchedValues::Pending,
                ..load_context
            };
            accept(judge(manifest, &load_context), context)?;
            return Err(error);
        }
    };
    let load_context = LoadContext {
        values: FetchedValues::Fetched(values),
        records,
        ..load_context
    };
    Ok(Prepared {
        provider,
        loaded: accept(judge(manifest, &load_context), context)?,
        records: load_context.records,
    })
}

type Fetched = (
    ApiClient,
    HashMap<String, LastApplied>,
    HashMap<KeyReference, ResolvedValue>,
);

async fn fetch(manifest: &Manifest, context: &Context) -> Result<Fetched, CommandError> {
    let Needs {
        records: ids,
        references,
    } = needs(manifest);
    let provider = connect_for(context, provider_credentials(manifest)).await?;
    let mut records = HashMap::new();
    for id in ids {
        if let Some(record) = provider.record(&id).await.map_err(failed)? {
            match last_applied(&record.data) {
                Some(applied) => drop(records.insert(id, applied)),
                None => context.ui.warn(&format!(
                    "cannot read the record {id}: the manifest is not compared with the one applied last"
                )),
            }
        }
    }
    let mut values = HashMap::new();
    for reference in references {
        let value = fetch_value(&provider, &reference, context).await?;
        values.insert(reference, value);
    }
    Ok((provider, records, values))
}

/// Fetches a value that a MachineDeployment refers to, from the provider's namespace: Kubermatic's namespaces are of
/// another cluster.
async fn fetch_value(
    provider: &ApiClient,
    reference: &KeyReference,
    context: &Context,
) -> Result<ResolvedValue, CommandError> {
    let (namespace, name) = (provider.namespace(), &reference.name);
    if *reference.namespace != **namespace {
        let (holder, other) = (reference.kind, &reference.namespace);
        context.ui.warn(&format!(
            "{holder} {name} is read from namespace {namespace} instead of {other}"
        ));
    }
    let value = match reference.kind {
        ReferenceKind::Secret => provider.secret_value(name, &reference.key).await,
        ReferenceKind::ConfigMap => provider.config_map_value(name, &reference.key).await,
    };
    Ok(match value {
        Ok(Some(text)) => ResolvedValue::Found(text),
        Ok(None) => ResolvedValue::Missing("key not found".to_owned()),
        Err(Error::NotFound { .. }) => {
            ResolvedValue::Missing(format!("not found in namespace {namespace}"))
        }
        Err(error @ Error::Forbidden { .. }) => ResolvedValue::Missing(error.to_string()),
        Err(error) => return Err(failed(error)),
    })
}
