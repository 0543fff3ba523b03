//! One writer a shoot: a Lease, judged by observed change and never by anybody's wall clock.

use super::acquire::{Found, Holder, IDENTITY, Seen, VERB, held, judge, new, now, takeover};
use super::fence::{DURATION, Fence, Held};
use crate::cluster::client::api_client::Provider;
use crate::cluster::client::backoff::Backoff;
use crate::cluster::client::error::{Error, Verdict};
use crate::cluster::client::request::{Place, WRITE};
use crate::cluster::client::resources;
use crate::cluster::json::text;
use crate::state::names;
use serde_json::json;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

const RENEW: Duration = Duration::from_secs(5);
/// How often one that waits looks whether the holder is still at work.
const LOOK: Duration = Duration::from_secs(1);
/// Held until released, dropped or lost; renewed as long as it is kept.
pub(crate) struct Lease {
    provider: Provider,
    name: String,
    fence: Fence,
    renewal: JoinHandle<()>,
}

impl Lease {
    /// Takes the lease `name`, waiting for at most `wait` until it is free.
    ///
    /// It is free when nobody holds it, when it has not changed for as long as it lasts, or when `is_gone` says of
    /// its holder's identity that such a process was on this computer and is no more. `tell` hears of each holder
    /// that is waited for.
    ///
    /// # Errors
    ///
    /// [`Error::Held`] when `wait` is over, and what requests fail with.
    pub(crate) async fn acquire(
        provider: &Provider,
        name: &str,
        holder: &Holder,
        wait: Duration,
        is_gone: impl Fn(&str) -> bool,
        tell: impl Fn(&Error),
    ) -> Result<Lease, Error> {
        let begun = Instant::now();
        let mut told = None;
        let mut seen = Seen::default();
        let mut backoff = Backoff::default();
        loop {
            let error = match attempt(provider, name, holder, &mut seen, &is_gone).await {
                Ok(Ok(held)) => return Ok(Lease::hold(provider, name, held)),
                Ok(Err(Found::Soon(rest))) => {
                    sleep(rest).await;
                    continue;
                }
                Ok(Err(Found::Held(error))) if begun.elapsed() >= wait => return Err(error),
                Ok(Err(Found::Held(error))) => {
                    let text = error.to_string();
                    if told.replace(text.clone()).is_none_or(|it| it != text) {
                        tell(&error);
                    }
                    sleep(LOOK).await;
                    continue;
                }
                Ok(Err(Found::Free)) => {
                    sleep(LOOK).await;
                    continue;
                }
                Err(error) => error,
            };
            let patience = wait.max(2 * DURATION);
            let is_final = matches!(error.verdict(), Verdict::Refuse(_));
            if is_final || begun.elapsed() >= patience {
                return Err(error);
            }
            backoff.wait().await;
        }
    }

    pub(crate) fn fence(&self) -> Fence {
        self.fence.clone()
    }

    /// Makes the record its owner, so that it goes with it.
    pub(crate) async fn owned_by(&self, record: &str, uid: &str) -> Result<(), Error> {
        let owner = json!({ "metadata": {
            "uid": self.fence.held().uid,
            "ownerReferences": [
                { "apiVersion": "v1", "kind": "ConfigMap", "name": record, "uid": uid }
            ],
        } });
        let limit = self.fence.left()?.min(WRITE);
        let answer = self.provider.patch(self.place(), &owner, limit).await?;
        self.fence.know(&answer);
        Ok(())
    }

