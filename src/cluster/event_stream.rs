//! What is said of a shoot's objects, on either side: what there is of it, and what comes.

use super::client::backoff::Backoff;
use super::client::error::{Error, Verdict};
use super::client::request::Place;
use super::client::resources;
use super::event::EventSeen;
use super::support_bundle::ownership::Family;
use crate::cluster::client::api_client::Provider;
use crate::state::key::Side;
use futures::StreamExt as _;
use kube::core::WatchEvent;
use serde_json::Value;
use std::time::Duration;
use tokio::sync::mpsc::Sender;
use tokio::time::timeout;

/// Silence after which a watch is taken for dead: more than the server keeps one open.
const IDLE: Duration = Duration::from_secs(320);

/// One side of a shoot.
pub(crate) struct Said {
    side: Side,
    server: Provider,
    /// Who belongs to the shoot; None where all do.
    family: Option<Family>,
}

impl Said {
    /// In the provider's namespace, which `others` share: shoots by their technical IDs.
    ///
    /// # Errors
    ///
    /// The namespace may not be looked at, or the server does not answer.
    pub(crate) async fn outside(
        provider: &Provider,
        id: &str,
        others: Vec<String>,
    ) -> Result<Said, Error> {
        let mut family = Family::new(id, others);
        let place = Place::all(&resources::CLAIM, Some(provider.namespace()));
        // CDI names what it makes for a claim by the claim's UID. Who may not look at claims misses that.
        match provider.list(place, None).await {
            Ok(claims) => family.learn(&claims.items.iter().collect::<Vec<_>>()),
            Err(Error::NotAllowed { .. }) => {}
            Err(error) => return Err(error),
        }
        Ok(Said {
            side: Side::Provider,
            server: provider.clone(),
            family: Some(family),
        })
    }

    /// In the shoot itself.
    ///
    /// # Errors
    ///
    /// There is no way in.
    pub(crate) async fn inside(provider: &Provider, id: &str) -> Result<Said, Error> {
        Ok(Said {
            side: Side::Shoot,
            server: provider.inside(id).await?,
            family: None,
        })
    }

    /// # Errors
    ///
    /// Events may not be listed, or the server does not answer.
    pub(crate) async fn all(&self) -> Result<Vec<EventSeen>, Error> {
        let listed = self.server.list(self.place(), None).await?;
        Ok(listed
            .items
            .iter()
            .filter_map(|it| self.heard(it))
            .collect())
    }

    /// Tells what there is and what comes, some of it more than once. Ends when nobody listens any more.
    ///
    /// # Errors
    ///
    /// As [`Said::all`], where it does not pass.
    pub(crate) async fn follow(&self, listener: &Sender<EventSeen>) -> Result<(), Error> {
        let mut backoff = Backoff::default();
        while !listener.is_closed() {
            match self.tell(listener).await {
                Err(error) if error.verdict() != Verdict::Again => return Err(error),
                Ok(true) => backoff.reset(),
                Ok(false) | Err(_) => {}
            }
            backoff.wait().await;
        }
        Ok(())
    }

    /// One LIST and one WATCH; says whether that told anything new.
    async fn tell(&self, listener: &Sender<EventSeen>) -> Result<bool, Error> {
        let listed = self.server.list(self.place(), None).await?;
        for event in listed.items.iter().filter_map(|it| self.heard(it)) {
            // Whoever listened may have gone.
            let _ = listener.send(event).await;
        }
        let events = self.server.watch(self.place(), "", &listed.version).await?;
        let mut events = std::pin::pin!(events);
        let mut is_new = false;
        loop {
            let event = tokio::select! {
                event = timeout(IDLE, events.next()) => event,
                () = listener.closed() => return Ok(is_new),
            };
            match event {
                Ok(Some(Ok(WatchEvent::Added(event) | WatchEvent::Modified(event)))) => {
                    is_new = true;
                    if let Some(event) = self.heard(&event) {
                        let _ = listener.send(event).await;
                    }
                }
                Ok(Some(Ok(WatchEvent::Deleted(_) | WatchEvent::Bookmark(_)))) => {}
                // The next LIST shows what is the matter, if it is not over by then.
                Ok(Some(Ok(WatchEvent::Error(_)) | Err(_)) | None) | Err(_) => return Ok(is_new),
            }
        }
    }

    fn place(&self) -> Place<'_> {
        let namespace = match self.side {
            Side::Provider => Some(&**self.server.namespace()),
            Side::Shoot => None,
        };
        Place::all(&resources::EVENT, namespace)
    }

    fn heard(&self, event: &Value) -> Option<EventSeen> {
        let family = self.family.as_ref();
        let is_ours = family.is_none_or(|it| it.is_about(event));
        is_ours.then(|| EventSeen::of(self.side, event))
    }
}
