//! What is there: one LIST and one WATCH a kind, published as facts.

use super::diagnose::cause_chain::Chain;
use super::diagnose::diagnosis;
use super::observe::observation_store::Shared;
use super::observe::shoot::{look_inside, may_answer};
use crate::cluster::client::api_client::Provider;
use crate::cluster::client::error::Error;
use crate::cluster::client::request::Place;
use crate::cluster::client::request::if_allowed;
use crate::cluster::client::resources::{self, Resource};
use crate::cluster::diagnose::collect::look_for_causes;
use crate::cluster::json::{arc, items, text};
use crate::cluster::observe::namespace_limits;
use crate::cluster::observe::prerequisites;
use crate::cluster::observe::watcher::Feed;
use crate::state::facts::{Bounds, ClassOffer, Facts, Hosts, Inside, StorageClass};
use crate::state::failure::Failure;
use crate::state::key::{Kind, Side};
use crate::state::names;
use crate::state::prerequisite::Relied;
use futures::future::{join_all, try_join_all};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

/// Looks at one shoot for as long as it is kept.
pub(crate) struct Observer {
    pub(crate) provider: Provider,
    pub(crate) shared: Arc<Shared>,
    /// Ends what is in it when dropped.
    _tasks: JoinSet<()>,
}

/// What is observed beside the shoot's own objects.
#[derive(Debug, Default, Clone)]
pub(crate) struct Beside {
    /// Networks that the shoot uses and does not own, as `namespace/name`.
    pub(crate) networks: Vec<Arc<str>>,
    /// What the shoot's pools name.
    pub(crate) relied: BTreeSet<Relied>,
    /// Namespace of templates of instancetypes and preferences.
    pub(crate) templates: Option<Arc<str>>,
    /// The shoot is to go: what its users have in the provider is looked at, and in the shoot nothing else.
    pub(crate) is_leaving: bool,
}

impl Observer {
    /// Returns when every kind was listed once, so the first facts are whole.
    ///
    /// `started` is when the run began: the zero of all times in the facts.
    ///
    /// # Errors
    ///
    /// A kind may not be listed, a shared network may not be read, the server does not answer for two minutes, or its
    /// versions are no numbers.
    pub(crate) async fn start(
        provider: &Provider,
        id: &str,
        started: Instant,
        beside: Beside,
    ) -> Result<Observer, Error> {
        let shared = Arc::new(Shared::new(id, started, beside.is_leaving));
        let has_networks = provider.serves(&resources::NETWORK).await?;
        let mut kinds = vec![Kind::Record, Kind::Image, Kind::UserData, Kind::Machine];
        kinds.extend(resources::CONTROL_PLANE);
        kinds.extend(resources::TYPES);
        match beside.is_leaving {
            true => {
                kinds.extend(resources::LEAVING_OUTSIDE);
                let has_snapshots = provider.serves(&resources::VOLUME_SNAPSHOT).await?;
                kinds.extend(has_snapshots.then_some(Kind::Snapshot));
            }
            false => kinds.push(Kind::Instance),
        }
        if has_networks {
            kinds.push(Kind::Network);
        }
        let feeds = kinds
            .into_iter()
            .map(|kind| Feed::new(provider, &shared, (Side::Provider, kind), id));
        let first = feeds.map(async |feed| Ok((seen(&feed).await?, feed)));
        let (mut fixed, first) =
            futures::future::try_join(fixed(provider, &beside, has_networks), try_join_all(first))
                .await?;
        let mut tasks = JoinSet::new();
        for (version, feed) in first {
            match version {
                Ok(version) => drop(tasks.spawn(feed.follow(version))),
                Err(why) => drop(fixed.unseen.insert(feed.source.1, why)),
            }
        }
        shared.change(|world, _| world.fixed = fixed);
        shared.publish();
        let causes = look_for_causes(provider.clone(), shared.clone(), id.to_owned());
        tasks.spawn(causes);
        tasks.spawn(look_inside(provider.clone(), shared.clone(), id.to_owned()));
        let publisher = shared.clone();
        tasks.spawn(async move { publisher.publish_changes().await });
        Ok(Observer {
            provider: provider.clone(),
            shared,
            _tasks: tasks,
        })
    }

    pub(crate) fn facts(&self) -> watch::Receiver<Arc<Facts>> {
        self.shared.facts.subscribe()
    }

    /// None while all is well; else what is wrong, as a lower-case fragment that says since when.
    pub(crate) fn health(&self) -> watch::Receiver<Option<String>> {
        self.shared.health.subscribe()
    }

    /// The shoot's own API server, once it is looked at.
    pub(crate) fn inside(&self) -> Option<Provider> {
        self.shared.inside.get().cloned()
    }

    /// What keeps a machine from being empty.
    pub(crate) fn draining(&self, uid: &Arc<str>, what: &str) {
        self.shared
            .change(|world, _| world.draining(uid.clone(), what.into()));
    }

    /// One chain of causes for each object that is not ready, the control plane first; none for what only follows
    /// from another chain.
    ///
    /// # Errors
    ///
    /// The provider cluster does not answer.
    pub(crate) async fn troubles(&self, facts: &Facts) -> Result<Vec<Chain>, Error> {
        diagnosis::diagnose(&self.provider, &self.shared, facts).await
    }

    /// Nothing runs on the machine any more.
    pub(crate) fn drained(&self, uid: &Arc<str>) {
        self.shared.change(|world, _| world.drained(uid.clone()));
    }

