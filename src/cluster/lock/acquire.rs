//! Whose a Lease is, as it stands, and what is written to take it.

use super::fence::{DURATION, Held};
use crate::cluster::client::api_client::Provider;
use crate::cluster::client::error::Error;
use crate::cluster::client::request::Place;
use crate::cluster::client::resources;
use crate::cluster::json::{seconds, text};
use crate::state::names::{self, role};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::Instant;

/// For what a holder that died on this computer may still have on the way.
pub(crate) const LANDING: Duration = Duration::from_secs(1);
/// Who holds it, exactly. An annotation.
pub(crate) const IDENTITY: &str = "kvshoot.io/holder";
/// The command of the run that holds it. An annotation.
pub(crate) const VERB: &str = "kvshoot.io/verb";

/// Who wants the lease.
#[derive(Debug, Clone)]
pub(crate) struct Holder {
    /// As people know it: user, host and run.
    pub(crate) name: String,
    /// Of this run alone; says computer, boot and process. Only the caller reads it.
    pub(crate) identity: String,
    pub(crate) verb: &'static str,
}

/// The version of a lease that another holds, and when it was first seen.
#[derive(Default)]
pub(crate) struct Seen(Option<(String, Instant)>);

impl Seen {
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

pub(crate) fn judge(
    there: &Value,
    holder: &Holder,
    seen: &mut Seen,
    is_gone: &impl Fn(&str) -> bool,
) -> Found {
    let spec = &there["spec"];
    let name = text(&spec["holderIdentity"]);
    let identity = text(&there["metadata"]["annotations"][IDENTITY]);
    // Our own, when the answer to taking it was lost.
    if name.is_empty() || identity == holder.identity {
        return Found::Free;
    }
    let unchanged = seen.unchanged_for(text(&there["metadata"]["resourceVersion"]));
    let lasts = spec["leaseDurationSeconds"].as_u64().unwrap_or_default();
    if unchanged >= Duration::from_secs(lasts).max(DURATION) {
        return Found::Free;
    }
    if !identity.is_empty() && is_gone(identity) {
        return match LANDING.checked_sub(unchanged).filter(|it| !it.is_zero()) {
            Some(rest) => Found::Soon(rest),
            None => Found::Free,
        };
    }
    Found::Held(Error::Held {
        holder: name.to_owned(),
        since: seconds(&spec["acquireTime"]),
    })
}

pub(crate) fn new(provider: &Provider, name: &str, holder: &Holder) -> Value {
    let now = now();
    json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "name": name,
            "namespace": &**provider.namespace(),
            "labels": {
                names::MANAGED_BY: names::KVSHOOT,
                names::PART_OF: name,
                names::COMPONENT: role::LOCK,
            },
            "annotations": { IDENTITY: holder.identity, VERB: holder.verb },
        },
        "spec": {
            "holderIdentity": holder.name,
            "leaseDurationSeconds": DURATION.as_secs(),
            "acquireTime": now,
            "renewTime": now,
            "leaseTransitions": 0,
        },
    })
}

/// Fits only the lease as it was seen, so of two that take it one gets it.
pub(crate) fn takeover(there: &Value, holder: &Holder) -> Value {
    let now = now();
    let transitions = there["spec"]["leaseTransitions"]
        .as_i64()
        .unwrap_or_default();
    json!({
        "metadata": {
            "uid": there["metadata"]["uid"],
            "resourceVersion": there["metadata"]["resourceVersion"],
            "annotations": { IDENTITY: holder.identity, VERB: holder.verb },
        },
        "spec": {
            "holderIdentity": holder.name,
            "leaseDurationSeconds": DURATION.as_secs(),
            "acquireTime": now,
            "renewTime": now,
            "leaseTransitions": transitions + 1,
        },
    })
}

pub(crate) fn held(name: &str, holder: &Holder, asked: Instant, lease: &Value) -> Held {
    Held {
        lease: name.to_owned(),
        identity: holder.identity.clone(),
        uid: text(&lease["metadata"]["uid"]).to_owned(),
        version: text(&lease["metadata"]["resourceVersion"]).to_owned(),
        renewed: Some(asked),
        lost: None,
    }
}

impl Provider {
    /// Who works at a shoot just now, as people know it. Nothing may be decided by it, for clocks differ.
    ///
    /// # Errors
    ///
    /// The lease may not be read, or nobody answers.
    pub(crate) async fn writer(&self, id: &str) -> Result<Option<String>, Error> {
        let there = self.taken(id).await?.filter(|it| self.is_fresh(it));
        Ok(there.map(|it| text(&it["spec"]["holderIdentity"]).to_owned()))
    }

    /// Whether the last run at a shoot was of the command `verb`, and ended without giving the lock back, as one that
    /// is killed does. Says only whether another look is worth it.
    ///
    /// # Errors
    ///
    /// The lease may not be read, or nobody answers.
    pub(crate) async fn was_killed(
        &self,
        id: &str,
        verb: &str,
        is_gone: impl Fn(&str) -> bool,
    ) -> Result<bool, Error> {
        let there = self.taken(id).await?;
        Ok(there.is_some_and(|it| {
            let of = &it["metadata"]["annotations"];
            of[VERB] == verb && (is_gone(text(&of[IDENTITY])) || !self.is_fresh(&it))
        }))
    }

    /// The lease of a shoot, unless it was given back.
    async fn taken(&self, id: &str) -> Result<Option<Value>, Error> {
        let place = Place::one(&resources::LEASE, self.namespace(), id);
        match self.get_again(place).await {
            Ok(there) => {
                Ok(Some(there).filter(|it| !text(&it["spec"]["holderIdentity"]).is_empty()))
            }
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether it was renewed as lately as it has to be, by the server's clock.
    fn is_fresh(&self, lease: &Value) -> bool {
        let renewed = seconds(&lease["spec"]["renewTime"]).zip(self.server_time());
        let age = renewed.map_or(i64::MAX, |(then, now)| now - then);
        age <= i64::try_from(DURATION.as_secs()).unwrap_or(i64::MAX)
    }
}

/// A lease as it was found.
pub(crate) enum Found {
    Free,
    /// Free after this time, if nothing changes.
    Soon(Duration),
    Held(Error),
}

/// For people: nothing here judges by it.
pub(crate) fn now() -> String {
    format!("{:.6}", jiff::Timestamp::now())
}
