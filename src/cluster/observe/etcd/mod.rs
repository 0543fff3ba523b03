//! Observation of etcd: its objects in the provider cluster, and what its members say.

use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::certificate_authority::ClientCertificate;
use crate::cluster::client::error::{Error, RequestInfo};
use crate::cluster::client::etcd::EtcdClient;
use crate::cluster::client::request::{ObjectList, ResourceRef};
use crate::cluster::client::resources::{self, Resource};
use crate::cluster::client::transport::timeout_error;
use crate::cluster::objects::core::pod::{ContainerStatus, PartialPod};
use crate::cluster::objects::etcd::{EtcdMemberList, EtcdMemberStatus};
use crate::cluster::objects::reader::{read_all, read_response};
use crate::cluster::objects::storage::PartialClaim;
use crate::cluster::observe::observation_store::ObservationStore;
use crate::cluster::observe::parse::etcd::{ordinal, parse_pods};
use crate::cluster::observe::parse::image::bytes;
use crate::render::control_plane::certificate::subjects::ETCD_CA;
use crate::render::control_plane::etcd::LOAD;
use crate::state::facts::{
    EtcdClaim, EtcdExit, EtcdMember, EtcdMembership, EtcdPod, EtcdStart, EtcdStatus, Facts,
    ObservedEtcd,
};
use crate::state::key::{ObjectKey, ObjectKind};
use crate::state::names::{self, part::ETCD};
use futures::future::join_all;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, sleep_until, timeout};

/// Limits for an answer of a member, and for all that it is asked in a round.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);
const ASK_TIMEOUT: Duration = Duration::from_secs(5);
/// Time between two rounds while members change, and otherwise.
const BUSY_INTERVAL: Duration = Duration::from_millis(500);
const QUIET_INTERVAL: Duration = Duration::from_secs(15);
/// Label of a StatefulSet's pod: the revision of its template.
const REVISION: &str = "controller-revision-hash";

/// The client certificate, with the version of the Secret of its certificate authority, which may be rotated.
type EtcdCredentials = (Option<Arc<str>>, Arc<ClientCertificate>);

/// Observes the etcd of one shoot.
pub(crate) struct EtcdObserver {
    provider: ApiClient,
    store: Arc<ObservationStore>,
    id: String,
    credentials: Mutex<Option<EtcdCredentials>>,
    /// Connections by the UIDs of pods; each is a port-forward.
    clients: Mutex<BTreeMap<Arc<str>, Arc<EtcdClient>>>,
}

impl ApiClient {
    /// Observes the etcd of a shoot once, for commands that do not watch.
    ///
    /// # Errors
    ///
    /// Its pods or volumes cannot be listed. Members that do not answer are part of the result.
    pub(crate) async fn observe_etcd(&self, id: &str) -> Result<ObservedEtcd, Error> {
        let store = Arc::new(ObservationStore::new(id, Instant::now(), false));
        let observer = EtcdObserver::new(self.clone(), store, id.to_owned());
        observer.round(Duration::ZERO).await
    }
}

impl EtcdObserver {
    pub(crate) fn new(
        provider: ApiClient,
        store: Arc<ObservationStore>,
        id: String,
    ) -> EtcdObserver {
        EtcdObserver {
            provider,
            store,
            id,
            credentials: Mutex::default(),
            clients: Mutex::default(),
        }
    }

    /// Observes etcd for the first facts, if there is something to observe. Most clusters are quiet: then the watch
    /// begins with a pause.
    pub(crate) async fn observe_first(&self) {
        if exists(&self.store.latest(), &self.id) {
            self.observe_if_possible().await;
            self.store.publish();
        }
    }

    /// Observes etcd once. Without the result, nothing is changed.
    pub(crate) async fn observe_if_possible(&self) {
        if let Err(error) = self.observe().await {
            tracing::debug!(%error, "etcd cannot be observed");
        }
    }

    /// Observes etcd whenever its StatefulSet changes, and from time to time. Never returns.
    pub(crate) async fn watch(&self) {
        let mut facts = self.store.subscribe();
        loop {
            if facts.wait_for(|it| exists(it, &self.id)).await.is_err() {
                return;
            }
            let seen = stateful_set_version(&facts.borrow_and_update(), &self.id);
            let first = facts.borrow().etcd.is_none();
            if first {
                self.observe_if_possible().await;
            }
            let is_quiet = is_quiet(&self.store.latest());
            let interval = match is_quiet {
                true => QUIET_INTERVAL,
                false => BUSY_INTERVAL,
            };
            let next = Instant::now() + interval;
            tokio::select! {
                () = sleep_until(next) => {}
                changed = facts.wait_for(|it| stateful_set_version(it, &self.id) != seen) => {
                    if changed.is_err() { return }
                }
            }
            self.observe_if_possible().await;
        }
    }

    /// The result is in the cache when this returns, unless a later observation is there already.
    async fn observe(&self) -> Result<(), Error> {
        let at = self.store.elapsed();
        let etcd = Arc::new(self.round(at).await?);
        self.store.change(|cache, _| {
            let known = &mut cache.static_facts.etcd;
            if known.as_ref().is_none_or(|it| it.at <= at) {
                *known = Some(etcd);
            }
        });
        Ok(())
    }

