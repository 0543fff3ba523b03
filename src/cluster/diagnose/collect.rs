//! Looks for causes while something is not ready, and never when all is well.

use super::cause_chain::CauseChain;
use super::cause_index::{CauseIndex, ListedObjects};
use super::machine::{PendingMachine, joining};
use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::error::Error;
use crate::cluster::client::request::empty_if_forbidden;
use crate::cluster::client::request::{ListSelector, ResourceRef};
use crate::cluster::client::resources::{self, Resource};
use crate::cluster::json::text;
use crate::cluster::observe::observation_store::ObservationStore;
use crate::cluster::observe::parse::types::ParsedBody;
use crate::plan::item::{Key, Kind, Side};
use crate::plan::names::{self, COMPONENT, role::MACHINE};
use crate::plan::observed::{Fact, Facts, Inside, Look, Machine};
use futures::future::{try_join, try_join_all};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// What is not ready for less than this needs no reason; and the least time between two looks.
const GRACE: Duration = Duration::from_secs(5);
/// Looking takes at most one part in so many of the time, so that a large shoot is not all looking.
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
        // Nobody notes since when workloads are not rolled out.
        let workloads = pending_workloads(&facts);
        pending.extend(workloads.iter().filter(|it| before.contains(*it)).cloned());
        before = workloads;
        if pending.is_empty() {
            continue;
        }
        let begun = Instant::now();
        match collect_causes(&provider, &store, &facts, &id, Detail::Brief(&pending)).await {
            Ok(causes) => store.set_causes(causes.iter().map(format_cause).collect()),
            Err(error) => tracing::debug!(%error, "cannot look for causes"),
        }
        sleep((begun.elapsed() * MAX_LOAD).saturating_sub(GRACE)).await;
    }
}

/// For a wait, whose title names what it is about.
fn format_cause((key, chain): (&Key, &CauseChain)) -> (Key, Arc<str>) {
    let told = match key.kind {
        Kind::Image => chain.describe_rest(),
        _ => chain.describe(&key.name),
    };
    (key.clone(), told.into())
}

/// What is to be looked at.
#[derive(Clone, Copy)]
pub(crate) enum Detail<'a> {
    /// What a run waits for, again and again: as little as will do.
    Brief(&'a [Key]),
    /// What a person asks for once: all there is, and nothing that only echoes what is deeper.
    Full(&'a [Key]),
}

/// Down from each that is stuck; those of which nothing is known are left out. Chains of images begin with themselves,
/// all others with what is below.
pub(crate) async fn collect_causes(
    provider: &ApiClient,
    store: &ObservationStore,
    facts: &Facts,
    id: &str,
    depth: Detail<'_>,
) -> Result<HashMap<Key, CauseChain>, Error> {
    let (pending, whole) = match depth {
        Detail::Brief(pending) => (pending, false),
        Detail::Full(pending) => (pending, true),
    };
    let had_pod = |it: &Machine| matches!(it.look, Look::Deleting | Look::NotReady);
    let had_pod = |it: &Key| machine(facts, it).is_some_and(had_pod);
    let outside = index_provider(provider, id, whole || pending.iter().any(had_pod)).await?;
    let server = store.shoot_client.get();
    let has = |wanted: &dyn Fn(&Key) -> bool| server.filter(|_| pending.iter().any(wanted));
    let joins = |it: &Key| it.kind == Kind::Machine && !facts.nodes.contains_key(&it.name);
    // What the provider says is told even while the shoot says nothing.
    let inside = match has(&|it| it.side == Side::Shoot) {
        Some(server) => index_shoot(server).await.unwrap_or_default(),
        None => CauseIndex::default(),
    };
    let requests = match has(&joins) {
        Some(server) => signing_requests(server).await,
        None => None,
    };
    let lost: HashSet<&str> = unavailable_machines(facts).collect();
    let is_echo = |pod: &Value| match text(&pod["spec"]["nodeName"]) {
        _ if !whole => false,
        "" => !lost.is_empty(),
        node => lost.contains(node),
    };
    let causes = pending.iter().filter_map(|key| {
        let cause = match (key.side, key.kind) {
            (_, Kind::Machine) => {
                let pending = pending_machine(store, facts, key, requests.as_deref());
                outside.machine_chain(&key.name, &pending, &facts.classes)
            }
            (_, Kind::Image) => outside.data_volume_chain(&key.name, &facts.classes),
            (Side::Provider, kind) => {
                outside.workload_chain(&kind.to_string(), &key.name, &facts.classes, |_| false)
            }
            (Side::Shoot, kind) => {
                let name = key.name.strip_prefix("kube-system/")?;
                inside.workload_chain(&kind.to_string(), name, &facts.classes, is_echo)
            }
        };
        Some((key.clone(), cause?))
    });
    Ok(causes.collect())
}

/// A machine with how far it got; nothing is known of that while the shoot is not looked at.
fn pending_machine(
    store: &ObservationStore,
    facts: &Facts,
    key: &Key,
    requests: Option<&[Value]>,
) -> PendingMachine {
    let pending = store.read(|cache| {
        let vm = cache.get((Side::Provider, Kind::Machine), &key.name);
        match vm.map(|it| &it.fact.body) {
            Some(ParsedBody::Machine(vm)) => PendingMachine::of(vm),
            _ => PendingMachine::default(),
        }
    });
    let has_node = facts.nodes.contains_key(&key.name);
    let joins = pending.runs && !has_node && facts.inside == Inside::Observed;
    let id = names::token_id(&key.name);
    let user = format!("system:bootstrap:{id}");
    let token = format!("kube-system/bootstrap-token-{id}");
    let has_token = facts
        .objects
        .contains_key(&Key::shoot(Kind::Token, token.as_str()));
    let requests = requests.filter(|_| joins);
    let held = requests.and_then(|it| joining(it, &user, &token, has_token));
    pending.joining(has_node, held)
}

fn machine<'a>(facts: &'a Facts, key: &Key) -> Option<&'a Machine> {
    let mut pools = facts.machines.values();
    pools.find_map(|it| it.get(&key.name).filter(|_| key.kind == Kind::Machine))
}

