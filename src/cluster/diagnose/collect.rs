//! Collection of causes while something is not ready; idle otherwise.

use super::cause_chain::CauseChain;
use super::cause_index::{CauseIndex, ListedObjects};
use super::machine::{PendingMachine, joining};
use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::error::Error;
use crate::cluster::client::request::empty_if_forbidden;
use crate::cluster::client::request::{ListSelector, ResourceRef};
use crate::cluster::client::resources::{self, Resource};
use crate::cluster::objects::core::pod::PartialPod;
use crate::cluster::objects::reader::read_all;
use crate::cluster::objects::signing_request::PartialSigningRequest;
use crate::cluster::observe::observation_store::ObservationStore;
use crate::cluster::observe::parse::types::ParsedBody;
use crate::state::facts::certificate_judgment::judge;
use crate::state::facts::{Facts, MachinePhase, ObjectStatus, ObservedMachine, ShootApi};
use crate::state::key::{ClusterSide, ObjectKey, ObjectKind};
use crate::state::names::role::MACHINE;
use crate::state::names::{self, COMPONENT};
use futures::future::{try_join, try_join_all};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Age from which an unready object needs an explanation, and the minimum time between collections.
const GRACE: Duration = Duration::from_secs(5);
/// Collecting takes at most one part in this many of the time.
const MAX_LOAD: u32 = 10;

const WARNINGS: ListSelector = ListSelector {
    labels: None,
    fields: Some("type=Warning"),
};

pub(crate) async fn watch_causes(provider: ApiClient, store: Arc<ObservationStore>, id: String) {
    let mut before = Vec::new();
    loop {
        sleep(GRACE).await;
        let facts = store.latest();
        let mut pending = pending_objects(&facts, store.elapsed());
        // The time since a workload is not rolled out is not recorded.
        let workloads = pending_workloads(&facts);
        pending.extend(workloads.iter().filter(|it| before.contains(*it)).cloned());
        before = workloads;
        if pending.is_empty() {
            continue;
        }
        let begun = Instant::now();
        match collect_causes(&provider, &store, &facts, &id, Detail::Brief(&pending)).await {
            Ok(causes) => store.set_causes(causes.iter().map(format_cause).collect()),
            Err(error) => tracing::debug!(%error, "cannot collect causes"),
        }
        sleep((begun.elapsed() * MAX_LOAD).saturating_sub(GRACE)).await;
    }
}

/// For a wait, whose title names the object.
fn format_cause((key, chain): (&ObjectKey, &CauseChain)) -> (ObjectKey, Arc<str>) {
    let told = match key.kind {
        ObjectKind::ImageVolume => chain.describe_rest(),
        _ => chain.describe(&key.name),
    };
    (key.clone(), told.into())
}

