//! Pods of a control plane that a restore stops end soon.

use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::error::Error;
use crate::cluster::client::request::{ResourceRef, WRITE_TIMEOUT};
use crate::cluster::client::resources;
use crate::cluster::objects::metadata::PartialObject;
use crate::cluster::objects::reader::read_all;
use crate::state::names::{self, COMPONENT, part::ETCD, role::MACHINE};
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::time::sleep;

/// Grace period in seconds: what these pods still write is replaced, and without etcd an API server waits a minute.
const LAST_GRACE: u32 = 1;
/// Time between two lists.
const INTERVAL: Duration = Duration::from_secs(1);

impl ApiClient {
    /// Shortens the termination of the pods of a control plane, except for those of etcd. Ends when it is dropped.
    pub(crate) async fn shorten_terminations(&self, id: &str) {
        let mut shortened = BTreeSet::new();
        loop {
            if let Err(error) = self.shorten(id, &mut shortened).await {
                tracing::debug!(%error, "cannot shorten the termination of pods");
            }
            sleep(INTERVAL).await;
        }
    }

    /// Shortens those that are not in `shortened` yet, by UID.
    async fn shorten(&self, id: &str, shortened: &mut BTreeSet<String>) -> Result<(), Error> {
        let selector = format!(
            "{},{COMPONENT},{COMPONENT} notin ({MACHINE},{ETCD})",
            names::selector(id)
        );
        let all = ResourceRef::all(&resources::POD, Some(self.namespace()));
        let listed = self.list_metadata(all, Some(&selector)).await?;
        let pods: Vec<PartialObject> = read_all(&resources::POD, &listed.items)?;
        for pod in pods.iter().filter(|it| it.metadata.is_deleting()) {
            let (name, uid) = (&pod.metadata.name, &pod.metadata.uid);
            if shortened.contains(uid) {
                continue;
            }
            let one = ResourceRef::one(&resources::POD, self.namespace(), name);
            let answer = self
                .shorten_grace_period(one, uid, LAST_GRACE, WRITE_TIMEOUT)
                .await;
            match answer {
                Ok(_) | Err(Error::NotFound { .. } | Error::Conflict { .. }) => {
                    shortened.insert(uid.clone());
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
