//! Regular backups of a shoot, an addition of kvshoot to Gardener's ControlPlaneConfig.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Regular backups of the cluster, which kvshoot keep makes
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BackupConfig {
    /// Times of backups as a cron expression in UTC, such as `*/5 * * * *`
    #[schemars(length(min = 1))]
    pub(crate) schedule: String,
    /// Destination: s3://BUCKET/PREFIX, or pvc:NAME for a PersistentVolumeClaim in the namespace of the shoot's objects
    #[schemars(length(min = 1))]
    pub(crate) destination: String,
    /// URL of an S3 server other than AWS
    #[schemars(length(min = 1))]
    pub(crate) s3_endpoint: Option<String>,
    /// age recipients that the snapshot and the keys are encrypted to; without any, backups have no keys
    #[serde(default)]
    pub(crate) recipients: Vec<String>,
    /// Include the keys without encryption
    #[serde(default)]
    pub(crate) with_plain_keys: bool,
    /// Numbers of backups to keep; all are kept when absent
    pub(crate) retention: Option<BackupRetention>,
}

/// Numbers of backups to keep. A backup that one of them keeps is kept; others are deleted
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct BackupRetention {
    /// The newest backups
    #[serde(default)]
    pub(crate) last: u32,
    /// The newest backup of each of the last hours with backups, in UTC
    #[serde(default)]
    pub(crate) hourly: u32,
    /// The newest backup of each of the last days with backups
    #[serde(default)]
    pub(crate) daily: u32,
    /// The newest backup of each of the last weeks with backups
    #[serde(default)]
    pub(crate) weekly: u32,
}
