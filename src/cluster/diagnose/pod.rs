//! Causes of pods and their workloads.

use super::cause_chain::{Advice, Cause, CauseChain};
use super::cause_index::{
    CauseIndex, StorageClasses, event_message, failed_condition, single_line,
};
use super::log_lines::{last_lines, last_message};
use crate::cluster::objects::core::pod::{ContainerStatus, PartialPod};

impl CauseIndex {
    /// Why the pods of a workload are missing or not ready.
    ///
    /// Pods for which `is_echo` returns true were lost with their node and are skipped.
    pub(crate) fn workload_chain(
        &self,
        kind: &str,
        name: &str,
        classes: &StorageClasses,
        is_echo: impl Fn(&PartialPod) -> bool,
    ) -> Option<CauseChain> {
        let is_its = |(owner, other): &(String, String)| {
            let of_set = other.rsplit_once('-').map(|it| it.0);
            (&**owner, &**other) == (kind, name)
                || kind == "Deployment" && &**owner == "ReplicaSet" && of_set == Some(name)
        };
        let pods = self.pods.iter().filter(|it| is_its(it.0));
        let mut pods: Vec<&PartialPod> = pods.flat_map(|it| it.1).collect();
        pods.retain(|it| !it.metadata.is_deleting() && !it.is_ready() && !is_echo(it));
        pods.sort_by_key(|it| &it.metadata.name);
        let of_claim = || {
            pods.iter()
                .find_map(|it| self.claim_chain_of_pod(it, classes))
        };
        let of_pod = || pods.iter().find_map(|it| pod_chain(it));
        let of_pod_s_warning = || {
            pods.iter().find_map(|it| {
                let warning = self.warning("Pod", &it.metadata.name)?;
                Some(CauseChain::reported(pod_cause(it), event_message(warning)?))
            })
        };
        // Warnings about pods that cannot be created belong to their controller.
        let of_maker = || {
            let about = self.warnings.iter().filter(|it| is_its(it.0));
            let messages =
                about.filter_map(|((kind, name), it)| Some((event_message(it)?, kind, name)));
            let (message, kind, name) = messages.min()?;
            Some(CauseChain::reported(
                Cause::new(kind.as_str(), name.as_str(), ""),
                message,
            ))
        };
        of_claim()
            .or_else(of_pod)
            .or_else(of_pod_s_warning)
            .or_else(of_maker)
    }

    /// A pod that waits for its PersistentVolumeClaim.
    fn claim_chain_of_pod(&self, pod: &PartialPod, classes: &StorageClasses) -> Option<CauseChain> {
        let waits = pod.status.phase == "Pending";
        let mut claims = pod.claims().filter(|_| waits);
        let chain = claims.find_map(|it| self.claim_chain(it, classes))?;
        Some(chain.under(pod_cause(pod)))
    }
}

/// Why a pod does not run: the scheduler's message, otherwise those of its containers.
pub(crate) fn pod_chain(pod: &PartialPod) -> Option<CauseChain> {
    if pod.metadata.is_deleting() {
        return None;
    }
    if let Some(words) = failed_condition(&pod.status.conditions, "PodScheduled") {
        return Some(CauseChain::reported(pod_cause(pod), words));
    }
    let mut waiting = pod.container_statuses().filter(|it| !it.ready);
    waiting.find_map(|it| container(pod_cause(pod), it))
}

/// With the status that kubectl shows.
pub(crate) fn pod_cause(pod: &PartialPod) -> Cause {
    let phase = match pod.metadata.is_deleting() {
        true => "Terminating",
        false => &pod.status.phase,
    };
    let waiting = pod
        .container_statuses()
        .filter_map(|it| it.state.waiting.as_ref());
    let mut waits = waiting
        .map(|it| it.reason.as_str())
        .filter(|it| !it.is_empty() && !is_transient(it));
    let state = match phase {
        "Terminating" => phase,
        phase => waits.next().unwrap_or(phase),
    };
    Cause::new("Pod", pod.metadata.name.as_str(), state)
}

fn is_transient(reason: &str) -> bool {
    matches!(reason, "ContainerCreating" | "PodInitializing")
}

/// The previous exit of a container of pod `own` explains more than its current wait for a restart.
fn container(own: Cause, status: &ContainerStatus) -> Option<CauseChain> {
    let ends = [&status.state.terminated, &status.last_state.terminated];
    let crashed = ends.into_iter().flatten().find(|it| it.exit_code > 0);
    if let Some(end) = crashed {
        let output = end.message.as_str();
        let words = match last_message(output) {
            words if words.is_empty() => format!("exit code {}", end.exit_code),
            words => format!("exit code {}: {words}", end.exit_code),
        };
        let container = status.name.as_str().into();
        return Some(CauseChain {
            log: last_lines(output),
            ..CauseChain::new(own, words).with_advice(Advice::Log { container })
        });
    }
    let waits = status.state.waiting.as_ref()?;
    let words = match (waits.reason.as_str(), waits.message.as_str()) {
        (reason, "") if reason.is_empty() || is_transient(reason) => return None,
        (reason, "") => reason.to_owned(),
        (_, message) => single_line(message),
    };
    Some(CauseChain::reported(own, words))
}
