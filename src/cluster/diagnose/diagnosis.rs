//! Everything of a shoot that is not as it should be, whether a run is under way or not.

use super::cause_chain::{Advice, Chain, Link};
use super::collect::{Depth, causes, lost, workloads};
use crate::cluster::client::api_client::Provider;
use crate::cluster::client::error::Error;
use crate::cluster::observe::observation_store::Shared;
use crate::state::conditions;
use crate::state::facts::{Fact, Facts, Inside, Look, Machine};
use crate::state::key::{Key, Kind, Side};
use crate::state::names;
use std::collections::HashMap;
use std::sync::Arc;

/// One chain for each, the control plane first. What only follows from what is told by another chain is left out.
///
/// # Errors
///
/// The provider does not answer.
pub(crate) async fn diagnose(
    provider: &Provider,
    shared: &Shared,
    facts: &Facts,
) -> Result<Vec<Chain>, Error> {
    let id = shared.read(|world| world.id().clone());
    let mut asked = workloads(facts);
    asked.extend(images(facts).map(|it| it.0.clone()));
    asked.extend(machines(facts).map(|it| Key::provider(Kind::Machine, it.0.clone())));
    asked.extend(others(facts).cloned());
    let causes = match asked.as_slice() {
        [] => HashMap::new(),
        asked => causes(provider, shared, facts, &id, Depth::Whole(asked)).await?,
    };
    Ok(chains(facts, &id, &causes))
}

fn chains(facts: &Facts, id: &str, causes: &HashMap<Key, Chain>) -> Vec<Chain> {
    let mut chains = Vec::new();
    let (mut late, mut inner): (Vec<Key>, Vec<Key>) = workloads(facts)
        .into_iter()
        .partition(|it| it.side == Side::Provider);
    late.sort();
    inner.sort();
    chains.extend(late.iter().filter_map(|it| workload(facts, it, causes)));
    let api_server = names::control_plane(id, names::part::API_SERVER);
    let is_late = late.iter().any(|it| *it.name == *api_server);
    if let Inside::Unreachable(why) = &facts.inside
        && !is_late
    {
        chains.push(Chain::of(Link::new("API server", "", ""), &**why));
    }
    chains.extend(certificates(facts));
    chains.extend(images(facts).map(|(key, waits)| image(key, waits, causes)));
    chains.extend(machines(facts).map(|(name, it)| {
        let has_node = facts.nodes.contains_key(name);
        machine(name, it, has_node, causes)
    }));
    chains.extend(others(facts).filter_map(|key| {
        let below = causes.get(key)?.clone();
        Some(below.under(Link::new("Machine", key.name.clone(), "")))
    }));
    chains.extend(nodes_without_machine(facts));
    let before = chains.len();
    let told = inner.iter().filter_map(|it| inside(facts, it, causes));
    chains.extend(told);
    // What they ask is answered by pods inside.
    let serves = facts.nodes.values().any(|it| it.serves);
    if chains.len() == before && serves && lost(facts).next().is_none() {
        chains.extend(answers(facts));
    }
    chains
}

/// What a workload misses, down to the pod that says why.
fn workload(facts: &Facts, key: &Key, causes: &HashMap<Key, Chain>) -> Option<Chain> {
    let Fact::Rollout(rollout) = &facts.objects.get(key)?.fact else {
        return None;
    };
    // A run that goes on by itself has added what is below.
    let why = rollout.why.as_deref().unwrap_or_default();
    let why = why.split_once("; ").map_or(why, |it| it.0);
    let own = Link::new(key.kind.to_string(), key.name.clone(), why);
    let below = causes.get(key).cloned().unwrap_or_default();
    Some(below.under(own))
}

/// None of one that has none yet.
fn certificates(facts: &Facts) -> Option<Chain> {
    let objects = facts
        .objects
        .iter()
        .filter(|it| it.0.side == Side::Provider);
    let ends = objects.filter_map(|(key, it)| match &it.fact {
        Fact::Secret(secret) => Some((secret.certificate.as_ref()?.expires, key.name.clone())),
        _ => None,
    });
    let first = ends.min()?;
    let found = conditions::certificates(Some(&first), facts.time);
    let own = Link::new("Secret", first.1, "");
    (!found.is_true).then(|| Chain::of(own, found.message).advised(Advice::Apply))
}

