//! One writer per shoot: a Lease whose expiry is judged by observed change and never by wall clocks.

use super::acquire::{
    HOLDER_ANNOTATION, LeaseAvailability, LeaseHolder, ObservedLease, PROGRESS_ANNOTATION,
    VERB_ANNOTATION, assess, held_lease, new_lease, takeover_patch, timestamp,
};
use super::fence::{Fence, HeldLease, LEASE_DURATION};
use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::backoff::Backoff;
use crate::cluster::client::error::{Error, Retryability};
use crate::cluster::client::request::{ResourceRef, WRITE_TIMEOUT};
use crate::cluster::client::resources;
use crate::cluster::objects::lease::PartialLease;
use crate::cluster::objects::reader::read;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tracing::Instrument as _;

const RENEW_INTERVAL: Duration = Duration::from_secs(5);
/// Interval in which a waiting run checks the holder.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Attempts to release a lease that a renewal in flight changes meanwhile. There is one renewal at a time.
const RELEASE_ATTEMPTS: usize = 3;
/// Time after which a lease that is not renewed anymore is known to be free, also if a server is slow to show it first.
const UNTIL_EXPIRY: Duration = LEASE_DURATION.saturating_mul(2);

/// Held until released, dropped or lost; renewed in the background.
pub(crate) struct Lease {
    provider: ApiClient,
    name: String,
    fence: Fence,
    /// Progress of the run in percent, published with the next renewal.
    percent: Arc<AtomicU8>,
    renewal: JoinHandle<()>,
}

