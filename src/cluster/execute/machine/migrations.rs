//! The migrations of a namespace, listed once for all machines of a run that migrate.

use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::error::Error;
use crate::cluster::client::request::ResourceRef;
use crate::cluster::client::resources;
use crate::cluster::objects::kubevirt::migration::PartialMigration;
use crate::cluster::objects::reader::read_all;
use std::sync::Arc;
use tokio::sync::Mutex;
use tokio::time::Instant;

/// The last list of all migrations in the namespace, also those of others: KubeVirt carries out one of a machine at a time.
#[derive(Debug, Default)]
pub(crate) struct Migrations {
    listed: Mutex<Option<(Instant, Arc<[PartialMigration]>)>>,
}

impl Migrations {
    /// Returns a list that was requested at `time` or later; with None, the last one.
    pub(super) async fn since(
        &self,
        time: Option<Instant>,
        provider: &ApiClient,
    ) -> Result<Arc<[PartialMigration]>, Error> {
        // Others wait for this list instead of requesting their own.
        let mut listed = self.listed.lock().await;
        if let Some((requested, all)) = &*listed
            && Some(*requested) >= time
        {
            return Ok(all.clone());
        }
        let requested = Instant::now();
        let resource_ref = ResourceRef::all(&resources::MIGRATION, Some(provider.namespace()));
        let answer = provider.list(resource_ref, None).await?;
        let all: Vec<PartialMigration> = read_all(&resources::MIGRATION, &answer.items)?;
        let all: Arc<[PartialMigration]> = all.into();
        *listed = Some((requested, all.clone()));
        Ok(all)
    }
}
