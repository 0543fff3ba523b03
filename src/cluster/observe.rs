//! What is there: one LIST and one WATCH a kind, published as facts.

use super::error::Error;
use super::inside::look_inside;
use super::kinds::{self, Resource};
use super::project::{self, text};
use super::request::Place;
use super::watch::Feed;
use super::why::look_for_causes;
use super::world::{Source, World};
use super::{Provider, bounds, relied};
use crate::state::facts::{Bounds, ClassOffer, Facts, Hosts, StorageClass};
use crate::state::failure::Failure;
use crate::state::key::{Key, Kind, Side};
use crate::state::names;
use crate::state::prerequisite::Relied;
use futures::future::{join_all, try_join_all};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

/// Changes within this time are published together.
const TOGETHER: Duration = Duration::from_millis(50);

/// Looks at one shoot for as long as it is kept.
pub(crate) struct Observer {
    pub(super) provider: Provider,
    pub(super) shared: Arc<Shared>,
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

pub(super) struct Shared {
    started: Instant,
    world: Mutex<(World, u64)>,
    changed: Notify,
    /// How many changes the published facts have.
    published: watch::Sender<u64>,
    facts: watch::Sender<Arc<Facts>>,
    /// Set once, by what finds the way there.
    pub(super) inside: OnceLock<Provider>,
    troubles: Mutex<BTreeMap<Source, (Instant, String)>>,
    health: watch::Sender<Option<String>>,
    pub(super) is_leaving: bool,
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
        let has_networks = provider.serves(&kinds::NETWORK).await?;
        let mut kinds = vec![Kind::Record, Kind::Image, Kind::UserData, Kind::Machine];
        kinds.extend(kinds::CONTROL_PLANE);
        kinds.extend(kinds::TYPES);
        match beside.is_leaving {
            true => {
                kinds.extend(kinds::LEAVING_OUTSIDE);
                let has_snapshots = provider.serves(&kinds::VOLUME_SNAPSHOT).await?;
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
    pub(super) fn inside(&self) -> Option<Provider> {
        self.shared.inside.get().cloned()
    }

    /// What keeps a machine from being empty.
    pub(super) fn draining(&self, uid: &Arc<str>, what: &str) {
        self.shared
            .change(|world, _| world.draining(uid.clone(), what.into()));
    }

    /// Nothing runs on the machine any more.
    pub(crate) fn drained(&self, uid: &Arc<str>) {
        self.shared.change(|world, _| world.drained(uid.clone()));
    }
}

impl Shared {
    fn new(id: &str, started: Instant, is_leaving: bool) -> Shared {
        Shared {
            started,
            world: Mutex::new((World::new(id), 0)),
            changed: Notify::new(),
            published: watch::Sender::default(),
            facts: watch::Sender::default(),
            inside: OnceLock::new(),
            troubles: Mutex::default(),
            health: watch::Sender::default(),
            is_leaving,
        }
    }

    /// Changes what is known, and has it published.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut World, Duration) -> T) -> T {
        let result = {
            let (world, changes) = &mut *self.world();
            *changes += 1;
            change(world, self.started.elapsed())
        };
        self.changed.notify_one();
        result
    }

    /// Returns when all that is known by now is in the published facts.
    pub(super) async fn settled(&self) {
        let known = self.world().1;
        let mut published = self.published.subscribe();
        // The sender is in `self`, so there is no end to wait for.
        let _ = published.wait_for(|it| *it >= known).await;
    }

    pub(super) fn read<T>(&self, read: impl FnOnce(&World) -> T) -> T {
        read(&self.world().0)
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<Arc<Facts>> {
        self.facts.subscribe()
    }

    pub(super) fn newest(&self) -> Arc<Facts> {
        self.facts.borrow().clone()
    }

    pub(super) fn now(&self) -> Duration {
        self.started.elapsed()
    }

    pub(super) fn tell_causes(&self, causes: HashMap<Key, Arc<str>>) {
        self.change(|world, _| world.tell_causes(causes));
    }

    pub(super) fn trouble(&self, source: Source, error: &Error) {
        tracing::debug!(side = ?source.0, kind = %source.1, %error, "cannot look");
        if self.is_leaving && source.0 == Side::Shoot {
            // Its API server is on its way out, or was dead before.
            return;
        }
        let mut troubles = self.troubles.lock().unwrap_or_else(|it| it.into_inner());
        let trouble = troubles
            .entry(source)
            .or_insert_with(|| (Instant::now(), String::new()));
        trouble.1 = error.to_string();
        self.tell_health(&troubles);
    }

    pub(super) fn fine(&self, source: Source) {
        let mut troubles = self.troubles.lock().unwrap_or_else(|it| it.into_inner());
        if troubles.remove(&source).is_some() {
            self.tell_health(&troubles);
        }
    }

    fn tell_health(&self, troubles: &BTreeMap<Source, (Instant, String)>) {
        let oldest = troubles.values().min_by_key(|(since, _)| *since);
        let health = oldest.map(|(since, text)| {
            let seconds = since.elapsed().as_secs();
            format!("cannot look since {seconds} s: {text}")
        });
        self.health.send_replace(health);
    }

    fn publish(&self) {
        let (facts, changes) = {
            let (world, changes) = &mut *self.world();
            (world.facts(self.started.elapsed()), *changes)
        };
        self.facts.send_if_modified(|before| {
            let differs = **before != facts;
            if differs {
                *before = Arc::new(facts);
            }
            differs
        });
        self.published.send_replace(changes);
    }

    async fn publish_changes(&self) {
        loop {
            self.changed.notified().await;
            self.publish();
            sleep(TOGETHER).await;
        }
    }

    /// With the number of changes so far.
    fn world(&self) -> MutexGuard<'_, (World, u64)> {
        // Nothing in there panics half way through a change.
        self.world.lock().unwrap_or_else(|it| it.into_inner())
    }
}

/// The version to watch a kind from; or why nothing of it can be seen, where not every shoot needs it.
async fn seen(feed: &Feed) -> Result<Result<String, Failure>, Error> {
    match feed.first().await {
        Err(error @ (Error::NotAllowed { .. } | Error::NotFound { .. }))
            if kinds::TYPES.contains(&feed.source.1) =>
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
            false => bounds::find(provider).await,
        }
    };
    let (classes, hosts, shared, relied, bounds) = futures::future::join5(
        provider.list(Place::all(&kinds::STORAGE_CLASS, None), None),
        provider.list_metadata(Place::all(&kinds::NODE, None), Some(names::ZONE_LABEL)),
        join_all(networks),
        relied::find(provider, &beside.relied, beside.templates.as_deref()),
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

/// A tenant of the provider cluster need not see what belongs to the cluster.
pub(super) fn if_allowed(items: Result<Vec<Value>, Error>) -> Result<Vec<Value>, Error> {
    match items {
        Err(Error::NotAllowed { .. }) => Ok(Vec::new()),
        other => other,
    }
}

async fn shared_network(provider: &Provider, name: &str) -> Result<Option<Arc<str>>, Error> {
    let (namespace, name) = name.split_once('/').unwrap_or((provider.namespace(), name));
    let place = Place::one(&kinds::NETWORK, namespace, name);
    match provider.get_again(place).await {
        Ok(network) => Ok(Some(project::arc(&network["spec"]["config"]))),
        Err(Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

fn class(class: &Value) -> (Arc<str>, StorageClass) {
    let by_zone = project::items(&class["allowedTopologies"])
        .iter()
        .flat_map(|it| project::items(&it["matchLabelExpressions"]))
        .any(|it| text(&it["key"]).ends_with("/zone"));
    let zonal = by_zone || class["volumeBindingMode"] == "WaitForFirstConsumer";
    (
        project::arc(&class["metadata"]["name"]),
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
        binding_mode: project::arc(&class["volumeBindingMode"]),
        reclaim_policy: project::arc(&class["reclaimPolicy"]),
        expandable: class["allowVolumeExpansion"] == true,
    })
}

fn hosts_by_zone(nodes: &[Value]) -> BTreeMap<Arc<str>, Hosts> {
    let mut zones: BTreeMap<Arc<str>, [Vec<Arc<str>>; 2]> = BTreeMap::new();
    for node in nodes {
        let labels = &node["metadata"]["labels"];
        let is_master = labels["node-role.kubernetes.io/control-plane"].is_string();
        let zone = zones.entry(project::arc(&labels[names::ZONE_LABEL]));
        zone.or_default()[usize::from(is_master)].push(project::arc(&node["metadata"]["name"]));
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
    pub(super) async fn serves(&self, resource: &Resource) -> Result<bool, Error> {
        let path = match resource.group {
            "" => "/api/v1".to_owned(),
            _ => format!("/apis/{}", resource.api_version()),
        };
        match self.get_path(&path, resource.plural).await {
            Ok(found) => Ok(project::items(&found["resources"])
                .iter()
                .any(|it| it["name"] == resource.plural)),
            Err(Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}