impl Lease {
    /// Acquires the lease `name`, waiting for at most `wait`. One that seems to be expired by the clocks is always
    /// waited for until that is certain.
    ///
    /// A lease is free if it has no holder, if it was not changed for its duration, or if `is_gone` returns true for
    /// the holder's identity: a process of this computer that has ended. `on_wait` is called for each holder that is
    /// waited for.
    ///
    /// # Errors
    ///
    /// [`Error::LeaseHeld`] after `wait`, and errors of the requests.
    pub(crate) async fn acquire(
        provider: &ApiClient,
        name: &str,
        holder: &LeaseHolder,
        wait: Duration,
        is_gone: impl Fn(&str) -> bool,
        on_wait: impl Fn(&Error),
    ) -> Result<Lease, Error> {
        let begun = Instant::now();
        let what = ResourceRef::one(&resources::LEASE, provider.namespace(), name);
        let what = what.request_info("get");
        let mut last_holder = None;
        let mut observed = ObservedLease::default();
        let mut backoff = Backoff::default();
        loop {
            let error = match attempt(provider, name, holder, &mut observed, &is_gone).await {
                Ok(Ok(held)) => return Ok(Lease::hold(provider, name, held)),
                Ok(Err(LeaseAvailability::FreeIn(rest))) => {
                    let _in_flight = provider.in_flight(&what);
                    sleep(rest).await;
                    continue;
                }
                Ok(Err(LeaseAvailability::Held {
                    error,
                    seems_expired,
                })) => {
                    let least = match seems_expired {
                        true => UNTIL_EXPIRY,
                        false => Duration::ZERO,
                    };
                    if begun.elapsed() >= wait.max(least) {
                        return Err(error);
                    }
                    let text = error.to_string();
                    if last_holder
                        .replace(text.clone())
                        .is_none_or(|it| it != text)
                    {
                        on_wait(&error);
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
            let _in_flight = provider.in_flight(&what);
            backoff.wait().await;
        }
    }

    pub(crate) fn fence(&self) -> Fence {
        self.fence.clone()
    }

    /// Sets the record as owner, so that the lease is deleted with it.
    pub(crate) async fn set_owner(&self, record: &str, uid: &str) -> Result<(), Error> {
        self.write_owners(json!([
            { "apiVersion": "v1", "kind": "ConfigMap", "name": record, "uid": uid }
        ]))
        .await
    }

    /// Removes the owner. Otherwise, a deletion would lose the lease with the record, and another run could begin before the
    /// deletion has verified that nothing remains.
    pub(crate) async fn remove_owner(&self) -> Result<(), Error> {
        let has_owner = self.fence.held().has_owner;
        match has_owner {
            true => self.write_owners(Value::Null).await,
            false => Ok(()),
        }
    }

    async fn write_owners(&self, owners: Value) -> Result<(), Error> {
        let uid = uid_and_version(&self.fence).0;
        let patch = json!({ "metadata": { "uid": uid, "ownerReferences": owners } });
        let limit = self.fence.remaining()?.min(WRITE_TIMEOUT);
        let answer = self.provider.patch(self.resource_ref(), &patch, limit);
        self.fence.update(&read_lease(&answer.await?)?);
        Ok(())
    }

    /// Deletes the lease: the last object of a deleted shoot.
    ///
    /// # Errors
    ///
    /// Those of a write; a lease that does not exist is not an error.
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

    /// Releases the lease. To be called once all requests have been answered.
    ///
    /// # Errors
    ///
    /// The lease could not be released and expires after 15 s.
    pub(crate) async fn release(&self) -> Result<(), Error> {
        self.renewal.abort();
        let mut result = Ok(());
        for _ in 0..RELEASE_ATTEMPTS {
            // The lease of another run must stay: read it first.
            if confirm_ownership(&self.provider, self.resource_ref(), &self.fence)
                .await
                .is_err()
            {
                return Ok(());
            }
            result = self.write_release().await;
            // A renewal in flight may arrive after the read, and changes the version.
            if !matches!(result, Err(Error::Conflict { .. })) {
                break;
            }
        }
        self.fence.revoke("it was released");
        match result {
            // It was deleted with the record.
            Err(Error::NotFound { .. }) => Ok(()),
            result => result,
        }
    }

    /// Clears the holder, if the lease still has the version that is known.
    async fn write_release(&self) -> Result<(), Error> {
        let (uid, version) = uid_and_version(&self.fence);
        let free = json!({
            "metadata": { "uid": uid, "resourceVersion": version, "annotations": { HOLDER_ANNOTATION: null, VERB_ANNOTATION: null, PROGRESS_ANNOTATION: null } },
            "spec": { "holderIdentity": "" },
        });
        let time = self.fence.remaining()?.min(WRITE_TIMEOUT);
        self.provider
            .patch(self.resource_ref(), &free, time)
            .await?;
        Ok(())
    }

    /// Sets the progress that other commands see within seconds.
    pub(crate) fn set_progress(&self, done: usize, total: usize) {
        let percent = (done * 100).checked_div(total).unwrap_or(100).min(100);
        let percent = u8::try_from(percent).unwrap_or(100);
        self.percent.store(percent, Ordering::Relaxed);
    }

    fn hold(provider: &ApiClient, name: &str, held: HeldLease) -> Lease {
        let fence = Fence::new(held);
        let percent = Arc::new(AtomicU8::new(0));
        let renewal = renew(
            provider.clone(),
            name.to_owned(),
            fence.clone(),
            percent.clone(),
        );
        Lease {
            provider: provider.clone(),
            name: name.to_owned(),
            fence,
            percent,
            renewal: tokio::spawn(renewal.in_current_span()),
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

/// One attempt to take the lease.
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
            let made = provider.create(resource_ref, &object, WRITE_TIMEOUT);
            let made = read_lease(&made.await?)?;
            return Ok(Ok(held_lease(name, holder, asked, made)));
        }
        other => read_lease(&other?)?,
    };
    if !existing.metadata.belongs_to(name) {
        return Err(Error::NotOwned {
            what: resource_ref.request_info("update"),
        });
    }
    match assess(
        &existing,
        holder,
        observed,
        is_gone,
        provider.current_time(),
    ) {
        LeaseAvailability::Free => {}
        other => return Ok(Err(other)),
    }
    let asked = Instant::now();
    let patch = takeover_patch(&existing, holder);
    let taken = provider.patch(resource_ref, &patch, WRITE_TIMEOUT);
    let taken = read_lease(&taken.await?)?;
    Ok(Ok(held_lease(name, holder, asked, taken)))
}

fn read_lease(lease: &Value) -> Result<PartialLease, Error> {
    read(&resources::LEASE, lease)
}

/// Renews until another run has the lease. Each renewal requires the version of the one before, so a late one succeeds
/// only if no other run had the lease in between.
async fn renew(provider: ApiClient, name: String, fence: Fence, percent: Arc<AtomicU8>) {
    let resource_ref = ResourceRef::one(&resources::LEASE, provider.namespace(), &name);
    loop {
        sleep(RENEW_INTERVAL).await;
        let mut backoff = Backoff::default();
        loop {
            let asked = Instant::now();
            let (uid, version) = uid_and_version(&fence);
            let percent = percent.load(Ordering::Relaxed).to_string();
            let renewal = json!({
                "metadata": {
                    "uid": uid,
                    "resourceVersion": version,
                    "annotations": { PROGRESS_ANNOTATION: percent },
                },
                "spec": { "renewTime": timestamp() },
            });
            let answer = provider.patch(resource_ref, &renewal, RENEW_INTERVAL).await;
            match answer.and_then(|it| read_lease(&it)) {
                Ok(renewed) => {
                    fence.renewed(asked, &renewed);
                    break;
                }
                // A response was lost, or the owner was set concurrently.
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

/// Updates the version if this run is still the holder; otherwise returns what happened.
async fn confirm_ownership(
    provider: &ApiClient,
    resource_ref: ResourceRef<'_>,
    fence: &Fence,
) -> Result<(), String> {
    let existing = match provider
        .get(resource_ref)
        .await
        .and_then(|it| read_lease(&it))
    {
        Ok(existing) => existing,
        Err(Error::NotFound { .. }) => return Err("it was deleted".to_owned()),
        // Retried with the next renewal.
        Err(_) => return Ok(()),
    };
    let metadata = &existing.metadata;
    let identity = metadata.annotation(HOLDER_ANNOTATION).unwrap_or_default();
    let is_ours = {
        let held = fence.held();
        metadata.uid == held.uid && identity == held.identity
    };
    if is_ours {
        fence.update(&existing);
        return Ok(());
    }
    Err(match existing.holder() {
        None => "it was released by another process".to_owned(),
        Some(other) => format!("taken over by {other}"),
    })
}

fn uid_and_version(fence: &Fence) -> (String, String) {
    let held = fence.held();
    (held.uid.clone(), held.version.clone())
}

#[cfg(test)]
#[path = "lease_tests.rs"]
mod tests;
