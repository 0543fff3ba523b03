//! Causes of pods and their workloads.

use super::cause_chain::{Advice, Cause, CauseChain};
use super::cause_index::{
    CauseIndex, StorageClasses, event_message, failed_condition, single_line,
};
use crate::cluster::json::{arc, items, text};
use crate::cluster::json::{is_deleting, is_pod_ready};
use serde_json::Value;
use std::sync::Arc;

/// Maximum length of a message of one or two sentences, in bytes.
const MAX_MESSAGE: usize = 200;
/// Lines of a log that are kept.
const LOG_LINES: usize = 5;

impl CauseIndex {
    /// Why the pods of a workload are missing or not ready.
    ///
    /// Pods for which `is_echo` returns true were lost with their node and are skipped.
    pub(crate) fn workload_chain(
        &self,
        kind: &str,
        name: &str,
        classes: &StorageClasses,
        is_echo: impl Fn(&Value) -> bool,
    ) -> Option<CauseChain> {
        let is_its = |(owner, other): &(Arc<str>, Arc<str>)| {
            let of_set = other.rsplit_once('-').map(|it| it.0);
            (&**owner, &**other) == (kind, name)
                || kind == "Deployment" && &**owner == "ReplicaSet" && of_set == Some(name)
        };
        let pods = self.pods.iter().filter(|it| is_its(it.0));
        let mut pods: Vec<&Value> = pods.flat_map(|it| it.1).collect();
        pods.retain(|it| !is_deleting(it) && !is_pod_ready(it) && !is_echo(it));
        pods.sort_by_key(|it| text(&it["metadata"]["name"]));
        let of_claim = || {
            pods.iter()
                .find_map(|it| self.claim_chain_of_pod(it, classes))
        };
        let of_pod = || pods.iter().find_map(|it| pod_chain(it));
        let of_pod_s_warning = || {
            pods.iter().find_map(|it| {
                let name = text(&it["metadata"]["name"]);
                Some(CauseChain::reported(
                    pod_cause(it),
                    event_message(self.warning("Pod", name)?)?,
                ))
            })
        };
        // Warnings about pods that cannot be created belong to their controller.
        let of_maker = || {
            let about = self.warnings.iter().filter(|it| is_its(it.0));
            let messages =
                about.filter_map(|((kind, name), it)| Some((event_message(it)?, kind, name)));
            let (message, kind, name) = messages.min()?;
            Some(CauseChain::reported(
                Cause::new(kind.clone(), name.clone(), ""),
                message,
            ))
        };
        of_claim()
            .or_else(of_pod)
            .or_else(of_pod_s_warning)
            .or_else(of_maker)
    }

    /// A pod that waits for its PersistentVolumeClaim.
    fn claim_chain_of_pod(&self, pod: &Value, classes: &StorageClasses) -> Option<CauseChain> {
        let waits = text(&pod["status"]["phase"]) == "Pending";
        let mut claims = claims_of(pod).filter(|_| waits);
        let chain = claims.find_map(|it| self.claim_chain(it, classes))?;
        Some(chain.under(pod_cause(pod)))
    }
}

/// Why a pod does not run: the scheduler's message, otherwise those of its containers.
pub(crate) fn pod_chain(pod: &Value) -> Option<CauseChain> {
    if is_deleting(pod) {
        return None;
    }
    if let Some(words) = failed_condition(pod, "PodScheduled") {
        return Some(CauseChain::reported(pod_cause(pod), words));
    }
    let mut waiting = containers(pod).filter(|it| it["ready"] != true);
    waiting.find_map(|it| container(pod_cause(pod), it))
}

/// With the status that kubectl shows.
pub(crate) fn pod_cause(pod: &Value) -> Cause {
    let phase = match is_deleting(pod) {
        true => "Terminating",
        false => text(&pod["status"]["phase"]),
    };
    let waits = containers(pod).map(|it| text(&it["state"]["waiting"]["reason"]));
    let mut waits = waits.filter(|it| !it.is_empty() && !is_transient(it));
    let state = match phase {
        "Terminating" => phase,
        phase => waits.next().unwrap_or(phase),
    };
    let name = arc(&pod["metadata"]["name"]);
    Cause::new("Pod", name, state)
}

fn containers(pod: &Value) -> impl Iterator<Item = &Value> {
    let status = &pod["status"];
    items(&status["initContainerStatuses"])
        .iter()
        .chain(items(&status["containerStatuses"]))
}

fn is_transient(reason: &str) -> bool {
    matches!(reason, "ContainerCreating" | "PodInitializing")
}

/// The previous exit of a container of pod `own` explains more than its current wait for a restart.
fn container(own: Cause, status: &Value) -> Option<CauseChain> {
    let ends = [
        &status["state"]["terminated"],
        &status["lastState"]["terminated"],
    ];
    let crashed = ends
        .into_iter()
        .find(|it| it["exitCode"].as_i64() > Some(0));
    if let Some(end) = crashed {
        let output = text(&end["message"]);
        let words = match last_message(output) {
            words if words.is_empty() => format!("exit code {}", end["exitCode"]),
            words => format!("exit code {}: {words}", end["exitCode"]),
        };
        let container = arc(&status["name"]);
        return Some(CauseChain {
            log: last_lines(output),
            ..CauseChain::new(own, words).with_advice(Advice::Log { container })
        });
    }
    let waits = &status["state"]["waiting"];
    let words = match (text(&waits["reason"]), text(&waits["message"])) {
        (reason, "") if reason.is_empty() || is_transient(reason) => return None,
        (reason, "") => reason.to_owned(),
        (_, message) => single_line(message),
    };
    Some(CauseChain::reported(own, words))
}

/// A message may be the end of a log, whose last line has the cause.
fn last_message(message: &str) -> String {
    let whole = single_line(message);
    match message.trim().lines().next_back() {
        Some(last) if whole.len() > MAX_MESSAGE => single_line(last),
        _ => whole,
    }
}

/// The last lines, if there are more than one or two sentences.
fn last_lines(message: &str) -> Vec<String> {
    if single_line(message).len() <= MAX_MESSAGE {
        return Vec::new();
    }
    let lines: Vec<&str> = message.trim().lines().collect();
    let last = lines.len().saturating_sub(LOG_LINES);
    lines[last..].iter().map(|it| single_line(it)).collect()
}

/// Names of the PersistentVolumeClaims that a pod mounts.
fn claims_of(pod: &Value) -> impl Iterator<Item = &str> {
    let volumes = items(&pod["spec"]["volumes"]).iter();
    volumes.filter_map(|it| it["persistentVolumeClaim"]["claimName"].as_str())
}