/// Amount of detail to collect.
#[derive(Clone, Copy)]
pub(crate) enum Detail<'a> {
    /// For a waiting run, which repeats it: as little as possible.
    Brief(&'a [ObjectKey]),
    /// For a single report: everything, without causes that only follow from others.
    Full(&'a [ObjectKey]),
}

/// Collects a chain for each pending object; objects without a known cause are left out. Chains of images begin with
/// the image itself, all others with the first cause.
pub(crate) async fn collect_causes(
    provider: &ApiClient,
    store: &ObservationStore,
    facts: &Facts,
    id: &str,
    detail: Detail<'_>,
) -> Result<HashMap<ObjectKey, CauseChain>, Error> {
    let (pending, full) = match detail {
        Detail::Brief(pending) => (pending, false),
        Detail::Full(pending) => (pending, true),
    };
    let had_pod =
        |it: &ObservedMachine| matches!(it.phase, MachinePhase::Deleting | MachinePhase::NotReady);
    let had_pod = |it: &ObjectKey| machine(facts, it).is_some_and(had_pod);
    let provider_index = index_provider(provider, id, full || pending.iter().any(had_pod)).await?;
    let server = store.shoot_client.get();
    let has = |wanted: &dyn Fn(&ObjectKey) -> bool| server.filter(|_| pending.iter().any(wanted));
    let joins =
        |it: &ObjectKey| it.kind == ObjectKind::Machine && !facts.nodes.contains_key(&it.name);
    // The provider's causes are reported even while the shoot does not answer.
    let shoot_index = match has(&|it| it.side == ClusterSide::Shoot) {
        Some(server) => index_shoot(server).await.unwrap_or_default(),
        None => CauseIndex::default(),
    };
    let requests = match has(&joins) {
        Some(server) => signing_requests(server).await,
        None => None,
    };
    let lost: HashSet<&str> = unavailable_machines(facts).collect();
    let is_echo = |pod: &PartialPod| match pod.spec.node_name.as_deref() {
        _ if !full => false,
        None => !lost.is_empty(),
        Some(node) => lost.contains(node),
    };
    let causes = pending.iter().filter_map(|key| {
        let cause = match (key.side, key.kind) {
            (_, ObjectKind::Machine) => {
                let pending = pending_machine(store, facts, key, requests.as_deref());
                provider_index.machine_chain(&key.name, &pending, &facts.storage_classes)
            }
            (_, ObjectKind::ImageVolume) => {
                provider_index.data_volume_chain(&key.name, &facts.storage_classes)
            }
            (ClusterSide::Provider, kind) => provider_index.workload_chain(
                &kind.to_string(),
                &key.name,
                &facts.storage_classes,
                |_| false,
            ),
            (ClusterSide::Shoot, kind) => {
                let name = key.name.strip_prefix("kube-system/")?;
                shoot_index.workload_chain(&kind.to_string(), name, &facts.storage_classes, is_echo)
            }
        };
        Some((key.clone(), cause?))
    });
    Ok(causes.collect())
}

/// State of a machine on its way into the shoot; unknown while the shoot is not observed.
fn pending_machine(
    store: &ObservationStore,
    facts: &Facts,
    key: &ObjectKey,
    requests: Option<&[PartialSigningRequest]>,
) -> PendingMachine {
    let pending = store.read(|cache| {
        let vm = cache.get((ClusterSide::Provider, ObjectKind::Machine), &key.name);
        match vm.map(|it| &it.fact.body) {
            Some(ParsedBody::Machine(vm)) => PendingMachine::of(vm),
            _ => PendingMachine::default(),
        }
    });
    let has_node = facts.nodes.contains_key(&key.name);
    let joins = pending.runs && !has_node && facts.shoot_api == ShootApi::Reachable;
    let id = names::token_id(&key.name);
    let user = format!("system:bootstrap:{id}");
    let token = format!("kube-system/bootstrap-token-{id}");
    let has_token = facts.objects.contains_key(&ObjectKey::shoot(
        ObjectKind::BootstrapToken,
        token.as_str(),
    ));
    let requests = requests.filter(|_| joins);
    let verdict = |name: &str| {
        let request = &facts.signing_requests.get(name)?.request;
        judge(name, request, facts).map(|it| it.1)
    };
    let held = requests.and_then(|it| joining(it, &user, &token, has_token, verdict));
    pending.joining(has_node, held)
}

fn machine<'a>(facts: &'a Facts, key: &ObjectKey) -> Option<&'a ObservedMachine> {
    let mut pools = facts.machines.values();
    pools.find_map(|it| {
        it.get(&key.name)
            .filter(|_| key.kind == ObjectKind::Machine)
    })
}

/// Machines that cannot run pods.
pub(crate) fn unavailable_machines(facts: &Facts) -> impl Iterator<Item = &str> {
    let machines = facts.machines.values().flatten();
    let lost =
        machines.filter(|it| !matches!(it.1.phase, MachinePhase::Ready | MachinePhase::Draining));
    lost.map(|it| &**it.0)
}

/// Workloads that are not rolled out; those of a shoot only once it has nodes.
pub(crate) fn pending_workloads(facts: &Facts) -> Vec<ObjectKey> {
    let has_nodes = !facts.nodes.is_empty();
    let objects = facts.objects.iter();
    let late = objects.filter(|(key, it)| match &it.status {
        ObjectStatus::Rollout(rollout) => {
            rollout.why.is_some() && (has_nodes || key.side == ClusterSide::Provider)
        }
        _ => false,
    });
    late.map(|it| it.0.clone()).collect()
}

