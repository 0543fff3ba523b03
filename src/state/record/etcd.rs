//! The cluster of etcd, as the record knows it.

use serde::{Deserialize, Serialize};

/// The cluster of etcd that holds the shoot. Without it, a member may found one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EtcdRecord {
    /// Number in the names of data directories; it rises when the data are restored. 0 for shoots of earlier releases,
    /// whose directory has no number.
    pub(crate) incarnation: u32,
    /// A decimal number; empty until a member could be asked for it.
    pub(crate) cluster_id: String,
    /// The highest revision that was observed.
    pub(crate) revision: u64,
    /// A restore that is not complete yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) restore: Option<EtcdRestore>,
}

/// A restore under way, which `kvshoot restore` resumes. No other run changes the shoot before its last stage.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EtcdRestore {
    /// The backup, as `namespace/id/name`.
    pub(crate) backup: String,
    /// Number of the snapshot in the name of its file: the first 8 bytes of its SHA-256.
    pub(crate) snapshot: u64,
    /// Number in the name of the data directory that it is restored into; each attempt has its own.
    pub(crate) target: u32,
    pub(crate) stage: RestoreStage,
}

/// How far a restore is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum RestoreStage {
    /// All that writes to etcd is stopped. An empty member stores the snapshot that it is sent.
    Receive,
    /// `etcdutl` makes a data directory of the snapshot, and the member starts with it.
    Load,
    /// The API server runs, and controllers do not: what refers to lost machines is deleted first.
    Clean,
    /// Everything runs again. The restore is complete with the first plan that is done.
    Reconcile,
}

impl EtcdRecord {
    /// The restore for which writers are stopped.
    pub(crate) fn exclusive_restore(&self) -> Option<&EtcdRestore> {
        let restore = self.restore.as_ref();
        restore.filter(|it| it.stage < RestoreStage::Reconcile)
    }
}
