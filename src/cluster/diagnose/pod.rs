//! Pods, and the workloads that they are of.

use super::cause_chain::{Advice, Chain, Link};
use super::index::{Around, Classes, condition, message, plain};
use crate::cluster::json::{arc, items, text};
use crate::cluster::json::{is_leaving, serves};
use serde_json::Value;
use std::sync::Arc;

/// Bytes of a message that is more than a sentence or two.
const LONG: usize = 200;
/// Of a log.
const LINES: usize = 5;

impl Around {
    /// Why the pods of a workload are not what they should be, or not there.
    ///
    /// Those that `is_echo` says to be lost with the host that they are on say nothing new.
    pub(crate) fn workload(
        &self,
        kind: &str,
        name: &str,
        classes: &Classes,
        is_echo: impl Fn(&Value) -> bool,
    ) -> Option<Chain> {
        let is_its = |(owner, other): &(Arc<str>, Arc<str>)| {
            let of_set = other.rsplit_once('-').map(|it| it.0);
            (&**owner, &**other) == (kind, name)
                || kind == "Deployment" && &**owner == "ReplicaSet" && of_set == Some(name)
        };
        let pods = self.pods.iter().filter(|it| is_its(it.0));
        let mut pods: Vec<&Value> = pods.flat_map(|it| it.1).collect();
        pods.retain(|it| !is_leaving(it) && !serves(it) && !is_echo(it));
        pods.sort_by_key(|it| text(&it["metadata"]["name"]));
        let of_claim = || pods.iter().find_map(|it| self.mounts(it, classes));
        let of_pod = || pods.iter().find_map(|it| trouble(it));
        let of_pod_s_warning = || {
            pods.iter().find_map(|it| {
                let name = text(&it["metadata"]["name"]);
                Some(Chain::said(link(it), message(self.warning("Pod", name)?)?))
            })
        };
        // What keeps pods from being made stands on who makes them.
        let of_maker = || {
            let about = self.warnings.iter().filter(|it| is_its(it.0));
            let told = about.filter_map(|((kind, name), it)| Some((message(it)?, kind, name)));
            let (message, kind, name) = told.min()?;
            Some(Chain::said(
                Link::new(kind.clone(), name.clone(), ""),
                message,
            ))
        };
        of_claim()
            .or_else(of_pod)
            .or_else(of_pod_s_warning)
            .or_else(of_maker)
    }

    /// A pod that waits for a claim.
    fn mounts(&self, pod: &Value, classes: &Classes) -> Option<Chain> {
        let waits = text(&pod["status"]["phase"]) == "Pending";
        let mut claims = claims_of(pod).filter(|_| waits);
        let chain = claims.find_map(|it| self.claim(it, classes))?;
        Some(chain.under(link(pod)))
    }
}

/// What a pod that does not run says: the scheduler's words, then those of its containers.
pub(crate) fn trouble(pod: &Value) -> Option<Chain> {
    if is_leaving(pod) {
        return None;
    }
    if let Some(words) = condition(pod, "PodScheduled") {
        return Some(Chain::said(link(pod), words));
    }
    let mut waiting = containers(pod).filter(|it| it["ready"] != true);
    waiting.find_map(|it| container(link(pod), it))
}

/// With the word that kubectl has for it.
pub(crate) fn link(pod: &Value) -> Link {
    let phase = match is_leaving(pod) {
        true => "Terminating",
        false => text(&pod["status"]["phase"]),
    };
    let waits = containers(pod).map(|it| text(&it["state"]["waiting"]["reason"]));
    let mut waits = waits.filter(|it| !it.is_empty() && !is_passing(it));
    let state = match phase {
        "Terminating" => phase,
        phase => waits.next().unwrap_or(phase),
    };
    let name = arc(&pod["metadata"]["name"]);
    Link::new("Pod", name, state)
}

fn containers(pod: &Value) -> impl Iterator<Item = &Value> {
    let status = &pod["status"];
    items(&status["initContainerStatuses"])
        .iter()
        .chain(items(&status["containerStatuses"]))
}

fn is_passing(reason: &str) -> bool {
    matches!(reason, "ContainerCreating" | "PodInitializing")
}

/// How a container of the pod `own` ended before tells more than that it waits to be started again.
fn container(own: Link, status: &Value) -> Option<Chain> {
    let ends = [
        &status["state"]["terminated"],
        &status["lastState"]["terminated"],
    ];
    let crashed = ends
        .into_iter()
        .find(|it| it["exitCode"].as_i64() > Some(0));
    if let Some(end) = crashed {
        let said = text(&end["message"]);
        let words = match ending(said) {
            words if words.is_empty() => format!("exit code {}", end["exitCode"]),
            words => format!("exit code {}: {words}", end["exitCode"]),
        };
        let container = arc(&status["name"]);
        return Some(Chain {
            log: log(said),
            ..Chain::of(own, words).advised(Advice::Log { container })
        });
    }
    let waits = &status["state"]["waiting"];
    let words = match (text(&waits["reason"]), text(&waits["message"])) {
        (reason, "") if reason.is_empty() || is_passing(reason) => return None,
        (reason, "") => reason.to_owned(),
        (_, message) => plain(message),
    };
    Some(Chain::said(own, words))
}

/// A message may be the end of a whole log: what a program said last is why it ended.
fn ending(message: &str) -> String {
    let whole = plain(message);
    match message.trim().lines().next_back() {
        Some(last) if whole.len() > LONG => plain(last),
        _ => whole,
    }
}

/// The last lines, where they are more than a sentence or two.
fn log(message: &str) -> Vec<String> {
    if plain(message).len() <= LONG {
        return Vec::new();
    }
    let lines: Vec<&str> = message.trim().lines().collect();
    let last = lines.len().saturating_sub(LINES);
    lines[last..].iter().map(|it| plain(it)).collect()
}

/// Names of the claims that a pod mounts.
fn claims_of(pod: &Value) -> impl Iterator<Item = &str> {
    let volumes = items(&pod["spec"]["volumes"]).iter();
    volumes.filter_map(|it| it["persistentVolumeClaim"]["claimName"].as_str())
}
