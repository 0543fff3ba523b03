//! Deployments, StatefulSets and DaemonSets.

use super::core::pod::PodSpec;
use super::metadata::PartialObjectMeta;
use super::storage::StorageRequest;
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
#[serde(rename_all = "camelCase", default)]
struct ReplicatedWorkloadSpec {
    replicas: Option<i64>,
    template: PodTemplate,
    /// StatefulSets only.
    volume_claim_templates: Vec<ClaimTemplate>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct ClaimTemplate {
    spec: StorageRequest,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct PodTemplate {
    spec: PodSpec,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ReplicatedWorkloadStatus {
    observed_generation: Option<i64>,
    replicas: i64,
    updated_replicas: i64,
    available_replicas: i64,
    /// StatefulSets only.
    update_revision: String,
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
    /// The wanted number of pods.
    pub(crate) fn replicas(&self) -> u32 {
        let replicas = self.spec.replicas.unwrap_or(1);
        u32::try_from(replicas).unwrap_or_default()
    }

    /// Command of a container of its pods.
    pub(crate) fn command(&self, container: &str) -> &[String] {
        self.spec.template.spec.command(container)
    }

    /// Specification of its pods.
    pub(crate) fn pod_spec(&self) -> &PodSpec {
        &self.spec.template.spec
    }

    /// Size of the first volume that each of its pods gets, as a quantity.
    pub(crate) fn claim_size(&self) -> Option<&str> {
        self.spec.volume_claim_templates.first()?.spec.size()
    }

    /// Revision of the template of a StatefulSet; None until its controller has seen the latest one.
    pub(crate) fn revision(&self) -> Option<&str> {
        let is_seen = self.metadata.generation <= self.status.observed_generation;
        let revision = self.status.update_revision.as_str();
        (is_seen && !revision.is_empty()).then_some(revision)
    }

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
        etcd: None,
    }
}