/// Machines that serve nobody, whatever the pods on them say.
pub(crate) fn unavailable_machines(facts: &Facts) -> impl Iterator<Item = &str> {
    let machines = facts.machines.values().flatten();
    let lost = machines.filter(|it| !matches!(it.1.look, Look::Ready | Look::Draining));
    lost.map(|it| &**it.0)
}

/// What is not rolled out; inside the shoot, that is no news before there are nodes.
pub(crate) fn pending_workloads(facts: &Facts) -> Vec<Key> {
    let has_nodes = !facts.nodes.is_empty();
    let objects = facts.objects.iter();
    let late = objects.filter(|(key, it)| match &it.fact {
        Fact::Rollout(rollout) => {
            rollout.why.is_some() && (has_nodes || key.side == Side::Provider)
        }
        _ => false,
    });
    late.map(|it| it.0.clone()).collect()
}

fn pending_objects(facts: &Facts, now: Duration) -> Vec<Key> {
    let machines = facts.machines.values().flatten().filter(|(_, it)| {
        let is_waiting = !matches!(it.look, Look::Ready | Look::Draining | Look::Drained);
        is_waiting && now.saturating_sub(it.since) > GRACE
    });
    let machines = machines.map(|(name, _)| Key::provider(Kind::Machine, name.clone()));
    let images = facts.objects.iter().filter(|(_, it)| match &it.fact {
        Fact::Image(import) => !import.done,
        _ => false,
    });
    machines.chain(images.map(|(key, _)| key.clone())).collect()
}

/// With pods of machines that run only where these may be on their way out.
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
    // A machine whose pod runs waits for its guest: no pod says anything about that.
    let pending = ListSelector {
        fields: (!running).then_some("status.phase!=Running"),
        ..ours
    };
    // Pods of the control plane that crash count as running.
    let own = format!("{labels},{COMPONENT},{COMPONENT}!={MACHINE}");
    let of_workloads = ListSelector {
        labels: Some(&own),
        fields: None,
    };
    // Importer pods do not get the labels of their volume.
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
        instances: next(),
        volumes: next(),
        claims: next(),
        events: next(),
        pods: [next(), next(), next()].concat(),
    }))
}

/// What kube-system runs, inside a shoot.
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
        pods,
        events,
        ..ListedObjects::default()
    }))
}

/// What kubelets asked to have signed; None when nobody says.
async fn signing_requests(server: &ApiClient) -> Option<Vec<Value>> {
    let resource_ref = ResourceRef::all(&resources::SIGNING_REQUEST, None);
    let listed = server.list(resource_ref, None).await;
    listed.ok().map(|it| it.items)
}
