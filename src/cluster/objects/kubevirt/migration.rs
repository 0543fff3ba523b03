//! VirtualMachineInstanceMigrations of KubeVirt.

use crate::cluster::objects::condition::PartialCondition;
use crate::cluster::objects::metadata::PartialObjectMeta;
use serde::Deserialize;

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PartialMigration {
    pub(crate) metadata: PartialObjectMeta,
    pub(crate) spec: MigrationSpec,
    #[serde(default)]
    status: MigrationStatus,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MigrationSpec {
    /// Name of the instance.
    pub(crate) vmi_name: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct MigrationStatus {
    /// Empty before KubeVirt has seen it.
    phase: String,
    conditions: Vec<PartialCondition>,
    migration_state: Option<MigrationReport>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct MigrationReport {
    failure_reason: String,
}

impl PartialMigration {
    pub(crate) fn is_final(&self) -> bool {
        matches!(&*self.status.phase, "Succeeded" | "Failed")
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.status.phase == "Failed"
    }

    /// Its step, in KubeVirt's word.
    pub(crate) fn phase(&self) -> &str {
        match &*self.status.phase {
            "" => "Pending",
            phase => phase,
        }
    }

    /// The reason for its failure.
    pub(crate) fn failure(&self) -> Option<&str> {
        let report = self.status.migration_state.as_ref();
        let reason = report.map(|it| it.failure_reason.as_str());
        reason.filter(|it| !it.is_empty())
    }

    /// True if the quota of the namespace has no room for the second pod. KubeVirt tries again until it has.
    pub(crate) fn is_over_quota(&self) -> bool {
        let conditions = &self.status.conditions;
        let refused = PartialCondition::find(conditions, "migrationRejectedByResourceQuota");
        refused.is_some_and(PartialCondition::is_true)
    }
}
