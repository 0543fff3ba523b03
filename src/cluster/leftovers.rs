//! The proof that nothing is left: every kind again, by label.

use super::Provider;
use super::error::Error;
use super::fence::Fence;
use super::kinds::{self, Resource};
use super::project::{items, text};
use super::request::{Place, WRITE};
use crate::plan::names;
use futures::future::join_all;
use serde_json::Value;

/// What a shoot may leave, in the order in which it is told.
const KINDS: [&Resource; 10] = [
    &kinds::VIRTUAL_MACHINE,
    &kinds::VIRTUAL_MACHINE_INSTANCE,
    &kinds::POD,
    &kinds::SERVICE,
    &kinds::DATA_VOLUME,
    &kinds::CLAIM,
    &kinds::NETWORK,
    &kinds::SECRET,
    &kinds::LEASE,
    &kinds::CONFIG_MAP,
];

/// What is left of a shoot.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Leftovers {
    pub(crate) objects: Vec<Leftover>,
    /// Kinds that may not be looked at, as kubectl names them.
    pub(crate) unseen: Vec<&'static str>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Leftover {
    /// As kubectl names it.
    pub(crate) kind: &'static str,
    pub(crate) name: String,
    /// What keeps it once it is deleted.
    pub(crate) finalizers: Vec<String>,
    /// Nobody deletes it: it is not on its way out, and has no owner to go with.
    stray: Option<Stray>,
}

#[derive(Debug, PartialEq, Eq)]
struct Stray {
    resource: &'static Resource,
    uid: String,
}

/// What Kubernetes itself puts into each namespace.
const OF_KUBERNETES: &str = "kube-root-ca.crt";

impl Provider {
    /// Whether nobody keeps anything in the namespace, of all kinds that a shoot may have.
    ///
    /// # Errors
    ///
    /// The server does not answer, or does not let it be seen.
    pub(crate) async fn is_empty(&self) -> Result<bool, Error> {
        let lists = KINDS.map(async |resource| {
            let place = Place::all(resource, Some(self.namespace()));
            self.list_metadata(place, None).await
        });
        for listed in join_all(lists).await {
            let items = match listed {
                Ok(listed) => listed.items,
                Err(Error::NotFound { .. }) => continue,
                Err(error) => return Err(error),
            };
            let mut names = items.iter().map(|it| text(&it["metadata"]["name"]));
            if names.any(|it| it != OF_KUBERNETES) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Lists every kind of object that a shoot may have, by its labels. Kinds that are not served have none.
    ///
    /// # Errors
    ///
    /// The server does not answer. A kind that may not be listed is no error; it is told.
    pub(crate) async fn leftovers(&self, id: &str) -> Result<Leftovers, Error> {
        let selector = names::selector(id);
        let lists = KINDS.map(async |resource| {
            let place = Place::all(resource, Some(self.namespace()));
            (resource, self.list_metadata(place, Some(&selector)).await)
        });
        let mut left = Leftovers::default();
        for (resource, listed) in join_all(lists).await {
            let items = match listed {
                Ok(listed) => listed.items,
                Err(Error::NotFound { .. }) => continue,
                Err(Error::NotAllowed { .. }) => {
                    left.unseen.push(resource.kind);
                    continue;
                }
                Err(error) => return Err(error),
            };
            left.objects
                .extend(items.iter().map(|it| leftover(resource, &it["metadata"])));
        }
        Ok(left)
    }

    /// Deletes what carries a shoot's labels and would stay for ever: somebody took the other labels, by which a run
    /// knows what it is.
    pub(crate) async fn delete_strays(&self, left: &Leftovers, fence: &Fence) {
        let strays = left.objects.iter().filter(|it| it.kind != "Lease");
        for (name, stray) in strays.filter_map(|it| Some((&it.name, it.stray.as_ref()?))) {
            let place = Place::one(stray.resource, self.namespace(), name);
            let deleted = match fence.left() {
                Ok(limit) => self.delete(place, &stray.uid, None, limit.min(WRITE)).await,
                Err(error) => Err(error),
            };
            // It is listed again, and told if it stays.
            if let Err(error) = deleted {
                tracing::warn!(%error, "cannot delete what is left");
            }
        }
    }
}

fn leftover(resource: &'static Resource, metadata: &Value) -> Leftover {
    let finalizers = items(&metadata["finalizers"]).iter();
    let stays = !metadata["deletionTimestamp"].is_string();
    let stray = stays && items(&metadata["ownerReferences"]).is_empty();
    Leftover {
        kind: resource.kind,
        name: text(&metadata["name"]).to_owned(),
        finalizers: finalizers
            .filter_map(|it| it.as_str().map(str::to_owned))
            .collect(),
        stray: stray.then(|| Stray {
            resource,
            uid: text(&metadata["uid"]).to_owned(),
        }),
    }
}
