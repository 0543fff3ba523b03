//! Deployments, StatefulSets and DaemonSets.

use super::metadata::PartialObjectMeta;
use crate::state::facts::Rollout;
use serde::Deserialize;

/// A Deployment or a StatefulSet.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PartialReplicatedWorkload {
    pub(crate) metadata: PartialObjectMeta,
    #[serde(default)]
    spec: ReplicatedWorkloadSpec,
    #[serde(default)]
    status: ReplicatedWorkloadStatus,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct ReplicatedWorkloadSpec {
    replicas: Option<i64>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ReplicatedWorkloadStatus {
    observed_generation: Option<i64>,
    replicas: i64,
    updated_replicas: i64,
    available_replicas: i64,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PartialDaemonSet {
    pub(crate) metadata: PartialObjectMeta,
    #[serde(default)]
    status: DaemonSetStatus,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct DaemonSetStatus {
    observed_generation: Option<i64>,
    desired_number_scheduled: i64,
    updated_number_scheduled: i64,
    number_available: i64,
}

/// Numbers of pods.
struct PodCounts {
    wanted: i64,
    all: i64,
    updated: i64,
    available: i64,
}

impl PartialReplicatedWorkload {
    pub(crate) fn rollout(&self) -> Rollout {
        let status = &self.status;
        let counts = PodCounts {
            wanted: self.spec.replicas.unwrap_or(1),
            all: status.replicas,
            updated: status.updated_replicas,
            available: status.available_replicas,
        };
        rollout(&self.metadata, status.observed_generation, &counts)
    }
}

impl PartialDaemonSet {
    /// Complete without nodes.
    pub(crate) fn rollout(&self) -> Rollout {
        let status = &self.status;
        let counts = PodCounts {
            wanted: status.desired_number_scheduled,
            all: status.desired_number_scheduled,
            updated: status.updated_number_scheduled,
            available: status.number_available,
        };
        rollout(&self.metadata, status.observed_generation, &counts)
    }
}

fn rollout(metadata: &PartialObjectMeta, observed: Option<i64>, counts: &PodCounts) -> Rollout {
    let PodCounts {
        wanted,
        all,
        updated,
        available,
    } = *counts;
    let why = if metadata.generation > observed {
        Some("controller has not observed the latest generation".to_owned())
    } else if updated < wanted {
        Some(format!("{updated} of {wanted} pods updated"))
    } else if all > updated {
        Some("old pods are terminating".to_owned())
    } else if available < wanted {
        Some(format!("{available} of {wanted} pods available"))
    } else {
        None
    };
    Rollout {
        why: why.map(Into::into),
        available,
    }
}
