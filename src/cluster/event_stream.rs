//! Events of a shoot's objects on one side, listed and watched.

use super::client::backoff::Backoff;
use super::client::error::{Error, Retryability};
use super::client::request::ResourceRef;
use super::client::resources;
use super::event::KubernetesEvent;
use super::objects::core::event::PartialEvent;
use super::objects::metadata::PartialObject;
use super::objects::reader::{read_if_valid, read_valid};
use super::records::RecordSnapshot;
use super::support_bundle::ownership::OwnershipFilter;
use crate::cluster::client::api_client::ApiClient;
use crate::state::key::ClusterSide;
use futures::StreamExt as _;
use kube::core::WatchEvent;
use serde_json::Value;
use std::time::Duration;
use tokio::sync::mpsc::Sender;
use tokio::time::timeout;

/// Silence after which a watch counts as dead: longer than the server keeps one open.
const IDLE_TIMEOUT: Duration = Duration::from_secs(320);

/// Events of one side of a shoot.
pub(crate) struct EventStream {
    side: ClusterSide,
    server: ApiClient,
    /// Objects of the shoot; None if all objects are.
    ownership: Option<OwnershipFilter>,
    /// When the shoot was created, in microseconds since 1970: earlier events are about one of the same name.
    since: Option<i64>,
}

impl EventStream {
    /// Events in the provider namespace about a shoot. `others` are the technical IDs of other shoots in it.
    ///
    /// # Errors
    ///
    /// Listing is forbidden, or the server does not answer.
    pub(crate) async fn of_provider(
        provider: &ApiClient,
        record: &RecordSnapshot,
        others: Vec<String>,
    ) -> Result<EventStream, Error> {
        let mut ownership = OwnershipFilter::new(&record.name, others);
        let resource_ref = ResourceRef::all(&resources::CLAIM, Some(provider.namespace()));
        // CDI's helper objects have the UID of a claim in their name. Without permission to list claims, their events
        // are left out.
        match provider.list(resource_ref, None).await {
            Ok(listed) => {
                let claims: Vec<PartialObject> = read_valid(&resources::CLAIM, &listed.items);
                ownership.learn(&claims.iter().map(|it| &it.metadata).collect::<Vec<_>>());
            }
            Err(Error::Forbidden { .. }) => {}
            Err(error) => return Err(error),
        }
        Ok(EventStream {
            side: ClusterSide::Provider,
            server: provider.clone(),
            ownership: Some(ownership),
            since: record.created.map(|it| it.saturating_mul(1_000_000)),
        })
    }

    /// Events in the shoot.
    ///
    /// # Errors
    ///
    /// The shoot's API server is not reachable.
    pub(crate) async fn of_shoot(provider: &ApiClient, id: &str) -> Result<EventStream, Error> {
        Ok(EventStream {
            side: ClusterSide::Shoot,
            server: provider.shoot_client(id).await?,
            ownership: None,
            since: None,
        })
    }

    /// # Errors
    ///
    /// Listing events is forbidden, or the server does not answer.
    pub(crate) async fn list(&self) -> Result<Vec<KubernetesEvent>, Error> {
        let listed = self.server.list(self.resource_ref(), None).await?;
        Ok(self.parse_sorted(&listed.items))
    }

    /// Oldest first.
    fn parse_sorted(&self, events: &[Value]) -> Vec<KubernetesEvent> {
        let owned = events.iter().filter_map(|it| self.parse_owned(it));
        let mut events: Vec<KubernetesEvent> = owned.collect();
        events.sort_by_key(|it| it.last);
        events
    }

    /// Sends existing and new events, some of them more than once, until the receiver is closed.
    ///
    /// # Errors
    ///
    /// Those of [`EventStream::list`] that are not transient.
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

    /// Runs one LIST and one WATCH; returns whether the watch had new events.
    async fn list_and_watch(&self, listener: &Sender<KubernetesEvent>) -> Result<bool, Error> {
        let listed = self.server.list(self.resource_ref(), None).await?;
        for event in self.parse_sorted(&listed.items) {
            // The receiver may be closed.
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
                // The next LIST shows the problem unless it has passed.
                Ok(Some(Ok(WatchEvent::Error(_)) | Err(_)) | None) | Err(_) => return Ok(is_new),
            }
        }
    }

    fn resource_ref(&self) -> ResourceRef<'_> {
        let namespace = match self.side {
            ClusterSide::Provider => Some(&**self.server.namespace()),
            ClusterSide::Shoot => None,
        };
        ResourceRef::all(&resources::EVENT, namespace)
    }

    fn parse_owned(&self, event: &Value) -> Option<KubernetesEvent> {
        let event: PartialEvent = read_if_valid(&resources::EVENT, event)?;
        let ownership = self.ownership.as_ref();
        if !ownership.is_none_or(|it| it.is_about(&event.involved_object)) {
            return None;
        }
        let event = KubernetesEvent::of(self.side, &event);
        let is_earlier = event.last < self.since && event.last.is_some();
        (!is_earlier).then_some(event)
    }
}
