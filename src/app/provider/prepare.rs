//! Manifests judged against the provider cluster that they are for.

use super::connect::{connect_for, has_option};
use crate::app::context::Context;
use crate::app::error::{CommandError, Exit, failed};
use crate::app::manifests::files::{SourceTexts, load_context};
use crate::app::manifests::report::{accept, report};
use crate::cluster::{ApiClient, Error, RecordSnapshot};
use crate::load::{
    BindingLookup, FetchedValues, LastApplied, LoadContext, Loaded, Needs, judge, last_applied,
    misses_binding, names_of_others, needs, provider_credentials,
};
use crate::manifest::Manifest;
use crate::model::{KeyReference, ReferenceKind};
use crate::validate::machine_deployment::ResolvedValue;
use secrecy::ExposeSecret as _;
use std::collections::HashMap;

/// Manifests judged against what was last applied, and their provider clusters.
pub(crate) struct Prepared {
    pub(crate) loaded: Loaded,
    /// Shoots that already exist, by technical ID.
    pub(crate) records: HashMap<String, LastApplied>,
    pub(crate) providers: Providers,
    /// Shoots whose record cannot be read, by technical ID. Empty unless [`prepare_each`] was called.
    pub(crate) refused: HashMap<String, CommandError>,
    /// Names of Shoots and files with errors, which were reported. Empty unless [`prepare_each`] was called.
    pub(crate) invalid: Vec<String>,
}

/// The provider clusters of manifests; at least one.
pub(crate) struct Providers {
    /// That of the first Shoot, or of the environment if there is none.
    first: ApiClient,
    others: Vec<ApiClient>,
    /// Index in `others` by technical ID; Shoots on the first one are absent.
    of_shoots: HashMap<String, usize>,
}

impl Providers {
    /// The provider cluster of the Shoot with this technical ID.
    pub(crate) fn of(&self, id: &str) -> &ApiClient {
        let other = self.of_shoots.get(id).map(|index| &self.others[*index]);
        other.unwrap_or(&self.first)
    }

    /// Each provider cluster, with a test for the Shoots on it.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&ApiClient, impl Fn(&str) -> bool)> {
        let all = std::iter::once(&self.first).chain(&self.others);
        all.map(move |provider| {
            (provider, move |id: &str| {
                std::ptr::eq(self.of(id), provider)
            })
        })
    }
}

/// Connects to the provider clusters, fetches what the manifests depend on, and judges them.
///
/// When a provider cluster cannot be reached, problems of the manifests alone are still reported.
pub(crate) async fn prepare(
    texts: SourceTexts,
    context: &Context,
) -> Result<Prepared, CommandError> {
    let mut prepared = prepare_each(texts, context).await?;
    if !prepared.invalid.is_empty() {
        return Err(CommandError::silent(Exit::Manifest));
    }
    let refused = prepared.refused.drain().next();
    refused.map_or(Ok(prepared), |(_, error)| Err(error))
}

/// Like [`prepare`], for commands that continue with the other Shoots when one is invalid, or its record cannot be
/// read.
pub(crate) async fn prepare_each(
    texts: SourceTexts,
    context: &Context,
) -> Result<Prepared, CommandError> {
    let manifest = Manifest::parse(texts);
    let load_context = LoadContext {
        bindings: match has_option(context) {
            true => BindingLookup::Skipped,
            false => BindingLookup::Required,
        },
        ..load_context(context)?
    };
    let pending = LoadContext {
        values: FetchedValues::Pending,
        ..load_context.clone()
    };
    // The provider cluster of the environment must not be asked instead.
    if load_context.bindings == BindingLookup::Required && misses_binding(&manifest) {
        accept(judge(manifest, &pending), context)?;
        return Err(CommandError::silent(Exit::Manifest));
    }
    let fetched = match fetch(&manifest, context).await {
        Ok(fetched) => fetched,
        Err(error) => {
            accept(judge(manifest, &pending), context)?;
            return Err(error);
        }
    };
    let load_context = LoadContext {
        values: FetchedValues::Fetched(fetched.values),
        records: fetched.records,
        ..load_context
    };
    let mut loaded = judge(manifest, &load_context);
    let mut invalid = Vec::new();
    if loaded.unaffected.is_empty() {
        loaded = accept(loaded, context)?;
    } else {
        report(&loaded, context);
        loaded.shoots = std::mem::take(&mut loaded.unaffected);
        invalid = names_of_others(&loaded.manifest, &loaded.shoots);
    }
    Ok(Prepared {
        providers: fetched.providers,
        refused: fetched.refused,
        loaded,
        records: load_context.records,
        invalid,
    })
}

