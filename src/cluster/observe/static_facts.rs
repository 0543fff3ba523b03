//! Facts of the provider cluster that a run reads once.

use super::health::HealthMemory;
use super::namespace_limits;
use super::offers::{hosts_by_zone, storage_class};
use super::prerequisites;
use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::error::Error;
use crate::cluster::client::request::{ResourceRef, empty_if_forbidden};
use crate::cluster::client::resources;
use crate::cluster::objects::kubevirt::network::PartialNetworkAttachment;
use crate::cluster::objects::reader::{read, read_all};
use crate::state::facts::{Facts, NamespaceLimits};
use crate::state::names;
use crate::state::prerequisite::Prerequisite;
use futures::future::join_all;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Objects to observe besides those of the shoot.
#[derive(Default, Clone)]
pub(crate) struct ProviderContext {
    /// Networks that the shoot uses without owning them, as `namespace/name`.
    pub(crate) networks: Vec<Arc<str>>,
    /// Objects that the pools refer to.
    pub(crate) prerequisites: BTreeSet<Prerequisite>,
    /// Namespace of templates of instancetypes and preferences.
    pub(crate) templates: Option<Arc<str>>,
    /// The shoot is being deleted: user resources in the provider are observed, and in the shoot nothing else.
    pub(crate) is_deletion: bool,
    /// Memory of earlier runs about the health of nodes.
    pub(crate) health: Arc<HealthMemory>,
}

/// Reads once: StorageClasses, zones and shared networks.
pub(crate) async fn static_facts(
    provider: &ApiClient,
    id: &str,
    context: &ProviderContext,
    has_networks: bool,
) -> Result<Facts, Error> {
    let networks = context.networks.iter().map(async |name| {
        let config = match has_networks {
            true => shared_network(provider, name).await?,
            false => None,
        };
        Ok((name.clone(), config))
    });
    let bounds = async {
        match context.is_deletion {
            true => Ok(NamespaceLimits::default()),
            false => namespace_limits::read_limits(provider).await,
        }
    };
    let expands = async {
        match context.is_deletion {
            true => Ok(false),
            false => prerequisites::may_expand_volumes(provider, id).await,
        }
    };
    let bounds = futures::future::try_join(bounds, expands);
    let (classes, hosts, shared, relied, bounds) = futures::future::join5(
        provider.list(ResourceRef::all(&resources::STORAGE_CLASS, None), None),
        provider.list(
            ResourceRef::all(&resources::NODE, None),
            Some(names::ZONE_LABEL),
        ),
        join_all(networks),
        prerequisites::read_prerequisites(
            provider,
            &context.prerequisites,
            context.templates.as_deref(),
        ),
        bounds,
    )
    .await;
    let (namespace_limits, expands_volumes) = bounds?;
    let classes = empty_if_forbidden(classes.map(|it| it.items))?;
    let hosts = empty_if_forbidden(hosts.map(|it| it.items))?;
    Ok(Facts {
        namespace: provider.namespace().clone(),
        storage_classes: read_all(&resources::STORAGE_CLASS, &classes)?
            .iter()
            .map(storage_class)
            .collect(),
        hosts: hosts_by_zone(&read_all(&resources::NODE, &hosts)?),
        shared_networks: shared.into_iter().collect::<Result<_, Error>>()?,
        prerequisites: relied?,
        namespace_limits,
        expands_volumes,
        time: provider.server_time().unwrap_or_default(),
        ..Facts::default()
    })
}

async fn shared_network(provider: &ApiClient, name: &str) -> Result<Option<Arc<str>>, Error> {
    let (namespace, name) = name.split_once('/').unwrap_or((provider.namespace(), name));
    let resource_ref = ResourceRef::one(&resources::NETWORK, namespace, name);
    match provider.get_with_retry(resource_ref).await {
        Ok(network) => {
            let network: PartialNetworkAttachment = read(&resources::NETWORK, &network)?;
            Ok(Some(network.spec.config.into()))
        }
        Err(Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
