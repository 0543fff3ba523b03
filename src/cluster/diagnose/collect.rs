//! Looks for causes while something is not ready, and never when all is well.

use super::cause_chain::Chain;
use super::index::{Around, Objects};
use super::machine::{Stuck, joining};
use crate::cluster::client::api_client::Provider;
use crate::cluster::client::error::Error;
use crate::cluster::client::request::if_allowed;
use crate::cluster::client::request::{Place, Select};
use crate::cluster::client::resources::{self, Resource};
use crate::cluster::json::text;
use crate::cluster::observe::observation_store::Shared;
use crate::cluster::observe::parse::types::Body;
use crate::state::facts::{Fact, Facts, Inside, Look, Machine};
use crate::state::key::{Key, Kind, Side};
use crate::state::names::role::MACHINE;
use crate::state::names::{self, COMPONENT};
use futures::future::{try_join, try_join_all};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// What is not ready for less than this needs no reason; and the least time between two looks.
const PATIENCE: Duration = Duration::from_secs(5);
/// Looking takes at most one part in so many of the time, so that a large shoot is not all looking.
const SHARE: u32 = 10;

const WARNINGS: Select = Select {
    labels: None,
    fields: Some("type=Warning"),
};

pub(crate) async fn look_for_causes(provider: Provider, shared: Arc<Shared>, id: String) {
    let mut before = Vec::new();
    loop {
        sleep(PATIENCE).await;
        let facts = shared.newest();
        let mut stuck = stuck(&facts, shared.now());
        // Nobody notes since when workloads are not rolled out.
        let workloads = workloads(&facts);
        stuck.extend(workloads.iter().filter(|it| before.contains(*it)).cloned());
        before = workloads;
        if stuck.is_empty() {
            continue;
        }
        let begun = Instant::now();
        match causes(&provider, &shared, &facts, &id, Depth::Wait(&stuck)).await {
            Ok(causes) => shared.tell_causes(causes.iter().map(told).collect()),
            Err(error) => tracing::debug!(%error, "cannot look for causes"),
        }
        sleep((begun.elapsed() * SHARE).saturating_sub(PATIENCE)).await;
    }
}

/// For a wait, whose title names what it is about.
fn told((key, chain): (&Key, &Chain)) -> (Key, Arc<str>) {
    let told = match key.kind {
        Kind::Image => chain.rest(),
        _ => chain.told(&key.name),
    };
    (key.clone(), told.into())
}

/// What is to be looked at.
#[derive(Clone, Copy)]
pub(crate) enum Depth<'a> {
    /// What a run waits for, again and again: as little as will do.
    Wait(&'a [Key]),
    /// What a person asks for once: all there is, and nothing that only echoes what is deeper.
    Whole(&'a [Key]),
}

/// Down from each that is stuck; those of which nothing is known are left out. Chains of images begin with themselves,
/// all others with what is below.
pub(crate) async fn causes(
    provider: &Provider,
    shared: &Shared,
    facts: &Facts,
    id: &str,
    depth: Depth<'_>,
) -> Result<HashMap<Key, Chain>, Error> {
    let (stuck, whole) = match depth {
        Depth::Wait(stuck) => (stuck, false),
        Depth::Whole(stuck) => (stuck, true),
    };
    let had_pod = |it: &Machine| matches!(it.look, Look::Deleting | Look::NotReady);
    let had_pod = |it: &Key| machine(facts, it).is_some_and(had_pod);
    let outside = around(provider, id, whole || stuck.iter().any(had_pod)).await?;
    let server = shared.inside.get();
    let has = |wanted: &dyn Fn(&Key) -> bool| server.filter(|_| stuck.iter().any(wanted));
    let joins = |it: &Key| it.kind == Kind::Machine && !facts.nodes.contains_key(&it.name);
    // What the provider says is told even while the shoot says nothing.
    let inside = match has(&|it| it.side == Side::Shoot) {
        Some(server) => around_pods(server).await.unwrap_or_default(),
        None => Around::default(),
    };
    let requests = match has(&joins) {
        Some(server) => requests(server).await,
        None => None,
    };
    let lost: HashSet<&str> = lost(facts).collect();
    let is_echo = |pod: &Value| match text(&pod["spec"]["nodeName"]) {
        _ if !whole => false,
        "" => !lost.is_empty(),
        node => lost.contains(node),
    };
    let causes = stuck.iter().filter_map(|key| {
        let cause = match (key.side, key.kind) {
            (_, Kind::Machine) => {
                let stuck = way_in(shared, facts, key, requests.as_deref());
                outside.machine(&key.name, &stuck, &facts.classes)
            }
            (_, Kind::Image) => outside.image(&key.name, &facts.classes),
            (Side::Provider, kind) => {
                outside.workload(&kind.to_string(), &key.name, &facts.classes, |_| false)
            }
            (Side::Shoot, kind) => {
                let name = key.name.strip_prefix("kube-system/")?;
                inside.workload(&kind.to_string(), name, &facts.classes, is_echo)
            }
        };
        Some((key.clone(), cause?))
    });
    Ok(causes.collect())
}

/// A machine with how far it got; nothing is known of that while the shoot is not looked at.
fn way_in(shared: &Shared, facts: &Facts, key: &Key, requests: Option<&[Value]>) -> Stuck {
    let stuck = shared.read(|world| {
        let vm = world.get((Side::Provider, Kind::Machine), &key.name);
        match vm.map(|it| &it.fact.body) {
            Some(Body::Machine(vm)) => Stuck::of(vm),
            _ => Stuck::default(),
        }
    });
    let has_node = facts.nodes.contains_key(&key.name);
    let joins = stuck.runs && !has_node && facts.inside == Inside::Observed;
    let id = names::token_id(&key.name);
    let user = format!("system:bootstrap:{id}");
    let token = format!("kube-system/bootstrap-token-{id}");
    let has_token = facts
        .objects
        .contains_key(&Key::shoot(Kind::Token, token.as_str()));
    let requests = requests.filter(|_| joins);
    let held = requests.and_then(|it| joining(it, &user, &token, has_token));
    stuck.joining(has_node, held)
}

fn machine<'a>(facts: &'a Facts, key: &Key) -> Option<&'a Machine> {
    let mut pools = facts.machines.values();
    pools.find_map(|it| it.get(&key.name).filter(|_| key.kind == Kind::Machine))
}

