//! What is said of a shoot's objects, on either side: what there is of it, and what comes.

use super::client::backoff::Backoff;
use super::client::error::{Error, Retryability};
use super::client::request::ResourceRef;
use super::client::resources;
use super::event::KubernetesEvent;
use super::support_bundle::ownership::OwnershipFilter;
use crate::cluster::client::api_client::ApiClient;
use crate::plan::item::Side;
use futures::StreamExt as _;
use kube::core::WatchEvent;
use serde_json::Value;
use std::time::Duration;
use tokio::sync::mpsc::Sender;
use tokio::time::timeout;

/// Silence after which a watch is taken for dead: more than the server keeps one open.
const IDLE_TIMEOUT: Duration = Duration::from_secs(320);

/// One side of a shoot.
pub(crate) struct EventStream {
    side: Side,
    server: ApiClient,
    /// Who belongs to the shoot; None where all do.
    ownership: Option<OwnershipFilter>,
}

impl EventStream {
    /// In the provider's namespace, which `others` share: shoots by their technical IDs.
    ///
    /// # Errors
    ///
    /// The namespace may not be looked at, or the server does not answer.
    pub(crate) async fn of_provider(
        provider: &ApiClient,
        id: &str,
        others: Vec<String>,
    ) -> Result<EventStream, Error> {
        let mut ownership = OwnershipFilter::new(id, others);
        let resource_ref = ResourceRef::all(&resources::CLAIM, Some(provider.namespace()));
        // CDI names what it makes for a claim by the claim's UID. Who may not look at claims misses that.
        match provider.list(resource_ref, None).await {
            Ok(claims) => ownership.learn(&claims.items.iter().collect::<Vec<_>>()),
            Err(Error::Forbidden { .. }) => {}
            Err(error) => return Err(error),
        }
        Ok(EventStream {
            side: Side::Provider,
            server: provider.clone(),
            ownership: Some(ownership),
        })
    }

    /// In the shoot itself.
    ///
    /// # Errors
    ///
    /// There is no way in.
    pub(crate) async fn of_shoot(provider: &ApiClient, id: &str) -> Result<EventStream, Error> {
        Ok(EventStream {
            side: Side::Shoot,
            server: provider.shoot_client(id).await?,
            ownership: None,
        })
    }

    /// # Errors
    ///
    /// Events may not be listed, or the server does not answer.
    pub(crate) async fn list(&self) -> Result<Vec<KubernetesEvent>, Error> {
        let listed = self.server.list(self.resource_ref(), None).await?;
        Ok(listed
            .items
            .iter()
            .filter_map(|it| self.parse_owned(it))
            .collect())
    }

    /// Tells what there is and what comes, some of it more than once. Ends when nobody listens any more.
    ///
    /// # Errors
    ///
    /// As [`Said::all`], where it does not pass.
    pub(crate) async fn follow(&self, listener: &Sender<KubernetesEvent>) -> Result<(), Error> {
        let mut backoff = Backoff::default();
        while !listener.is_closed() {
            match self.list_and_watch(listener).await {
                Err(error) if error.retryability() != Retryability::Retry => return Err(error),
                Ok(true) => backoff.reset(),
                Ok(false) | Err(_) => {}
            }
            backoff.wait().await;
        }
        Ok(())
    }

    /// One LIST and one WATCH; says whether that told anything new.
    async fn list_and_watch(&self, listener: &Sender<KubernetesEvent>) -> Result<bool, Error> {
        let listed = self.server.list(self.resource_ref(), None).await?;
        for event in listed.items.iter().filter_map(|it| self.parse_owned(it)) {
            // Whoever listened may have gone.
            let _ = listener.send(event).await;
        }
        let events = self
            .server
            .watch(self.resource_ref(), "", &listed.version)
            .await?;
        let mut events = std::pin::pin!(events);
        let mut is_new = false;
        loop {
            let event = tokio::select! {
                event = timeout(IDLE_TIMEOUT, events.next()) => event,
                () = listener.closed() => return Ok(is_new),
            };
            match event {
                Ok(Some(Ok(WatchEvent::Added(event) | WatchEvent::Modified(event)))) => {
                    is_new = true;
                    if let Some(event) = self.parse_owned(&event) {
                        let _ = listener.send(event).await;
                    }
                }
                Ok(Some(Ok(WatchEvent::Deleted(_) | WatchEvent::Bookmark(_)))) => {}
                // The next LIST shows what is the matter, if it is not over by then.
                Ok(Some(Ok(WatchEvent::Error(_)) | Err(_)) | None) | Err(_) => return Ok(is_new),
            }
        }
    }

    fn resource_ref(&self) -> ResourceRef<'_> {
        let namespace = match self.side {
            Side::Provider => Some(&**self.server.namespace()),
            Side::Shoot => None,
        };
        ResourceRef::all(&resources::EVENT, namespace)
    }

    fn parse_owned(&self, event: &Value) -> Option<KubernetesEvent> {
        let ownership = self.ownership.as_ref();
        let is_ours = ownership.is_none_or(|it| it.is_about(event));
        is_ours.then(|| KubernetesEvent::parse(self.side, event))
    }
}