    /// Removes it: the last object of a shoot that is deleted.
    ///
    /// # Errors
    ///
    /// As a write; that it is gone already is none.
    pub(crate) async fn delete(&self) -> Result<(), Error> {
        self.renewal.abort();
        let limit = self.fence.left()?.min(WRITE);
        let uid = ids(&self.fence).0;
        match self.provider.delete(self.place(), &uid, None, limit).await {
            Ok(_) | Err(Error::NotFound { .. } | Error::Conflict { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Gives it back. To be called when all that was sent has been answered.
    ///
    /// # Errors
    ///
    /// It could not be given back, and ends by itself after 15 s.
    pub(crate) async fn release(&self) -> Result<(), Error> {
        self.renewal.abort();
        // A renewal that is on its way changes the version, and another's lease must stay: so look first.
        if still_ours(&self.provider, self.place(), &self.fence)
            .await
            .is_err()
        {
            return Ok(());
        }
        let (uid, version) = ids(&self.fence);
        let free = json!({
            "metadata": { "uid": uid, "resourceVersion": version, "annotations": { IDENTITY: null, VERB: null } },
            "spec": { "holderIdentity": "" },
        });
        let result = match self.fence.left() {
            Ok(left) => {
                self.provider
                    .patch(self.place(), &free, left.min(WRITE))
                    .await
            }
            Err(error) => Err(error),
        };
        self.fence.lose("it was released");
        match result {
            // It went with the record.
            Ok(_) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn hold(provider: &Provider, name: &str, held: Held) -> Lease {
        let fence = Fence::new(held);
        let renewal = tokio::spawn(renew(provider.clone(), name.to_owned(), fence.clone()));
        Lease {
            provider: provider.clone(),
            name: name.to_owned(),
            fence,
            renewal,
        }
    }

    fn place(&self) -> Place<'_> {
        Place::one(&resources::LEASE, self.provider.namespace(), &self.name)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.renewal.abort();
    }
}

/// One look, and the lease if it is free.
async fn attempt(
    provider: &Provider,
    name: &str,
    holder: &Holder,
    seen: &mut Seen,
    is_gone: &impl Fn(&str) -> bool,
) -> Result<Result<Held, Found>, Error> {
    let place = Place::one(&resources::LEASE, provider.namespace(), name);
    let there = match provider.get(place).await {
        Err(Error::NotFound { .. }) => {
            let asked = Instant::now();
            let object = new(provider, name, holder);
            let made = provider.create(place, &object, WRITE).await?;
            return Ok(Ok(held(name, holder, asked, &made)));
        }
        other => other?,
    };
    let labels = &there["metadata"]["labels"];
    if labels[names::MANAGED_BY] != names::KVSHOOT || labels[names::PART_OF] != name {
        return Err(Error::Foreign {
            what: place.what("update"),
        });
    }
    match judge(&there, holder, seen, is_gone) {
        Found::Free => {}
        other => return Ok(Err(other)),
    }
    let asked = Instant::now();
    let patch = takeover(&there, holder);
    let taken = provider.patch(place, &patch, WRITE).await?;
    Ok(Ok(held(name, holder, asked, &taken)))
}

/// Renews until another has it. Each renewal is tied to the version of the one before, so one that comes late is
/// granted only if nobody had it meanwhile.
async fn renew(provider: Provider, name: String, fence: Fence) {
    let place = Place::one(&resources::LEASE, provider.namespace(), &name);
    loop {
        sleep(RENEW).await;
        let mut backoff = Backoff::default();
        loop {
            let asked = Instant::now();
            let (uid, version) = ids(&fence);
            let renewal = json!({
                "metadata": { "uid": uid, "resourceVersion": version },
                "spec": { "renewTime": now() },
            });
            match provider.patch(place, &renewal, RENEW).await {
                Ok(answer) => {
                    fence.renewed(asked, &answer);
                    break;
                }
                // An answer of ours was lost on the way, or the owner was set meanwhile.
                Err(Error::Conflict { .. }) => {
                    if let Err(message) = still_ours(&provider, place, &fence).await {
                        return fence.lose(&message);
                    }
                }
                Err(Error::NotFound { .. }) => return fence.lose("it was deleted"),
                Err(error) => {
                    tracing::debug!(%error, "cannot renew the lease");
                    backoff.wait().await;
                }
            }
        }
    }
}

/// Learns the newest version if the holder is still this run; else says what happened.
async fn still_ours(provider: &Provider, place: Place<'_>, fence: &Fence) -> Result<(), String> {
    let there = match provider.get(place).await {
        Ok(there) => there,
        Err(Error::NotFound { .. }) => return Err("it was deleted".to_owned()),
        // Asked again with the next renewal.
        Err(_) => return Ok(()),
    };
    let identity = text(&there["metadata"]["annotations"][IDENTITY]);
    let is_ours = {
        let held = fence.held();
        there["metadata"]["uid"] == *held.uid && identity == held.identity
    };
    if is_ours {
        fence.know(&there);
        return Ok(());
    }
    Err(match text(&there["spec"]["holderIdentity"]) {
        "" => "it was given away".to_owned(),
        other => format!("{other} took it"),
    })
}

fn ids(fence: &Fence) -> (String, String) {
    let held = fence.held();
    (held.uid.clone(), held.version.clone())
}

#[cfg(test)]
#[path = "lease_tests.rs"]
mod tests;
