//! One writer a shoot: a Lease, judged by observed change and never by anybody's wall clock.

use super::acquire::{
    HOLDER_ANNOTATION, LeaseAvailability, LeaseHolder, ObservedLease, VERB_ANNOTATION, assess,
    held_lease, new_lease, takeover_patch, timestamp,
};
use super::fence::{Fence, HeldLease, LEASE_DURATION};
use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::backoff::Backoff;
use crate::cluster::client::error::{Error, Retryability};
use crate::cluster::client::request::{ResourceRef, WRITE_TIMEOUT};
use crate::cluster::client::resources;
use crate::cluster::json::text;
use crate::plan::names;
use serde_json::json;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

const RENEW_INTERVAL: Duration = Duration::from_secs(5);
/// How often one that waits looks whether the holder is still at work.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Held until released, dropped or lost; renewed as long as it is kept.
pub(crate) struct Lease {
    provider: ApiClient,
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
        provider: &ApiClient,
        name: &str,
        holder: &LeaseHolder,
        wait: Duration,
        is_gone: impl Fn(&str) -> bool,
        tell: impl Fn(&Error),
    ) -> Result<Lease, Error> {
        let begun = Instant::now();
        let mut told = None;
        let mut observed = ObservedLease::default();
        let mut backoff = Backoff::default();
        loop {
            let error = match attempt(provider, name, holder, &mut observed, &is_gone).await {
                Ok(Ok(held)) => return Ok(Lease::hold(provider, name, held)),
                Ok(Err(LeaseAvailability::FreeIn(rest))) => {
                    sleep(rest).await;
                    continue;
                }
                Ok(Err(LeaseAvailability::Held(error))) if begun.elapsed() >= wait => {
                    return Err(error);
                }
                Ok(Err(LeaseAvailability::Held(error))) => {
                    let text = error.to_string();
                    if told.replace(text.clone()).is_none_or(|it| it != text) {
                        tell(&error);
                    }
                    sleep(POLL_INTERVAL).await;
                    continue;
                }
                Ok(Err(LeaseAvailability::Free)) => {
                    sleep(POLL_INTERVAL).await;
                    continue;
                }
                Err(error) => error,
            };
            let patience = wait.max(2 * LEASE_DURATION);
            let is_final = matches!(error.retryability(), Retryability::Fatal(_));
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
    pub(crate) async fn set_owner(&self, record: &str, uid: &str) -> Result<(), Error> {
        let owner = json!({ "metadata": {
            "uid": self.fence.held().uid,
            "ownerReferences": [
                { "apiVersion": "v1", "kind": "ConfigMap", "name": record, "uid": uid }
            ],
        } });
        let limit = self.fence.remaining()?.min(WRITE_TIMEOUT);
        let answer = self
            .provider
            .patch(self.resource_ref(), &owner, limit)
            .await?;
        self.fence.update_version(&answer);
        Ok(())
    }

    /// Removes it: the last object of a shoot that is deleted.
    ///
    /// # Errors
    ///
    /// As a write; that it is gone already is none.
    pub(crate) async fn delete(&self) -> Result<(), Error> {
        self.renewal.abort();
        let limit = self.fence.remaining()?.min(WRITE_TIMEOUT);
        let uid = uid_and_version(&self.fence).0;
        match self
            .provider
            .delete(self.resource_ref(), &uid, None, limit)
            .await
        {
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
        if confirm_ownership(&self.provider, self.resource_ref(), &self.fence)
            .await
            .is_err()
        {
            return Ok(());
        }
        let (uid, version) = uid_and_version(&self.fence);
        let free = json!({
            "metadata": { "uid": uid, "resourceVersion": version, "annotations": { HOLDER_ANNOTATION: null, VERB_ANNOTATION: null } },
            "spec": { "holderIdentity": "" },
        });
        let result = match self.fence.remaining() {
            Ok(left) => {
                self.provider
                    .patch(self.resource_ref(), &free, left.min(WRITE_TIMEOUT))
                    .await
            }
            Err(error) => Err(error),
        };
        self.fence.revoke("it was released");
        match result {
            // It went with the record.
            Ok(_) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn hold(provider: &ApiClient, name: &str, held: HeldLease) -> Lease {
        let fence = Fence::new(held);
        let renewal = tokio::spawn(renew(provider.clone(), name.to_owned(), fence.clone()));
        Lease {
            provider: provider.clone(),
            name: name.to_owned(),
            fence,
            renewal,
        }
    }

    fn resource_ref(&self) -> ResourceRef<'_> {
        ResourceRef::one(&resources::LEASE, self.provider.namespace(), &self.name)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.renewal.abort();
    }
}

/// One look, and the lease if it is free.
async fn attempt(
    provider: &ApiClient,
    name: &str,
    holder: &LeaseHolder,
    observed: &mut ObservedLease,
    is_gone: &impl Fn(&str) -> bool,
) -> Result<Result<HeldLease, LeaseAvailability>, Error> {
    let resource_ref = ResourceRef::one(&resources::LEASE, provider.namespace(), name);
    let existing = match provider.get(resource_ref).await {
        Err(Error::NotFound { .. }) => {
            let asked = Instant::now();
            let object = new_lease(provider, name, holder);
            let made = provider
                .create(resource_ref, &object, WRITE_TIMEOUT)
                .await?;
            return Ok(Ok(held_lease(name, holder, asked, &made)));
        }
        other => other?,
    };
    let labels = &existing["metadata"]["labels"];
    if labels[names::MANAGED_BY] != names::KVSHOOT || labels[names::PART_OF] != name {
        return Err(Error::NotOwned {
            what: resource_ref.request_info("update"),
        });
    }
    match assess(&existing, holder, observed, is_gone) {
        LeaseAvailability::Free => {}
        other => return Ok(Err(other)),
    }
    let asked = Instant::now();
    let patch = takeover_patch(&existing, holder);
    let taken = provider.patch(resource_ref, &patch, WRITE_TIMEOUT).await?;
    Ok(Ok(held_lease(name, holder, asked, &taken)))
}

/// Renews until another has it. Each renewal is tied to the version of the one before, so one that comes late is
/// granted only if nobody had it meanwhile.
async fn renew(provider: ApiClient, name: String, fence: Fence) {
    let resource_ref = ResourceRef::one(&resources::LEASE, provider.namespace(), &name);
    loop {
        sleep(RENEW_INTERVAL).await;
        let mut backoff = Backoff::default();
        loop {
            let asked = Instant::now();
            let (uid, version) = uid_and_version(&fence);
            let renewal = json!({
                "metadata": { "uid": uid, "resourceVersion": version },
                "spec": { "renewTime": timestamp() },
            });
            match provider.patch(resource_ref, &renewal, RENEW_INTERVAL).await {
                Ok(answer) => {
                    fence.renewed(asked, &answer);
                    break;
                }
                // An answer of ours was lost on the way, or the owner was set meanwhile.
                Err(Error::Conflict { .. }) => {
                    if let Err(message) = confirm_ownership(&provider, resource_ref, &fence).await {
                        return fence.revoke(&message);
                    }
                }
                Err(Error::NotFound { .. }) => return fence.revoke("it was deleted"),
                Err(error) => {
                    tracing::debug!(%error, "cannot renew the lease");
                    backoff.wait().await;
                }
            }
        }
    }
}

/// Learns the newest version if the holder is still this run; else says what happened.
async fn confirm_ownership(
    provider: &ApiClient,
    resource_ref: ResourceRef<'_>,
    fence: &Fence,
) -> Result<(), String> {
    let existing = match provider.get(resource_ref).await {
        Ok(existing) => existing,
        Err(Error::NotFound { .. }) => return Err("it was deleted".to_owned()),
        // Asked again with the next renewal.
        Err(_) => return Ok(()),
    };
    let identity = text(&existing["metadata"]["annotations"][HOLDER_ANNOTATION]);
    let is_ours = {
        let held = fence.held();
        existing["metadata"]["uid"] == *held.uid && identity == held.identity
    };
    if is_ours {
        fence.update_version(&existing);
        return Ok(());
    }
    Err(match text(&existing["spec"]["holderIdentity"]) {
        "" => "it was given away".to_owned(),
        other => format!("{other} took it"),
    })
}

fn uid_and_version(fence: &Fence) -> (String, String) {
    let held = fence.held();
    (held.uid.clone(), held.version.clone())
}

#[cfg(test)]
#[path = "lease_tests.rs"]
mod tests;