    /// Connects to the pod of a member, or returns the connection to it.
    pub(crate) async fn connect(
        &self,
        ordinal: u32,
        uid: &Arc<str>,
    ) -> Result<Arc<EtcdClient>, Error> {
        if let Some(known) = self.clients().get(uid) {
            return Ok(known.clone());
        }
        let credentials = self.credentials().await?;
        let pod = format!("{}-{ordinal}", names::control_plane(&self.id, ETCD));
        let client = EtcdClient::connect(&self.provider, &pod, &credentials).await?;
        let client = Arc::new(client);
        self.clients().insert(uid.clone(), client.clone());
        Ok(client)
    }

    /// A certificate that members accept, issued again after the certificate authority has changed.
    async fn credentials(&self) -> Result<Arc<ClientCertificate>, Error> {
        let name = names::control_plane(&self.id, ETCD_CA);
        let key = ObjectKey::provider(ObjectKind::Secret, name);
        let facts = self.store.latest();
        let version = facts.objects.get(&key).map(|it| it.version.clone());
        let lock = || {
            self.credentials
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        let known = lock()
            .as_ref()
            .filter(|it| it.0 == version)
            .map(|it| it.1.clone());
        if let Some(known) = known {
            return Ok(known);
        }
        let issued = Arc::new(self.provider.etcd_certificate(&self.id).await?);
        *lock() = Some((version, issued.clone()));
        Ok(issued)
    }

    fn clients(&self) -> MutexGuard<'_, BTreeMap<Arc<str>, Arc<EtcdClient>>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks a member for its status and the members. A connection that fails is closed.
    async fn ask_member(&self, ordinal: u32, pod: &mut EtcdPod) -> Result<EtcdMembership, Error> {
        let asked = async {
            let client = self.connect(ordinal, &pod.uid).await?;
            pod.status = Some(parse_status(&client.status(ANSWER_TIMEOUT).await?)?);
            pod.exit = None;
            parse_members(&client.members(ANSWER_TIMEOUT).await?)
        };
        let what = RequestInfo::get("members of etcd");
        let asked = timeout(ASK_TIMEOUT, asked).await;
        let asked = asked.unwrap_or_else(|_| Err(timeout_error(&what, ASK_TIMEOUT)));
        if asked.is_err() {
            self.clients().remove(&pod.uid);
        }
        asked
    }

    async fn round(&self, at: Duration) -> Result<ObservedEtcd, Error> {
        let (pods, claims) =
            futures::try_join!(self.list(&resources::POD), self.list(&resources::CLAIM))?;
        let pods: Vec<PartialPod> = read_all(&resources::POD, &pods.items)?;
        let claims: Vec<PartialClaim> = read_all(&resources::CLAIM, &claims.items)?;
        let mut pods = BTreeMap::from_iter(pods.iter().filter_map(parse_pod));
        let membership = self.ask(&mut pods).await;
        let claims = claims
            .iter()
            .filter_map(|it| Some((ordinal(&it.metadata.name)?, parse_claim(it))));
        Ok(ObservedEtcd {
            at,
            stateful_set: None,
            pods,
            claims: claims.collect(),
            membership,
            client: None,
        })
    }

    async fn list(&self, resource: &'static Resource) -> Result<ObjectList, Error> {
        let selector = format!("{},{}={ETCD}", names::selector(&self.id), names::COMPONENT);
        let resource_ref = ResourceRef::all(resource, Some(self.provider.namespace()));
        self.provider.list(resource_ref, Some(&selector)).await
    }

    /// Asks all members that run for their status, and for the members; the error is why none answers.
    async fn ask(&self, pods: &mut BTreeMap<u32, EtcdPod>) -> Result<EtcdMembership, Arc<str>> {
        let running = pods.iter_mut().filter(|it| it.1.runs && !it.1.is_leaving);
        let answers = running.map(|(ordinal, pod)| self.ask_member(*ordinal, pod));
        let mut why = "no member of etcd answers".to_owned();
        for answer in join_all(answers).await {
            match answer {
                Ok(membership) => return Ok(membership),
                Err(error @ (Error::Forbidden { .. } | Error::Unauthenticated { .. })) => {
                    why = format!("etcd cannot be observed: {error}");
                }
                Err(error) => tracing::debug!(%error, "a member of etcd does not answer"),
            }
        }
        Err(why.into())
    }
}

/// Returns true if there may be something to observe.
fn exists(facts: &Facts, id: &str) -> bool {
    let is_founded = facts.record.as_ref().is_some_and(|it| it.etcd.is_some());
    is_founded || stateful_set_version(facts, id).is_some()
}

fn stateful_set_version(facts: &Facts, id: &str) -> Option<Arc<str>> {
    let key = ObjectKey::provider(ObjectKind::StatefulSet, names::control_plane(id, ETCD));
    Some(facts.objects.get(&key)?.version.clone())
}

/// Returns true if no member starts, joins or leaves.
fn is_quiet(facts: &Facts) -> bool {
    let (Some(etcd), Some(set)) = (&facts.etcd, facts.etcd_server()) else {
        return false;
    };
    let is_current = |it: &EtcdPod| {
        it.is_ready && it.status.is_some() && Some(&it.revision) == set.revision.as_ref()
    };
    let is_member =
        |it: &EtcdMembership| it.members.len() == set.replicas as usize && it.learner().is_none();
    set.start == EtcdStart::Sealed
        && etcd.pods.len() == set.replicas as usize
        && etcd.pods.values().all(is_current)
        && etcd.membership.as_ref().is_ok_and(is_member)
}

fn parse_claim(claim: &PartialClaim) -> EtcdClaim {
    let resizing = claim.status.resizing();
    EtcdClaim {
        uid: claim.metadata.uid.as_str().into(),
        version: claim.metadata.resource_version.as_str().into(),
        is_leaving: claim.metadata.is_deleting(),
        requested: claim.spec.size().and_then(bytes).unwrap_or_default(),
        capacity: claim.status.capacity().and_then(bytes),
        resizing: resizing.map(|it| it.message().unwrap_or(&it.kind).into()),
    }
}

fn parse_pod(pod: &PartialPod) -> Option<(u32, EtcdPod)> {
    let mut statuses = pod.container_statuses();
    let container = statuses.find(|it| it.name == ETCD);
    let (start, _) = parse_pods(&pod.spec);
    let load = pod.container_statuses().find(|it| it.name == LOAD);
    let parsed = EtcdPod {
        uid: pod.metadata.uid.as_str().into(),
        version: pod.metadata.resource_version.as_str().into(),
        revision: pod.metadata.label(REVISION).unwrap_or_default().into(),
        start,
        is_ready: pod.is_ready(),
        is_leaving: pod.metadata.is_deleting(),
        runs: container.is_some_and(ContainerStatus::runs),
        exit: container.and_then(parse_exit),
        load_error: load.and_then(parse_load_error),
        status: None,
    };
    Some((ordinal(&pod.metadata.name)?, parsed))
}

/// Why a container ended last. The messages are those of etcd 3.5 and 3.6.
fn parse_exit(container: &ContainerStatus) -> Option<EtcdExit> {
    let (state, last) = (&container.state, &container.last_state);
    let ended = state.terminated.as_ref().or(last.terminated.as_ref())?;
    let says = |text: &str| ended.message.contains(text);
    Some(if ended.exit_code == 0 {
        // A container that ends without an error has no message.
        EtcdExit::Removed
    } else if says("could not retrieve cluster information")
        || says("couldn't find local name")
        || says("has already been bootstrapped")
    {
        EtcdExit::Empty
    } else if says("is out of range") {
        EtcdExit::OldCopy
    } else if says("permanently removed") || says("used by this member must be removed") {
        EtcdExit::Removed
    } else {
        let line = ended.message.lines().next_back().unwrap_or_default();
        EtcdExit::Other(line.into())
    })
}

/// Why `etcdutl` made no data directory of a snapshot; it does not succeed when it is repeated.
fn parse_load_error(container: &ContainerStatus) -> Option<Arc<str>> {
    let (state, last) = (&container.state, &container.last_state);
    let ended = state.terminated.as_ref().or(last.terminated.as_ref())?;
    let line = ended.message.lines().next_back().unwrap_or_default();
    (ended.exit_code != 0).then(|| match line.trim() {
        "" => format!("etcdutl ended with exit code {}", ended.exit_code).into(),
        line => line.into(),
    })
}

fn parse_status(status: &serde_json::Value) -> Result<EtcdStatus, Error> {
    let status: EtcdMemberStatus = read_response(RequestInfo::get("status of etcd"), status)?;
    Ok(EtcdStatus {
        leader: status.leader().map(Into::into),
        revision: status.header.revision(),
        applied: status.applied(),
        size: status.size(),
        size_in_use: status.size_in_use(),
        errors: status.errors.iter().map(|it| it.as_str().into()).collect(),
        cluster_id: status.header.cluster_id.into(),
        member_id: status.header.member_id.into(),
    })
}

/// # Errors
///
/// The URL of a member is not that of a pod of the StatefulSet.
fn parse_members(list: &serde_json::Value) -> Result<EtcdMembership, Error> {
    let what = || RequestInfo::get("members of etcd");
    let list: EtcdMemberList = read_response(what(), list)?;
    let mut members = BTreeMap::new();
    for it in &list.members {
        let url = it.peer_urls.first().map(String::as_str).unwrap_or_default();
        let host = url.split("//").last().unwrap_or_default();
        let pod = host.split('.').next().unwrap_or_default();
        let Some(ordinal) = ordinal(pod) else {
            return Err(Error::InvalidResponse {
                what: what(),
                message: "it has a member that is not a pod of the shoot".to_owned(),
            });
        };
        let member = EtcdMember {
            id: it.id.as_str().into(),
            is_learner: it.is_learner,
            has_started: !it.name.is_empty(),
        };
        members.insert(ordinal, member);
    }
    Ok(EtcdMembership {
        cluster_id: list.header.cluster_id.into(),
        members,
    })
}

#[cfg(test)]
mod tests;
