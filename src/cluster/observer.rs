//! Observation of a shoot, published as facts.

use super::diagnose::cause_chain::CauseChain;
use super::diagnose::diagnosis;
use super::observe::control_plane_pods::watch_stopping_pods;
use super::observe::drained_hosts::watch_drained_hosts;
use super::observe::etcd::EtcdObserver;
use super::observe::health::watch_health;
use super::observe::observation_store::ObservationStore;
use super::observe::shoot::{may_be_reachable, watch_shoot};
use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::error::Error;
use crate::cluster::client::resources::{self, Resource};
use crate::cluster::diagnose::collect::watch_causes;
use crate::cluster::objects::api_resource::PartialApiResourceList;
use crate::cluster::objects::reader::read;
use crate::cluster::observe::shared_watches::{SharedWatches, Subscription};
use crate::cluster::observe::static_facts::{ProviderContext, static_facts};
use crate::cluster::observe::watcher::Watcher;
use crate::state::facts::{Facts, ShootApi};
use crate::state::failure::Failure;
use crate::state::key::{ClusterSide, ObjectKind};
use futures::future::try_join_all;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

/// Observes one shoot until dropped.
pub(crate) struct Observer {
    pub(crate) provider: ApiClient,
    pub(crate) store: Arc<ObservationStore>,
    pub(crate) etcd: Arc<EtcdObserver>,
    /// Aborted when dropped.
    _tasks: JoinSet<()>,
    /// Ends when dropped.
    _subscription: Option<Subscription>,
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
        Observer::observe(provider, id, started, context, None).await
    }

    /// Like [`Observer::start`], with watches that other shoots use as well. Not for shoots that are being deleted,
    /// since not all that they may leave behind is labelled with the shoot.
    pub(crate) async fn start_shared(
        watches: &Arc<SharedWatches>,
        id: &str,
        started: Instant,
        context: ProviderContext,
    ) -> Result<Observer, Error> {
        Observer::observe(watches.provider(), id, started, context, Some(watches)).await
    }

    async fn observe(
        provider: &ApiClient,
        id: &str,
        started: Instant,
        context: ProviderContext,
        watches: Option<&Arc<SharedWatches>>,
    ) -> Result<Observer, Error> {
        let store = Arc::new(ObservationStore::new(id, started, context.is_deletion));
        let has_networks = provider.serves(&resources::NETWORK).await?;
        let kinds = provider_kinds(provider, &context, has_networks).await?;
        let subscription = watches.map(|it| it.join(id, store.clone()));
        let first = kinds.into_iter().map(async |kind| {
            let listed = match &subscription {
                Some(subscription) => subscription.list_and_watch(kind).await.map(|()| None),
                None => {
                    let scope = (ClusterSide::Provider, kind);
                    let watcher = Watcher::new(provider, &store, scope, id);
                    let version = watcher.initial_list().await;
                    version.map(|version| Some((watcher, version)))
                }
            };
            Ok((kind, unless_optional(kind, listed, context.is_deletion)?))
        });
        let (mut static_facts, first) = futures::future::try_join(
            static_facts(provider, id, &context, has_networks),
            try_join_all(first),
        )
        .await?;
        let mut tasks = JoinSet::new();
        for (kind, listed) in first {
            match listed {
                Ok(Some((watcher, version))) => drop(tasks.spawn(watcher.run(version))),
                Ok(None) => {}
                Err(why) => drop(static_facts.unreadable.insert(kind, why)),
            }
        }
        store.change(|cache, _| cache.static_facts = static_facts);
        store.publish();
        let etcd = EtcdObserver::new(provider.clone(), store.clone(), id.to_owned());
        let etcd = Arc::new(etcd);
        if !context.is_deletion {
            etcd.observe_first().await;
            let etcd = etcd.clone();
            tasks.spawn(async move { etcd.watch().await });
            let pods = watch_stopping_pods(provider.clone(), store.clone(), id.to_owned());
            tasks.spawn(pods);
        }
        let causes = watch_causes(provider.clone(), store.clone(), id.to_owned());
        tasks.spawn(causes);
        if !context.is_deletion {
            let memory = context.health.clone();
            tasks.spawn(watch_health(provider.clone(), store.clone(), memory));
            tasks.spawn(watch_drained_hosts(provider.clone(), store.clone()));
        }
        tasks.spawn(watch_shoot(provider.clone(), store.clone(), id.to_owned()));
        let publisher = store.clone();
        tasks.spawn(async move { publisher.publish_changes().await });
        Ok(Observer {
            provider: provider.clone(),
            store,
            etcd,
            _tasks: tasks,
            _subscription: subscription,
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

    /// Evacuations continue, because KubeVirt cannot cancel them.
    pub(crate) fn forbid_cancellations(&self) {
        self.store.change(|cache, _| cache.forbid_cancellations());
    }

    /// The machine is no longer being drained, and nothing keeps it from its start.
    pub(crate) fn clear_drain_status(&self, uid: &Arc<str>) {
        self.store.change(|cache, _| cache.clear_drain_status(uid));
    }

    /// Describes what remains on a machine that is being drained, or what the start of a halted machine waits for.
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

/// Secrets of a shoot, which Kubernetes deletes with the record.
const SECRET_KINDS: [ObjectKind; 2] = [ObjectKind::Secret, ObjectKind::UserData];

/// Kinds that are observed in the provider namespace.
async fn provider_kinds(
    provider: &ApiClient,
    context: &ProviderContext,
    has_networks: bool,
) -> Result<Vec<ObjectKind>, Error> {
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
    Ok(kinds)
}

/// The result of the first LIST of a kind; or the failure, for kinds that not every shoot needs. A deletion does not
/// need Secrets either.
fn unless_optional<T>(
    kind: ObjectKind,
    listed: Result<T, Error>,
    is_deletion: bool,
) -> Result<Result<T, Failure>, Error> {
    let is_optional =
        OPTIONAL_KINDS.contains(&kind) || (is_deletion && SECRET_KINDS.contains(&kind));
    match listed {
        Err(error @ (Error::Forbidden { .. } | Error::NotFound { .. })) if is_optional => {
            Ok(Err(error.failure()))
        }
        other => other.map(Ok),
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