    /// Returns when what is inside the shoot is in the facts as well, if there is a way inside; waits for that
    /// no longer than `limit`.
    pub(crate) async fn whole(&self, limit: Duration) -> Arc<Facts> {
        let id = self.shared.read(|world| world.id().clone());
        let is_whole = |it: &Arc<Facts>| it.inside != Inside::Absent || !may_answer(it, &id);
        let mut facts = self.facts();
        let waited = timeout(limit, facts.wait_for(is_whole)).await;
        drop(waited);
        self.facts().borrow().clone()
    }
}

/// The version to watch a kind from; or why nothing of it can be seen, where not every shoot needs it.
async fn seen(feed: &Feed) -> Result<Result<String, Failure>, Error> {
    match feed.first().await {
        Err(error @ (Error::NotAllowed { .. } | Error::NotFound { .. }))
            if resources::TYPES.contains(&feed.source.1) =>
        {
            Ok(Err(error.failure()))
        }
        other => other.map(Ok),
    }
}

/// What is read once: storage classes, hosts and the networks of others.
async fn fixed(provider: &Provider, beside: &Beside, has_networks: bool) -> Result<Facts, Error> {
    let networks = beside.networks.iter().map(async |name| {
        let config = match has_networks {
            true => shared_network(provider, name).await?,
            false => None,
        };
        Ok((name.clone(), config))
    });
    let bounds = async {
        match beside.is_leaving {
            true => Ok(Bounds::default()),
            false => namespace_limits::find(provider).await,
        }
    };
    let (classes, hosts, shared, relied, bounds) = futures::future::join5(
        provider.list(Place::all(&resources::STORAGE_CLASS, None), None),
        provider.list_metadata(Place::all(&resources::NODE, None), Some(names::ZONE_LABEL)),
        join_all(networks),
        prerequisites::find(provider, &beside.relied, beside.templates.as_deref()),
        bounds,
    )
    .await;
    let classes = if_allowed(classes.map(|it| it.items))?;
    let hosts = if_allowed(hosts.map(|it| it.items))?;
    Ok(Facts {
        namespace: provider.namespace().clone(),
        classes: classes.iter().map(class).collect(),
        hosts: hosts_by_zone(&hosts),
        shared: shared.into_iter().collect::<Result<_, Error>>()?,
        relied: relied?,
        bounds: bounds?,
        time: provider.server_time().unwrap_or_default(),
        ..Facts::default()
    })
}

async fn shared_network(provider: &Provider, name: &str) -> Result<Option<Arc<str>>, Error> {
    let (namespace, name) = name.split_once('/').unwrap_or((provider.namespace(), name));
    let place = Place::one(&resources::NETWORK, namespace, name);
    match provider.get_again(place).await {
        Ok(network) => Ok(Some(arc(&network["spec"]["config"]))),
        Err(Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

fn class(class: &Value) -> (Arc<str>, StorageClass) {
    let by_zone = items(&class["allowedTopologies"])
        .iter()
        .flat_map(|it| items(&it["matchLabelExpressions"]))
        .any(|it| text(&it["key"]).ends_with("/zone"));
    let zonal = by_zone || class["volumeBindingMode"] == "WaitForFirstConsumer";
    (
        arc(&class["metadata"]["name"]),
        StorageClass {
            zonal,
            offered: offered(class),
        },
    )
}

/// As Kubermatic has it: by an annotation, and with what the class itself says.
fn offered(class: &Value) -> Option<ClassOffer> {
    let annotations = &class["metadata"]["annotations"];
    (annotations[names::INITIALIZE_CLASS] == "true").then(|| ClassOffer {
        is_default: annotations[names::DEFAULT_CLASS] == "true",
        binding_mode: arc(&class["volumeBindingMode"]),
        reclaim_policy: arc(&class["reclaimPolicy"]),
        expandable: class["allowVolumeExpansion"] == true,
    })
}

fn hosts_by_zone(nodes: &[Value]) -> BTreeMap<Arc<str>, Hosts> {
    let mut zones: BTreeMap<Arc<str>, [Vec<Arc<str>>; 2]> = BTreeMap::new();
    for node in nodes {
        let labels = &node["metadata"]["labels"];
        let is_master = labels["node-role.kubernetes.io/control-plane"].is_string();
        let zone = zones.entry(arc(&labels[names::ZONE_LABEL]));
        zone.or_default()[usize::from(is_master)].push(arc(&node["metadata"]["name"]));
    }
    let hosts = |[workers, masters]: [Vec<Arc<str>>; 2]| {
        let hosts = if workers.is_empty() { masters } else { workers };
        Hosts {
            first: hosts.iter().min().cloned().unwrap_or_default(),
            count: hosts.len(),
        }
    };
    zones
        .into_iter()
        .map(|(zone, nodes)| (zone, hosts(nodes)))
        .collect()
}

impl Provider {
    /// Whether the server has such a resource.
    pub(crate) async fn serves(&self, resource: &Resource) -> Result<bool, Error> {
        let path = match resource.group {
            "" => "/api/v1".to_owned(),
            _ => format!("/apis/{}", resource.api_version()),
        };
        match self.get_path(&path, resource.plural).await {
            Ok(found) => Ok(items(&found["resources"])
                .iter()
                .any(|it| it["name"] == resource.plural)),
            Err(Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}