/// Where machines are missing that its pods would run on, a workload of which nothing more is known says nothing new.
fn inside(facts: &Facts, key: &Key, causes: &HashMap<Key, Chain>) -> Option<Chain> {
    let is_echo = !causes.contains_key(key) && lost(facts).next().is_some();
    workload(facts, key, causes).filter(|_| !is_echo)
}

fn images(facts: &Facts) -> impl Iterator<Item = (&Key, String)> {
    let objects = facts.objects.iter();
    let late = objects.filter_map(|(key, it)| match &it.fact {
        Fact::Image(import) if !import.done => {
            let percent = import.percent.map(|it| format!("{it:.0} % imported"));
            let said = import.failed.as_deref().or(import.waits.as_deref());
            Some((key, percent.or(said.map(str::to_owned)).unwrap_or_default()))
        }
        _ => None,
    });
    let mut late: Vec<_> = late.collect();
    late.sort();
    late.into_iter()
}

fn image(key: &Key, waits: String, causes: &HashMap<Key, Chain>) -> Chain {
    let own = Link::new("DataVolume", key.name.clone(), "");
    causes.get(key).cloned().unwrap_or(Chain::of(own, waits))
}

fn machines(facts: &Facts) -> impl Iterator<Item = (&Arc<str>, &Machine)> {
    let machines = facts.machines.values().flatten();
    machines.filter(|it| it.1.look != Look::Ready)
}

/// Machines that an earlier shoot of the name left, or one whose record is gone.
fn others(facts: &Facts) -> impl Iterator<Item = &Key> {
    let keys = facts.foreign.keys();
    keys.filter(|it| it.side == Side::Provider && it.kind == Kind::Machine)
}

fn machine(
    name: &Arc<str>,
    machine: &Machine,
    has_node: bool,
    causes: &HashMap<Key, Chain>,
) -> Chain {
    let own = Link::new("Machine", name.clone(), "");
    let key = Key::provider(Kind::Machine, name.clone());
    if let Some(below) = causes.get(&key) {
        return below.clone().under(own);
    }
    let said = machine.cause.as_deref().unwrap_or_default();
    match machine.look {
        Look::Draining | Look::Drained => {
            let words = match said {
                "" => "it is to be emptied, and removed".to_owned(),
                said => format!("it is to be emptied, and removed: {said}"),
            };
            Chain::of(own, words)
        }
        // Only its node is left to be waited for.
        _ if machine.runs && has_node => {
            let node = Chain::of(Link::new("Node", name.clone(), "not ready"), said);
            // Kubernetes' own words for a node whose kubelet says nothing.
            match said.contains("stopped posting") {
                true => node.advised(Advice::Console),
                false => node,
            }
            .under(own)
        }
        _ if machine.runs => {
            let node = Link::new("Node", name.clone(), "missing");
            let message = "its VM runs, and has not joined the shoot";
            Chain::of(node, message).advised(Advice::Console).under(own)
        }
        _ => Chain::of(
            Link::new("VirtualMachine", name.clone(), machine.status.clone()),
            said,
        )
        .under(own),
    }
}

/// Nodes of ours that no machine is any more.
fn nodes_without_machine(facts: &Facts) -> impl Iterator<Item = Chain> {
    let has_machine = |name: &str| facts.machines.values().any(|it| it.contains_key(name));
    let nodes = facts.nodes.iter();
    let left = nodes.filter(move |(name, it)| it.is_ours && !it.serves && !has_machine(name));
    left.map(|(name, it)| {
        let below = Chain::of(Link::new("VirtualMachine", name.clone(), ""), "not found");
        below
            .advised(Advice::Apply)
            .under(Link::new("Node", name.clone(), it.why.clone()))
    })
}

fn answers(facts: &Facts) -> Vec<Chain> {
    let silent = facts.objects.iter().filter_map(|(key, it)| match &it.fact {
        Fact::Answer(Some(why)) => {
            let own = Link::new(key.kind.to_string(), key.name.clone(), "");
            Some(Chain::of(own, &**why))
        }
        _ => None,
    });
    let mut silent: Vec<Chain> = silent.collect();
    silent.sort_by_key(Chain::to_string);
    silent
}

#[cfg(test)]
#[path = "diagnosis_tests.rs"]
mod tests;
