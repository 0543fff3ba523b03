//! Observation of a shoot, published as facts.

use super::diagnose::cause_chain::CauseChain;
use super::diagnose::diagnosis;
use super::observe::observation_store::ObservationStore;
use super::observe::shoot::{may_be_reachable, watch_shoot};
use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::error::Error;
use crate::cluster::client::request::ResourceRef;
use crate::cluster::client::request::empty_if_forbidden;
use crate::cluster::client::resources::{self, Resource};
use crate::cluster::diagnose::collect::watch_causes;
use crate::cluster::objects::api_resource::PartialApiResourceList;
use crate::cluster::objects::kubevirt::network::PartialNetworkAttachment;
use crate::cluster::objects::reader::{read, read_all};
use crate::cluster::observe::namespace_limits;
use crate::cluster::observe::offers::{hosts_by_zone, storage_class};
use crate::cluster::observe::prerequisites;
use crate::cluster::observe::watcher::Watcher;
use crate::state::facts::{Facts, NamespaceLimits, ShootApi};
use crate::state::failure::Failure;
use crate::state::key::{ClusterSide, ObjectKind};
use crate::state::names;
use crate::state::prerequisite::Prerequisite;
use futures::future::{join_all, try_join_all};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

/// Observes one shoot until dropped.
pub(crate) struct Observer {
    pub(crate) provider: ApiClient,
    pub(crate) store: Arc<ObservationStore>,
    /// Aborted when dropped.
    _tasks: JoinSet<()>,
}

/// Objects to observe besides those of the shoot.
#[derive(Debug, Default, Clone)]
pub(crate) struct ProviderContext {
    /// Networks that the shoot uses without owning them, as `namespace/name`.
    pub(crate) networks: Vec<Arc<str>>,
    /// Objects that the pools refer to.
    pub(crate) prerequisites: BTreeSet<Prerequisite>,
    /// Namespace of templates of instancetypes and preferences.
    pub(crate) templates: Option<Arc<str>>,
    /// The shoot is being deleted: user resources in the provider are observed, and in the shoot nothing else.
    pub(crate) is_deletion: bool,
}

impl Observer {
    /// Returns once every kind was listed, so the first facts are complete.
    ///
    /// `started` is the beginning of the run: the zero of all times in the facts.
    ///
    /// # Errors
    ///
    /// Listing a kind or reading a shared network is forbidden, the server does not answer for two minutes, or its
    /// resource versions are not numbers.
    pub(crate) async fn start(
        provider: &ApiClient,
        id: &str,
        started: Instant,
        context: ProviderContext,
    ) -> Result<Observer, Error> {
        let store = Arc::new(ObservationStore::new(id, started, context.is_deletion));
        let has_networks = provider.serves(&resources::NETWORK).await?;
        let mut kinds = vec![
            ObjectKind::Record,
            ObjectKind::ImageVolume,
            ObjectKind::UserData,
            ObjectKind::Machine,
        ];
        kinds.extend(resources::CONTROL_PLANE_KINDS);
        kinds.extend(resources::INSTANCETYPE_KINDS);
        match context.is_deletion {
            true => {
                kinds.extend(resources::DELETION_PROVIDER_KINDS);
                let has_snapshots = provider.serves(&resources::VOLUME_SNAPSHOT).await?;
                kinds.extend(has_snapshots.then_some(ObjectKind::VolumeSnapshot));
            }
            false => kinds.push(ObjectKind::VirtualMachineInstance),
        }
        if has_networks {
            kinds.push(ObjectKind::NetworkAttachmentDefinition);
        }
        let watchers = kinds
            .into_iter()
            .map(|kind| Watcher::new(provider, &store, (ClusterSide::Provider, kind), id));
        let first = watchers.map(async |watcher| Ok((initial_list(&watcher).await?, watcher)));
        let (mut static_facts, first) = futures::future::try_join(
            static_facts(provider, id, &context, has_networks),
            try_join_all(first),
        )
        .await?;
        let mut tasks = JoinSet::new();
        for (version, watcher) in first {
            match version {
                Ok(version) => drop(tasks.spawn(watcher.run(version))),
                Err(why) => drop(static_facts.unreadable.insert(watcher.scope.1, why)),
            }
        }
        store.change(|cache, _| cache.static_facts = static_facts);
        store.publish();
        let causes = watch_causes(provider.clone(), store.clone(), id.to_owned());
        tasks.spawn(causes);
        tasks.spawn(watch_shoot(provider.clone(), store.clone(), id.to_owned()));
        let publisher = store.clone();
        tasks.spawn(async move { publisher.publish_changes().await });
        Ok(Observer {
            provider: provider.clone(),
            store,
            _tasks: tasks,
        })
    }