fn pending_objects(facts: &Facts, now: Duration) -> Vec<ObjectKey> {
    let machines = facts.machines.values().flatten().filter(|(_, it)| {
        let is_waiting = !matches!(
            it.phase,
            MachinePhase::Ready | MachinePhase::Draining | MachinePhase::Drained
        );
        is_waiting && now.saturating_sub(it.since) > GRACE
    });
    let machines = machines.map(|(name, _)| ObjectKey::provider(ObjectKind::Machine, name.clone()));
    let images = facts.objects.iter().filter(|(_, it)| match &it.status {
        ObjectStatus::Image(import) => !import.done,
        _ => false,
    });
    machines.chain(images.map(|(key, _)| key.clone())).collect()
}

/// Includes pods of running machines only where these may be terminating.
async fn index_provider(
    provider: &ApiClient,
    id: &str,
    running: bool,
) -> Result<CauseIndex, Error> {
    let labels = names::selector(id);
    let ours = ListSelector {
        labels: Some(&labels),
        fields: None,
    };
    // A machine with a running pod waits for its guest, which no pod reports.
    let pending = ListSelector {
        fields: (!running).then_some("status.phase!=Running"),
        ..ours
    };
    // Crashing pods of the control plane have phase Running.
    let own = format!("{labels},{COMPONENT},{COMPONENT}!={MACHINE}");
    let of_workloads = ListSelector {
        labels: Some(&own),
        fields: None,
    };
    // Importer pods do not inherit the labels of their volume.
    let importers = ListSelector {
        labels: Some("app=containerized-data-importer"),
        fields: None,
    };
    let list = async |(resource, select): (&'static Resource, ListSelector)| {
        let resource_ref = ResourceRef::all(resource, Some(&**provider.namespace()));
        let listed = provider.list_selected(resource_ref, select);
        empty_if_forbidden(listed.await.map(|it| it.items))
    };
    let lists = [
        (&resources::VIRTUAL_MACHINE_INSTANCE, ours),
        (&resources::DATA_VOLUME, ours),
        (&resources::CLAIM, ours),
        (&resources::EVENT, WARNINGS),
        (&resources::POD, pending),
        (&resources::POD, importers),
        (&resources::POD, of_workloads),
    ];
    let mut lists = try_join_all(lists.map(list)).await?.into_iter();
    let mut next = || lists.next().unwrap_or_default();
    Ok(CauseIndex::new(ListedObjects {
        instances: read_all(&resources::VIRTUAL_MACHINE_INSTANCE, &next())?,
        volumes: read_all(&resources::DATA_VOLUME, &next())?,
        claims: read_all(&resources::CLAIM, &next())?,
        events: read_all(&resources::EVENT, &next())?,
        pods: read_all(&resources::POD, &[next(), next(), next()].concat())?,
    }))
}

/// Pods and warnings of kube-system in a shoot.
async fn index_shoot(server: &ApiClient) -> Result<CauseIndex, Error> {
    let list = async |resource, select| -> Result<Vec<Value>, Error> {
        let listed = server.list_selected(ResourceRef::all(resource, Some("kube-system")), select);
        Ok(listed.await?.items)
    };
    let (pods, events) = try_join(
        list(&resources::POD, ListSelector::labels(None)),
        list(&resources::EVENT, WARNINGS),
    )
    .await?;
    Ok(CauseIndex::new(ListedObjects {
        pods: read_all(&resources::POD, &pods)?,
        events: read_all(&resources::EVENT, &events)?,
        ..ListedObjects::default()
    }))
}

/// Signing requests of kubelets; None if they cannot be listed.
async fn signing_requests(server: &ApiClient) -> Option<Vec<PartialSigningRequest>> {
    let resource_ref = ResourceRef::all(&resources::SIGNING_REQUEST, None);
    let listed = server.list(resource_ref, None).await.ok()?;
    read_all(&resources::SIGNING_REQUEST, &listed.items).ok()
}
