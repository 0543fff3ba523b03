//! Runs in progress, as other commands see them. For display only, since clocks differ.

use super::acquire::{HOLDER_ANNOTATION, PROGRESS_ANNOTATION, VERB_ANNOTATION};
use super::fence::LEASE_DURATION;
use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::error::Error;
use crate::cluster::client::request::ResourceRef;
use crate::cluster::client::resources;
use crate::cluster::objects::lease::PartialLease;
use crate::cluster::objects::reader::{read, read_all};
use crate::cluster::records::NamespaceScope;
use crate::state::names::{self, role};
use std::sync::Arc;

/// The run that holds the lease of a shoot. One that was killed holds it as well.
#[derive(Debug, Clone)]
pub(crate) struct CurrentRun {
    pub(crate) namespace: Arc<str>,
    /// Technical ID of the shoot.
    pub(crate) id: Arc<str>,
    /// User, host and run.
    pub(crate) holder: String,
    /// See [`super::acquire::LeaseHolder::identity`].
    pub(crate) identity: String,
    /// The subcommand.
    pub(crate) verb: String,
    /// Items done, in percent; None until the lease was renewed for the first time.
    pub(crate) percent: Option<u8>,
    /// True if the lease was renewed in time by the server's clock.
    pub(crate) is_fresh: bool,
}

impl CurrentRun {
    /// None if the lease was released.
    fn of(lease: &PartialLease, now: Option<i64>) -> Option<CurrentRun> {
        let holder = lease.holder()?.to_owned();
        let metadata = &lease.metadata;
        let annotation = |key| metadata.annotation(key).unwrap_or_default();
        let age = lease.renewed().zip(now);
        let age = age.map_or(i64::MAX, |(then, now)| now.saturating_sub(then));
        Some(CurrentRun {
            namespace: metadata.namespace.as_deref().unwrap_or_default().into(),
            id: metadata.name.as_str().into(),
            holder,
            identity: annotation(HOLDER_ANNOTATION).to_owned(),
            verb: annotation(VERB_ANNOTATION).to_owned(),
            percent: annotation(PROGRESS_ANNOTATION).parse().ok(),
            is_fresh: age <= i64::try_from(LEASE_DURATION.as_secs()).unwrap_or(i64::MAX),
        })
    }
}

impl ApiClient {
    /// The runs of all shoots.
    ///
    /// # Errors
    ///
    /// Listing leases is forbidden, or the server does not answer.
    pub(crate) async fn current_runs(
        &self,
        scope: NamespaceScope,
    ) -> Result<Vec<CurrentRun>, Error> {
        let namespace = match scope {
            NamespaceScope::Current => Some(&**self.namespace()),
            NamespaceScope::All => None,
        };
        let resource_ref = ResourceRef::all(&resources::LEASE, namespace);
        let selector = names::role_selector(role::LOCK);
        let listed = self.list(resource_ref, Some(&selector)).await?;
        let leases: Vec<PartialLease> = read_all(&resources::LEASE, &listed.items)?;
        let now = self.server_time();
        Ok(leases
            .iter()
            .filter_map(|it| CurrentRun::of(it, now))
            .collect())
    }

    /// The run of a shoot.
    ///
    /// # Errors
    ///
    /// Reading the lease is forbidden, or the server does not answer.
    pub(crate) async fn current_run(&self, id: &str) -> Result<Option<CurrentRun>, Error> {
        let resource_ref = ResourceRef::one(&resources::LEASE, self.namespace(), id);
        match self.get_with_retry(resource_ref).await {
            Ok(existing) => {
                let existing: PartialLease = read(&resources::LEASE, &existing)?;
                Ok(CurrentRun::of(&existing, self.server_time()))
            }
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Display name of the current holder of a shoot's lease.
    ///
    /// # Errors
    ///
    /// Reading the lease is forbidden, or the server does not answer.
    pub(crate) async fn current_holder(&self, id: &str) -> Result<Option<String>, Error> {
        let run = self.current_run(id).await?;
        Ok(run.filter(|it| it.is_fresh).map(|it| it.holder))
    }

    /// True if the last run of a shoot had command `verb` and ended without releasing the lease, as a killed one does.
    /// A hint only: whether a closer check is worth it.
    ///
    /// # Errors
    ///
    /// Reading the lease is forbidden, or the server does not answer.
    pub(crate) async fn was_interrupted(
        &self,
        id: &str,
        verb: &str,
        is_gone: impl Fn(&str) -> bool,
    ) -> Result<bool, Error> {
        let run = self.current_run(id).await?;
        Ok(run.is_some_and(|it| it.verb == verb && (is_gone(&it.identity) || !it.is_fresh)))
    }
}