/// Machines that serve nobody, whatever the pods on them say.
pub(crate) fn lost(facts: &Facts) -> impl Iterator<Item = &str> {
    let machines = facts.machines.values().flatten();
    let lost = machines.filter(|it| !matches!(it.1.look, Look::Ready | Look::Draining));
    lost.map(|it| &**it.0)
}

/// What is not rolled out; inside the shoot, that is no news before there are nodes.
pub(crate) fn workloads(facts: &Facts) -> Vec<Key> {
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

fn stuck(facts: &Facts, now: Duration) -> Vec<Key> {
    let machines = facts.machines.values().flatten().filter(|(_, it)| {
        let is_waiting = !matches!(it.look, Look::Ready | Look::Draining | Look::Drained);
        is_waiting && now.saturating_sub(it.since) > PATIENCE
    });
    let machines = machines.map(|(name, _)| Key::provider(Kind::Machine, name.clone()));
    let images = facts.objects.iter().filter(|(_, it)| match &it.fact {
        Fact::Image(import) => !import.done,
        _ => false,
    });
    machines.chain(images.map(|(key, _)| key.clone())).collect()
}

/// With pods of machines that run only where these may be on their way out.
async fn around(provider: &Provider, id: &str, running: bool) -> Result<Around, Error> {
    let labels = names::selector(id);
    let ours = Select {
        labels: Some(&labels),
        fields: None,
    };
    // A machine whose pod runs waits for its guest: no pod says anything about that.
    let pending = Select {
        fields: (!running).then_some("status.phase!=Running"),
        ..ours
    };
    // Pods of the control plane that crash count as running.
    let own = format!("{labels},{COMPONENT},{COMPONENT}!={MACHINE}");
    let of_workloads = Select {
        labels: Some(&own),
        fields: None,
    };
    // Importer pods do not get the labels of their volume.
    let importers = Select {
        labels: Some("app=containerized-data-importer"),
        fields: None,
    };
    let list = async |(resource, select): (&'static Resource, Select)| {
        let place = Place::all(resource, Some(&**provider.namespace()));
        let listed = provider.list_where(place, select);
        if_allowed(listed.await.map(|it| it.items))
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
    Ok(Around::new(Objects {
        instances: next(),
        volumes: next(),
        claims: next(),
        events: next(),
        pods: [next(), next(), next()].concat(),
    }))
}

/// What kube-system runs, inside a shoot.
async fn around_pods(server: &Provider) -> Result<Around, Error> {
    let list = async |resource, select| -> Result<Vec<Value>, Error> {
        let listed = server.list_where(Place::all(resource, Some("kube-system")), select);
        Ok(listed.await?.items)
    };
    let (pods, events) = try_join(
        list(&resources::POD, Select::labels(None)),
        list(&resources::EVENT, WARNINGS),
    )
    .await?;
    Ok(Around::new(Objects {
        pods,
        events,
        ..Objects::default()
    }))
}

/// What kubelets asked to have signed; None when nobody says.
async fn requests(server: &Provider) -> Option<Vec<Value>> {
    let place = Place::all(&resources::SIGNING_REQUEST, None);
    let listed = server.list(place, None).await;
    listed.ok().map(|it| it.items)
}
