//! Availability of a Lease, and the writes that take it.

use super::fence::{HeldLease, LEASE_DURATION};
use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::error::Error;
use crate::cluster::objects::lease::PartialLease;
use crate::cluster::objects::metadata::seconds;
use crate::state::names;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::Instant;

/// Time for writes in flight of a holder that died on this computer.
pub(crate) const IN_FLIGHT_GRACE: Duration = Duration::from_secs(1);
/// Annotation with the exact identity of the holder.
pub(crate) const HOLDER_ANNOTATION: &str = "kvshoot.io/holder";
/// Annotation with the command of the holder.
pub(crate) const VERB_ANNOTATION: &str = "kvshoot.io/verb";
/// Annotation with the progress of the holder, in percent.
pub(crate) const PROGRESS_ANNOTATION: &str = "kvshoot.io/progress";

/// A candidate for the lease.
#[derive(Debug, Clone)]
pub(crate) struct LeaseHolder {
    /// For display: user, host and run.
    pub(crate) name: String,
    /// Unique for this run: computer, boot and process. Interpreted by the caller only.
    pub(crate) identity: String,
    pub(crate) verb: &'static str,
    /// Component label of a new lease.
    pub(crate) role: &'static str,
}

/// Version of a lease held by another run, and when it was first observed.
#[derive(Default)]
pub(crate) struct ObservedLease(Option<(String, Instant)>);

impl ObservedLease {
    fn unchanged_for(&mut self, version: &str) -> Duration {
        match &self.0 {
            Some((before, at)) if before == version => at.elapsed(),
            _ => {
                self.0 = Some((version.to_owned(), Instant::now()));
                Duration::ZERO
            }
        }
    }
}

/// Assesses a lease at `now`, in seconds since 1970.
pub(crate) fn assess(
    existing: &PartialLease,
    holder: &LeaseHolder,
    observed: &mut ObservedLease,
    is_gone: &impl Fn(&str) -> bool,
    now: i64,
) -> LeaseAvailability {
    let Some(name) = existing.holder() else {
        return LeaseAvailability::Free;
    };
    let metadata = &existing.metadata;
    let identity = metadata.annotation(HOLDER_ANNOTATION).unwrap_or_default();
    // Our own lease, if the response to taking it was lost.
    if identity == holder.identity {
        return LeaseAvailability::Free;
    }
    let unchanged = observed.unchanged_for(&metadata.resource_version);
    let lasts = u64::try_from(existing.spec.lease_duration_seconds).unwrap_or_default();
    if unchanged >= Duration::from_secs(lasts).max(LEASE_DURATION) {
        return LeaseAvailability::Free;
    }
    if !identity.is_empty() && is_gone(identity) {
        return match IN_FLIGHT_GRACE
            .checked_sub(unchanged)
            .filter(|it| !it.is_zero())
        {
            Some(rest) => LeaseAvailability::FreeIn(rest),
            None => LeaseAvailability::Free,
        };
    }
    LeaseAvailability::Held {
        error: Error::LeaseHeld {
            holder: name.to_owned(),
            since: existing.spec.acquire_time.as_deref().and_then(seconds),
        },
        seems_expired: existing.is_expired(now),
    }
}

pub(crate) fn new_lease(provider: &ApiClient, name: &str, holder: &LeaseHolder) -> Value {
    let now = timestamp();
    json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "name": name,
            "namespace": &**provider.namespace(),
            "labels": {
                names::MANAGED_BY: names::KVSHOOT,
                names::PART_OF: name,
                names::COMPONENT: holder.role,
            },
            "annotations": { HOLDER_ANNOTATION: holder.identity, VERB_ANNOTATION: holder.verb },
        },
        "spec": {
            "holderIdentity": holder.name,
            "leaseDurationSeconds": LEASE_DURATION.as_secs(),
            "acquireTime": now,
            "renewTime": now,
            "leaseTransitions": 0,
        },
    })
}

/// Restricted to the observed version, so that only one of two candidates gets it.
pub(crate) fn takeover_patch(existing: &PartialLease, holder: &LeaseHolder) -> Value {
    let now = timestamp();
    json!({
        "metadata": {
            "uid": existing.metadata.uid,
            "resourceVersion": existing.metadata.resource_version,
            "annotations": {
                HOLDER_ANNOTATION: holder.identity,
                VERB_ANNOTATION: holder.verb,
                PROGRESS_ANNOTATION: null,
            },
        },
        "spec": {
            "holderIdentity": holder.name,
            "leaseDurationSeconds": LEASE_DURATION.as_secs(),
            "acquireTime": now,
            "renewTime": now,
            "leaseTransitions": existing.spec.lease_transitions + 1,
        },
    })
}

pub(crate) fn held_lease(
    name: &str,
    holder: &LeaseHolder,
    asked: Instant,
    lease: PartialLease,
) -> HeldLease {
    HeldLease {
        lease: name.to_owned(),
        identity: holder.identity.clone(),
        has_owner: lease.metadata.owner_uid().is_some(),
        uid: lease.metadata.uid,
        version: lease.metadata.resource_version,
        renewed: Some(asked),
        lost: None,
    }
}

/// Availability of an observed lease.
pub(crate) enum LeaseAvailability {
    Free,
    /// Free after this time unless it changes.
    FreeIn(Duration),
    Held {
        error: Error,
        /// It was not renewed for long, if the clocks of both computers are right.
        seems_expired: bool,
    },
}

/// For display; never compared.
pub(crate) fn timestamp() -> String {
    format!("{:.6}", crate::clock::now())
}
