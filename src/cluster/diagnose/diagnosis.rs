//! Diagnosis of a complete shoot, with or without a run in progress.

use super::cause_chain::{Advice, Cause, CauseChain};
use super::collect::{Detail, collect_causes, pending_workloads, unavailable_machines};
use super::console::add_consoles;
use super::machine::pending_request;
use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::error::Error;
use crate::cluster::observe::observation_store::ObservationStore;
use crate::state::conditions;
use crate::state::facts::certificate_judgment::judged;
use crate::state::facts::{
    Facts, KubeletSigner, MachinePhase, ObjectStatus, ObservedMachine, ShootApi,
};
use crate::state::key::{ClusterSide, ObjectKey, ObjectKind};
use crate::state::names;
use std::collections::HashMap;
use std::sync::Arc;

/// One chain for each problem, the control plane first. Problems that only follow from another one are left out.
///
/// # Errors
///
/// The provider cluster does not answer.
pub(crate) async fn diagnose(
    provider: &ApiClient,
    store: &ObservationStore,
    facts: &Facts,
) -> Result<Vec<CauseChain>, Error> {
    let id = store.read(|cache| cache.id().clone());
    let mut asked = pending_workloads(facts);
    asked.extend(pending_images(facts).map(|it| it.0.clone()));
    asked.extend(
        unready_machines(facts).map(|it| ObjectKey::provider(ObjectKind::Machine, it.0.clone())),
    );
    asked.extend(orphaned_machines(facts).cloned());
    let causes = match asked.as_slice() {
        [] => HashMap::new(),
        asked => collect_causes(provider, store, facts, &id, Detail::Full(asked)).await?,
    };
    let mut chains = cause_chains(facts, &id, &causes);
    add_consoles(provider, &id, facts, &mut chains).await;
    Ok(chains)
}

pub(crate) fn cause_chains(
    facts: &Facts,
    id: &str,
    causes: &HashMap<ObjectKey, CauseChain>,
) -> Vec<CauseChain> {
    let mut chains = Vec::new();
    let (mut late, mut inner): (Vec<ObjectKey>, Vec<ObjectKey>) = pending_workloads(facts)
        .into_iter()
        .partition(|it| it.side == ClusterSide::Provider);
    late.sort();
    inner.sort();
    chains.extend(
        late.iter()
            .filter_map(|it| workload_chain(facts, it, causes)),
    );
    let api_server = names::control_plane(id, names::part::API_SERVER);
    let is_late = late.iter().any(|it| *it.name == *api_server);
    if let ShootApi::Unreachable(why) = &facts.shoot_api
        && !is_late
    {
        chains.push(CauseChain::new(Cause::new("API server", "", ""), &**why));
    }
    chains.extend(certificate_chain(facts));
    chains.extend(pending_images(facts).map(|(key, waits)| image_chain(key, waits, causes)));
    chains.extend(unready_machines(facts).map(|(name, it)| {
        let has_node = facts.nodes.contains_key(name);
        machine_chain(name, it, has_node, causes)
    }));
    chains.extend(orphaned_machines(facts).filter_map(|key| {
        let below = causes.get(key)?.clone();
        Some(below.under(Cause::new("Machine", key.name.clone(), "")))
    }));
    chains.extend(nodes_without_machine(facts));
    chains.extend(pending_certificates(facts));
    let before = chains.len();
    let told = inner
        .iter()
        .filter_map(|it| shoot_workload_chain(facts, it, causes));
    chains.extend(told);
    // Their endpoints are pods in the shoot.
    let serves = facts.nodes.values().any(|it| it.serves);
    if chains.len() == before && serves && unavailable_machines(facts).next().is_none() {
        chains.extend(unavailable_apis(facts));
    }
    chains
}

/// A workload that is not rolled out, down to its pod.
fn workload_chain(
    facts: &Facts,
    key: &ObjectKey,
    causes: &HashMap<ObjectKey, CauseChain>,
) -> Option<CauseChain> {
    let ObjectStatus::Rollout(rollout) = &facts.objects.get(key)?.status else {
        return None;
    };
    // A waiting run has already appended the cause.
    let why = rollout.why.as_deref().unwrap_or_default();
    let why = why.split_once("; ").map_or(why, |it| it.0);
    let own = Cause::new(key.kind.to_string(), key.name.clone(), why);
    let below = causes.get(key).cloned().unwrap_or_default();
    Some(below.under(own))
}

/// None if it is not issued yet.
fn certificate_chain(facts: &Facts) -> Option<CauseChain> {
    let first = conditions::earliest_expiry(facts)?;
    let found = conditions::certificates(Some(&first), facts.time);
    let own = Cause::new("Secret", first.1, "");
    (!found.is_true).then(|| CauseChain::new(own, found.message).with_advice(Advice::Apply))
}

/// While machines are missing, a workload without a known cause of its own is left out.
fn shoot_workload_chain(
    facts: &Facts,
    key: &ObjectKey,
    causes: &HashMap<ObjectKey, CauseChain>,
) -> Option<CauseChain> {
    let is_echo = !causes.contains_key(key) && unavailable_machines(facts).next().is_some();
    workload_chain(facts, key, causes).filter(|_| !is_echo)
}

