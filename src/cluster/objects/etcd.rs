//! Responses of etcd's JSON gateway. Numbers of 64 bits are texts in them, and zeros are left out.

use serde::Deserialize;

/// A list of members.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct EtcdMemberList {
    pub(crate) header: EtcdHeader,
    #[serde(default)]
    pub(crate) members: Vec<EtcdListedMember>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct EtcdHeader {
    pub(crate) cluster_id: String,
    pub(crate) member_id: String,
    revision: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EtcdListedMember {
    #[serde(rename = "ID")]
    pub(crate) id: String,
    /// Empty until it has started once.
    #[serde(default)]
    pub(crate) name: String,
    #[serde(default, rename = "peerURLs")]
    pub(crate) peer_urls: Vec<String>,
    #[serde(default)]
    pub(crate) is_learner: bool,
}

/// Status of a member.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EtcdMemberStatus {
    pub(crate) header: EtcdHeader,
    #[serde(default)]
    leader: String,
    #[serde(default)]
    raft_applied_index: String,
    #[serde(default)]
    db_size: String,
    #[serde(default)]
    db_size_in_use: String,
    #[serde(default)]
    pub(crate) errors: Vec<String>,
}

impl EtcdHeader {
    pub(crate) fn revision(&self) -> u64 {
        number(&self.revision)
    }
}

impl EtcdMemberStatus {
    /// ID of the leader; None without one.
    pub(crate) fn leader(&self) -> Option<&str> {
        Some(self.leader.as_str()).filter(|it| number(it) > 0)
    }

    pub(crate) fn applied(&self) -> u64 {
        number(&self.raft_applied_index)
    }

    pub(crate) fn size(&self) -> u64 {
        number(&self.db_size)
    }

    pub(crate) fn size_in_use(&self) -> u64 {
        number(&self.db_size_in_use)
    }
}

/// A number that is left out if it is 0.
fn number(text: &str) -> u64 {
    text.parse().unwrap_or_default()
}