/// Dependencies of manifests: provider clusters, records and referenced values.
struct Fetched {
    providers: Providers,
    records: HashMap<String, LastApplied>,
    refused: HashMap<String, CommandError>,
    values: HashMap<(String, KeyReference), ResolvedValue>,
}

async fn fetch(manifest: &Manifest, context: &Context) -> Result<Fetched, CommandError> {
    let Needs {
        records: ids,
        references,
    } = needs(manifest);
    let providers = connect_all(manifest, context).await?;
    let (mut records, mut refused) = (HashMap::new(), HashMap::new());
    for id in ids {
        match providers.of(&id).record(&id).await {
            Ok(Some(record)) => {
                let record = complete(providers.of(&id), record, context).await?;
                match last_applied(&record.data) {
                    Some(applied) => drop(records.insert(id, applied)),
                    None => context.ui.warn(&format!(
                        "cannot read the record {id}: the manifest is not compared with the one applied last"
                    )),
                }
            }
            Ok(None) => {}
            // It would be found when the shoot is applied, too.
            Err(error @ Error::NotOwned { .. }) => drop(refused.insert(id, failed(error))),
            // The Shoots of other provider clusters can do without this one.
            Err(error) if !providers.others.is_empty() => drop(refused.insert(id, failed(error))),
            Err(error) => return Err(failed(error)),
        }
    }
    let mut values = HashMap::new();
    for (id, reference) in references {
        let value = fetch_value(providers.of(&id), &reference, context).await?;
        values.insert((id, reference), value);
    }
    Ok(Fetched {
        providers,
        records,
        refused,
        values,
    })
}

/// Returns the record with its whole manifest, or without user data if its Secret cannot be read: applying a manifest
/// writes another Secret.
async fn complete(
    provider: &ApiClient,
    record: RecordSnapshot,
    context: &Context,
) -> Result<RecordSnapshot, CommandError> {
    match provider.complete_record(record.clone()).await {
        Err(error @ (Error::Missing(_) | Error::Forbidden { .. })) => {
            context.ui.warn(&format!(
                "{error}: user data is not compared with that applied last"
            ));
            Ok(record)
        }
        other => other.map_err(failed),
    }
}

/// Connects to the provider cluster of each Shoot; Shoots with the same credentials share a connection.
async fn connect_all(manifest: &Manifest, context: &Context) -> Result<Providers, CommandError> {
    let mut credentials = provider_credentials(manifest).into_iter();
    let (_, of_first) = credentials.next().unwrap_or_default();
    let mut known = vec![(of_first.identity(), None)];
    let mut providers = Providers {
        first: connect_for(context, of_first).await?,
        others: Vec::new(),
        of_shoots: HashMap::new(),
    };
    // An option selects one provider cluster for all.
    for (id, own) in credentials.filter(|_| !has_option(context)) {
        let identity = own.identity();
        let index = match known.iter().find(|it| it.0 == identity) {
            Some((_, index)) => *index,
            None => {
                providers.others.push(connect_for(context, own).await?);
                let index = Some(providers.others.len() - 1);
                known.push((identity, index));
                index
            }
        };
        providers.of_shoots.extend(index.map(|it| (id, it)));
    }
    Ok(providers)
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
        ReferenceKind::Secret => {
            let value = provider.secret_value(name, &reference.key).await;
            value.map(|it| it.map(|text| text.expose_secret().to_owned()))
        }
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
