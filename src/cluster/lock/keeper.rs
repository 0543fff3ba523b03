//! The `kvshoot keep` that takes care of a shoot, as other commands see it.

use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::error::Error;
use crate::cluster::client::request::ResourceRef;
use crate::cluster::client::resources;
use crate::cluster::objects::lease::PartialLease;
use crate::cluster::objects::reader::read_all;
use crate::state::names::{self, role};
use jiff::Timestamp;

/// A `kvshoot keep` that has renewed its Lease in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CurrentKeeper {
    /// User, host and run.
    pub(crate) holder: String,
    /// When it took over.
    pub(crate) since: Option<Timestamp>,
}

impl ApiClient {
    /// The `kvshoot keep` of a shoot: one of its own, or that of the whole namespace.
    ///
    /// # Errors
    ///
    /// Listing leases is forbidden, or the server does not answer.
    pub(crate) async fn keeper(&self, id: &str) -> Result<Option<CurrentKeeper>, Error> {
        let resource_ref = ResourceRef::all(&resources::LEASE, Some(self.namespace()));
        let selector = names::role_selector(role::KEEPER);
        let listed = self.list(resource_ref, Some(&selector)).await?;
        let leases: Vec<PartialLease> = read_all(&resources::LEASE, &listed.items)?;
        let now = self.current_time();
        let names = [names::keeper(Some(id)), names::keeper(None)];
        let mut fresh = names.iter().filter_map(|name| {
            let lease = leases.iter().find(|it| it.metadata.name == *name)?;
            let holder = lease.holder().filter(|_| !lease.is_expired(now))?;
            let since = lease.spec.acquire_time.as_deref();
            Some(CurrentKeeper {
                holder: holder.to_owned(),
                since: since.and_then(|it| it.parse().ok()),
            })
        });
        Ok(fresh.next())
    }
}