/// Ready machines with a request for a serving certificate that is not decided: the API server cannot reach their kubelets
/// without one.
fn pending_certificates(facts: &Facts) -> impl Iterator<Item = CauseChain> {
    judged(facts).filter_map(|(name, observed, machine, verdict)| {
        let is_ready = facts.machine(&machine)?.phase == MachinePhase::Ready;
        let is_serving = observed.request.signer == KubeletSigner::Serving;
        let own = Cause::new("Machine", machine, "");
        (is_ready && is_serving).then(|| pending_request(name, Some(&verdict)).under(own))
    })
}

fn pending_images(facts: &Facts) -> impl Iterator<Item = (&ObjectKey, String)> {
    let objects = facts.objects.iter();
    let late = objects.filter_map(|(key, it)| match &it.status {
        ObjectStatus::Image(import) if !import.done => {
            let percent = import.percent.map(|it| format!("import at {it:.0}%"));
            let reason = import.failed.as_deref().or(import.waits.as_deref());
            Some((
                key,
                percent.or(reason.map(str::to_owned)).unwrap_or_default(),
            ))
        }
        _ => None,
    });
    let mut late: Vec<_> = late.collect();
    late.sort();
    late.into_iter()
}

fn image_chain(
    key: &ObjectKey,
    waits: String,
    causes: &HashMap<ObjectKey, CauseChain>,
) -> CauseChain {
    let own = Cause::new("DataVolume", key.name.clone(), "");
    causes
        .get(key)
        .cloned()
        .unwrap_or(CauseChain::new(own, waits))
}

fn unready_machines(facts: &Facts) -> impl Iterator<Item = (&Arc<str>, &ObservedMachine)> {
    let machines = facts.machines.values().flatten();
    machines.filter(|it| it.1.phase != MachinePhase::Ready)
}

/// Machines of an earlier shoot of this name, or of one without a record.
fn orphaned_machines(facts: &Facts) -> impl Iterator<Item = &ObjectKey> {
    let keys = facts.foreign.keys();
    keys.filter(|it| it.side == ClusterSide::Provider && it.kind == ObjectKind::Machine)
}

fn machine_chain(
    name: &Arc<str>,
    machine: &ObservedMachine,
    has_node: bool,
    causes: &HashMap<ObjectKey, CauseChain>,
) -> CauseChain {
    let own = Cause::new("Machine", name.clone(), "");
    let key = ObjectKey::provider(ObjectKind::Machine, name.clone());
    if let Some(below) = causes.get(&key) {
        return below.clone().under(own);
    }
    let reason = machine.cause.as_deref().unwrap_or_default();
    match machine.phase {
        MachinePhase::Draining | MachinePhase::Drained => {
            let words = match reason {
                "" => "waiting to be drained and deleted".to_owned(),
                reason => format!("waiting to be drained and deleted: {reason}"),
            };
            CauseChain::new(own, words)
        }
        // Only the node is missing.
        _ if machine.runs && has_node => {
            let node = CauseChain::new(Cause::new("Node", name.clone(), "not ready"), reason);
            // Kubernetes' message for a node with a silent kubelet.
            match reason.contains("stopped posting") {
                true => node.with_advice(Advice::Console),
                false => node,
            }
            .under(own)
        }
        _ if machine.runs => {
            let node = Cause::new("Node", name.clone(), "missing");
            let message = "VM running, waiting for node to register";
            CauseChain::new(node, message)
                .with_advice(Advice::Console)
                .under(own)
        }
        _ => CauseChain::new(
            Cause::new("VirtualMachine", name.clone(), machine.status.clone()),
            reason,
        )
        .under(own),
    }
}

/// Nodes of the shoot whose machine does not exist.
fn nodes_without_machine(facts: &Facts) -> impl Iterator<Item = CauseChain> {
    let has_machine = |name: &str| facts.machines.values().any(|it| it.contains_key(name));
    let nodes = facts.nodes.iter();
    let left = nodes.filter(move |(name, it)| it.is_ours && !it.serves && !has_machine(name));
    left.map(|(name, it)| {
        let below = CauseChain::new(Cause::new("VirtualMachine", name.clone(), ""), "not found");
        below
            .with_advice(Advice::Apply)
            .under(Cause::new("Node", name.clone(), it.why.clone()))
    })
}

fn unavailable_apis(facts: &Facts) -> Vec<CauseChain> {
    let silent = facts
        .objects
        .iter()
        .filter_map(|(key, it)| match &it.status {
            ObjectStatus::Answer(Some(why)) => {
                let own = Cause::new(key.kind.to_string(), key.name.clone(), "");
                Some(CauseChain::new(own, &**why))
            }
            _ => None,
        });
    let mut silent: Vec<CauseChain> = silent.collect();
    silent.sort_by_key(CauseChain::to_string);
    silent
}

#[cfg(test)]
#[path = "diagnosis_tests.rs"]
mod tests;
