//! One kind: a LIST, then a WATCH that goes on from it for as long as the run lasts.

use super::observation_store::Shared;
use crate::cluster::client::api_client::Provider;
use crate::cluster::client::backoff::Backoff;
use crate::cluster::client::error::{Error, Verdict};
use crate::cluster::client::request::Place;
use crate::cluster::client::resources::{self, Resource};
use crate::state::key::{Kind, Side};
use futures::StreamExt as _;
use kube::core::WatchEvent;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// Silence after which a watch is taken for dead: more than the server keeps one open.
const IDLE: Duration = Duration::from_secs(320);
/// The same where the server has shown that it sends bookmarks, which it does each minute.
const IDLE_WITH_BOOKMARKS: Duration = Duration::from_secs(130);
/// How long passing errors may keep the first LIST back. The provider has answered when it gave the lock, so it may take
/// several questions; a shoot's API server may be gone for good.
const PATIENCE: Duration = Duration::from_secs(120);
const PATIENCE_INSIDE: Duration = Duration::from_secs(30);

/// One kind of one shoot: in the provider's namespace, or in the shoot itself.
#[derive(Clone)]
pub(crate) struct Feed {
    pub(crate) provider: Provider,
    pub(crate) shared: Arc<Shared>,
    pub(crate) source: (Side, Kind),
    pub(crate) selector: String,
}

impl Feed {
    /// Of the objects with the labels of the shoot, where its objects have any.
    pub(crate) fn new(
        provider: &Provider,
        shared: &Arc<Shared>,
        source: (Side, Kind),
        id: &str,
    ) -> Feed {
        let (side, kind) = source;
        let parts = [resources::belonging(kind, id), resources::among(side, kind)];
        let parts: Vec<String> = parts.into_iter().filter(|it| !it.is_empty()).collect();
        Feed {
            provider: provider.clone(),
            shared: shared.clone(),
            source,
            selector: parts.join(","),
        }
    }

    fn place(&self) -> Place<'_> {
        let namespace = match self.source.0 {
            Side::Provider => Some(&**self.provider.namespace()),
            Side::Shoot => None,
        };
        Place::all(Resource::of(self.source.1), namespace)
    }

    /// The first LIST; gives the version to watch from.
    pub(crate) async fn first(&self) -> Result<String, Error> {
        let begun = Instant::now();
        let patience = match self.source.0 {
            Side::Provider => PATIENCE,
            Side::Shoot => PATIENCE_INSIDE,
        };
        let mut backoff = Backoff::default();
        loop {
            match self.list().await {
                Ok(version) => return Ok(version),
                Err(error) if begun.elapsed() > patience => return Err(error),
                // The pages took so long that the server forgot the state that they are of.
                Err(Error::Expired { .. }) => {}
                Err(error) if error.verdict() == Verdict::Again => {
                    self.shared.trouble(self.source, &error);
                }
                Err(error) => return Err(error),
            }
            backoff.wait().await;
        }
    }

    async fn list(&self) -> Result<String, Error> {
        let listed = self
            .provider
            .list(self.place(), Some(&self.selector))
            .await?;
        let time = self.provider.server_time();
        self.shared.change(|world, now| {
            world.list(self.source, &listed.version, &listed.items, now, time)
        })?;
        self.shared.fine(self.source);
        Ok(listed.version)
    }

    /// Watches from `version` on, and never ends by itself.
    pub(crate) async fn follow(self, mut version: String) {
        let mut backoff = Backoff::default();
        loop {
            let begun = Instant::now();
            let ended = match self.watch(&mut version).await {
                Err(Error::Expired { .. }) => match self.list().await {
                    Ok(newest) => {
                        version = newest;
                        Ok(())
                    }
                    Err(error) => Err(error),
                },
                other => other,
            };
            match ended {
                // The server closes a watch now and then. One that is closed at once is trouble.
                Ok(()) if begun.elapsed() > Duration::from_secs(5) => backoff.reset(),
                Ok(()) => backoff.wait().await,
                Err(error) => {
                    self.shared.trouble(self.source, &error);
                    backoff.wait().await;
                }
            }
        }
    }

    async fn watch(&self, version: &mut String) -> Result<(), Error> {
        let events = self
            .provider
            .watch(self.place(), &self.selector, version)
            .await?;
        self.shared.fine(self.source);
        let mut events = std::pin::pin!(events);
        let mut idle = IDLE;
        loop {
            let Ok(event) = timeout(idle, events.next()).await else {
                return Err(Error::Timeout {
                    what: self.place().what("watch"),
                    after: idle,
                });
            };
            let Some(event) = event else {
                return Ok(());
            };
            match event? {
                WatchEvent::Bookmark(bookmark) => {
                    idle = IDLE_WITH_BOOKMARKS;
                    *version = bookmark.metadata.resource_version;
                }
                WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                    self.put(&object)?;
                    remember(version, &object);
                }
                WatchEvent::Deleted(object) => {
                    self.shared
                        .change(|world, _| world.gone(self.source, &object))?;
                    remember(version, &object);
                }
                WatchEvent::Error(status) => {
                    let what = self.place().what("watch");
                    return Err(Error::of_status(what, self.provider.server(), &status));
                }
            }
        }
    }

    fn put(&self, object: &Value) -> Result<(), Error> {
        let time = self.provider.server_time();
        self.shared
            .change(|world, now| world.put(self.source, object, now, time))
    }
}

fn remember(version: &mut String, object: &Value) {
    if let Some(newest) = object["metadata"]["resourceVersion"].as_str() {
        newest.clone_into(version);
    }
}
