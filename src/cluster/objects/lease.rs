//! Leases.

use super::metadata::{PartialObjectMeta, seconds};
use serde::Deserialize;

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PartialLease {
    pub(crate) metadata: PartialObjectMeta,
    #[serde(default)]
    pub(crate) spec: LeaseSpec,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct LeaseSpec {
    holder_identity: String,
    pub(crate) acquire_time: Option<String>,
    renew_time: Option<String>,
    pub(crate) lease_duration_seconds: i64,
    pub(crate) lease_transitions: i64,
}

impl PartialLease {
    /// Display name of its holder; None if it was released.
    pub(crate) fn holder(&self) -> Option<&str> {
        Some(self.spec.holder_identity.as_str()).filter(|it| !it.is_empty())
    }

    /// Time of its last renewal, as the holder wrote it.
    pub(crate) fn renewal(&self) -> Option<&str> {
        self.spec.renew_time.as_deref()
    }

    /// Time of its last renewal by the holder's clock, in seconds since 1970.
    pub(crate) fn renewed(&self) -> Option<i64> {
        seconds(self.spec.renew_time.as_deref()?)
    }

    /// True if it has expired at `now`, in seconds since 1970, with a margin since clocks differ.
    pub(crate) fn is_expired(&self, now: i64) -> bool {
        const SKEW: i64 = 60;
        let lasts = self.spec.lease_duration_seconds.saturating_add(SKEW);
        self.renewed().unwrap_or_default().saturating_add(lasts) < now
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::objects::testing::object;
    use serde_json::json;

    #[test]
    fn a_lease_expires_with_a_margin() {
        let lease: PartialLease = object(json!({ "spec": {
            "renewTime": "1970-01-01T00:01:40.000000Z", "leaseDurationSeconds": 15,
        } }));
        assert!(!lease.is_expired(100 + 15 + 60));
        assert!(lease.is_expired(100 + 15 + 61));
        let endless: PartialLease = object(json!({ "spec": {
            "renewTime": "1970-01-01T00:01:40.000000Z", "leaseDurationSeconds": i64::MAX,
        } }));
        assert!(!endless.is_expired(i64::MAX));
        let unused: PartialLease = object(json!({}));
        assert!(unused.is_expired(100), "it never had a holder");
    }
}
