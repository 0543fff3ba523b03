//! Pods.

use crate::cluster::objects::condition::PartialCondition;
use crate::cluster::objects::metadata::PartialObjectMeta;
use serde::Deserialize;

/// Container of a launcher pod with the output of the guest's serial console.
pub(crate) const CONSOLE: &str = "guest-console-log";

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PartialPod {
    pub(crate) metadata: PartialObjectMeta,
    #[serde(default)]
    pub(crate) spec: PodSpec,
    #[serde(default)]
    pub(crate) status: PodStatus,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PodSpec {
    /// None until it is scheduled.
    pub(crate) node_name: Option<String>,
    volumes: Vec<PodSpecVolume>,
    init_containers: Vec<PodSpecContainer>,
    containers: Vec<PodSpecContainer>,
    ephemeral_containers: Vec<PodSpecContainer>,
}

#[derive(Debug, Clone, Deserialize)]
struct PodSpecContainer {
    name: String,
    #[serde(default)]
    command: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PodSpecVolume {
    name: String,
    persistent_volume_claim: Option<ClaimMount>,
    ephemeral: Option<EphemeralVolume>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClaimMount {
    claim_name: String,
}

/// Its presence is enough: the claim is named after pod and volume.
#[derive(Debug, Clone, Deserialize)]
struct EphemeralVolume {}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PodStatus {
    pub(crate) phase: String,
    pub(crate) conditions: Vec<PartialCondition>,
    init_container_statuses: Vec<ContainerStatus>,
    container_statuses: Vec<ContainerStatus>,
    ephemeral_container_statuses: Vec<ContainerStatus>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ContainerStatus {
    pub(crate) name: String,
    pub(crate) ready: bool,
    restart_count: u64,
    pub(crate) state: ContainerState,
    pub(crate) last_state: ContainerState,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ContainerState {
    pub(crate) waiting: Option<ContainerWaiting>,
    running: Option<ContainerRunning>,
    pub(crate) terminated: Option<ContainerTerminated>,
}

/// Its presence is enough.
#[derive(Debug, Clone, Deserialize)]
struct ContainerRunning {}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ContainerWaiting {
    pub(crate) reason: String,
    pub(crate) message: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ContainerTerminated {
    pub(crate) exit_code: i64,
    pub(crate) message: String,
}

impl ContainerStatus {
    /// True if it has started and not ended.
    pub(crate) fn runs(&self) -> bool {
        self.state.running.is_some()
    }
}

impl PodSpec {
    /// Command of a container; empty if it has none.
    pub(crate) fn command(&self, container: &str) -> &[String] {
        let mut containers = self.containers.iter();
        let container = containers.find(|it| it.name == container);
        container.map_or(&[], |it| &it.command)
    }

    pub(crate) fn has_init_container(&self, name: &str) -> bool {
        self.init_containers.iter().any(|it| it.name == name)
    }
}

impl PartialPod {
    /// Name of the machine that the pod runs.
    pub(crate) fn machine_name(&self) -> &str {
        self.metadata
            .annotation("kubevirt.io/domain")
            .or_else(|| self.metadata.label("vm.kubevirt.io/name"))
            .unwrap_or(&self.metadata.name)
    }

    /// True if it is ready and not terminating.
    pub(crate) fn is_ready(&self) -> bool {
        let ready = PartialCondition::find(&self.status.conditions, "Ready");
        !self.metadata.is_deleting() && ready.is_some_and(PartialCondition::is_true)
    }

    /// True if all its containers ended.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.status.phase.as_str(), "Succeeded" | "Failed")
    }

    /// Names of the PersistentVolumeClaims that it mounts by name.
    pub(crate) fn claims(&self) -> impl Iterator<Item = &str> {
        let volumes = self.spec.volumes.iter();
        volumes.filter_map(|it| Some(it.persistent_volume_claim.as_ref()?.claim_name.as_str()))
    }

    /// Names of all PersistentVolumeClaims that it mounts, with those of ephemeral volumes.
    pub(crate) fn all_claims(&self) -> impl Iterator<Item = String> {
        let volumes = self.spec.volumes.iter();
        volumes.filter_map(|it| match (&it.persistent_volume_claim, &it.ephemeral) {
            (Some(claim), _) => Some(claim.claim_name.clone()),
            (None, Some(_)) => Some(format!("{}-{}", self.metadata.name, it.name)),
            (None, None) => None,
        })
    }

    /// Names of all containers, and whether they have been restarted: init containers first, ephemeral ones last.
    pub(crate) fn containers_and_restarts(&self) -> impl Iterator<Item = (&str, bool)> {
        let (spec, status) = (&self.spec, &self.status);
        let kinds = [
            (&spec.init_containers, &status.init_container_statuses),
            (&spec.containers, &status.container_statuses),
            (
                &spec.ephemeral_containers,
                &status.ephemeral_container_statuses,
            ),
        ];
        kinds.into_iter().flat_map(|(containers, statuses)| {
            containers.iter().map(|container| {
                let status = statuses.iter().find(|it| it.name == container.name);
                let is_restarted = status.is_some_and(|it| it.restart_count > 0);
                (container.name.as_str(), is_restarted)
            })
        })
    }

    /// True if it has a container of that name besides ephemeral ones.
    pub(crate) fn has_container(&self, name: &str) -> bool {
        let spec = &self.spec;
        let mut containers = spec.init_containers.iter().chain(&spec.containers);
        containers.any(|it| it.name == name)
    }

    /// Statuses of init containers first.
    pub(crate) fn container_statuses(&self) -> impl Iterator<Item = &ContainerStatus> {
        let status = &self.status;
        status
            .init_container_statuses
            .iter()
            .chain(&status.container_statuses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::objects::testing::object;
    use serde_json::{Value, json};

    #[test]
    fn all_containers_are_listed_with_their_restarts() {
        let pod: PartialPod = object(json!({
            "spec": {
                "containers": [{ "name": "app" }, { "name": "new" }],
                "initContainers": [{ "name": "init" }],
                "ephemeralContainers": [{ "name": "debug" }],
            },
            "status": { "containerStatuses": [{ "name": "app", "restartCount": 2 }] },
        }));
        let all: Vec<_> = pod.containers_and_restarts().collect();
        let expected = [
            ("init", false),
            ("app", true),
            ("new", false),
            ("debug", false),
        ];
        assert_eq!(all, expected);
        assert!(pod.has_container("init") && !pod.has_container("debug"));
    }

    #[test]
    fn only_a_ready_pod_that_is_not_terminating_can_be_forwarded_to() {
        let is_ready = |conditions: Value, deleted: Value| {
            let object = json!({
                "metadata": {
                    "name": "a", "uid": "u", "resourceVersion": "1", "deletionTimestamp": deleted,
                },
                "status": { "conditions": conditions },
            });
            let pod: PartialPod = serde_json::from_value(object).expect("a pod");
            pod.is_ready()
        };
        let ready = |status: &str| json!([{ "type": "Ready", "status": status }]);
        assert!(is_ready(ready("True"), Value::Null));
        assert!(!is_ready(ready("False"), Value::Null));
        assert!(!is_ready(ready("True"), json!("2026-01-01T00:00:00Z")));
        assert!(!is_ready(json!([]), Value::Null));
    }
}