    pub(crate) fn facts(&self) -> watch::Receiver<Arc<Facts>> {
        self.store.facts.subscribe()
    }

    /// None while observation works; otherwise the failure, as a lower-case fragment with its duration.
    pub(crate) fn health(&self) -> watch::Receiver<Option<String>> {
        self.store.health.subscribe()
    }

    /// Client of the shoot's API server, once it is observed.
    pub(crate) fn shoot_client(&self) -> Option<ApiClient> {
        self.store.shoot_client.get().cloned()
    }

    /// Describes what remains on a machine that is being drained.
    pub(crate) fn set_drain_status(&self, uid: &Arc<str>, what: &str) {
        self.store
            .change(|cache, _| cache.set_drain_status(uid.clone(), what.into()));
    }

    /// One chain of causes for each object that is not ready, the control plane first; none for what only follows
    /// from another chain.
    ///
    /// # Errors
    ///
    /// The provider cluster does not answer.
    pub(crate) async fn diagnose(&self, facts: &Facts) -> Result<Vec<CauseChain>, Error> {
        diagnosis::diagnose(&self.provider, &self.store, facts).await
    }

    /// Marks the machine as drained.
    pub(crate) fn set_drained(&self, uid: &Arc<str>) {
        self.store.change(|cache, _| cache.set_drained(uid.clone()));
    }

    /// Returns once the facts include the shoot, if its API server is reachable; waits for at most `limit`.
    pub(crate) async fn complete_facts(&self, limit: Duration) -> Arc<Facts> {
        let id = self.store.read(|cache| cache.id().clone());
        let is_whole =
            |it: &Arc<Facts>| it.shoot_api != ShootApi::Absent || !may_be_reachable(it, &id);
        let mut facts = self.facts();
        let waited = timeout(limit, facts.wait_for(is_whole)).await;
        drop(waited);
        self.facts().borrow().clone()
    }
}

/// Kinds that not every shoot needs, and that a tenant of the provider may not be allowed to list.
const OPTIONAL_KINDS: [ObjectKind; 4] = [
    ObjectKind::Instancetype,
    ObjectKind::Preference,
    ObjectKind::NetworkAttachmentDefinition,
    ObjectKind::VolumeSnapshot,
];

/// The version to watch a kind from; or the failure, for kinds that not every shoot needs.
async fn initial_list(watcher: &Watcher) -> Result<Result<String, Failure>, Error> {
    match watcher.initial_list().await {
        Err(error @ (Error::Forbidden { .. } | Error::NotFound { .. }))
            if OPTIONAL_KINDS.contains(&watcher.scope.1) =>
        {
            Ok(Err(error.failure()))
        }
        other => other.map(Ok),
    }
}

/// Reads once: StorageClasses, zones and shared networks.
async fn static_facts(
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

impl ApiClient {
    /// True if the server serves the resource.
    pub(crate) async fn serves(&self, resource: &'static Resource) -> Result<bool, Error> {
        let path = match resource.group {
            "" => "/api/v1".to_owned(),
            _ => format!("/apis/{}", resource.api_version()),
        };
        match self.get_path(&path, resource.plural).await {
            Ok(found) => {
                let served: PartialApiResourceList = read(resource, &found)?;
                Ok(served.has(resource.plural))
            }
            Err(Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}
