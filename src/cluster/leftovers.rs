//! The proof that nothing is left: every kind again, by label.

use super::Provider;
use super::error::Error;
use super::kinds::{self, Resource};
use super::project::text;
use super::request::Place;
use crate::plan::names;
use futures::future::join_all;

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
    /// It was deleted and these keep it.
    pub(crate) finalizers: Vec<String>,
}

impl Provider {
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
            left.objects.extend(items.iter().map(|it| {
                Leftover {
                    kind: resource.kind,
                    name: text(&it["metadata"]["name"]).to_owned(),
                    finalizers: super::project::items(&it["metadata"]["finalizers"])
                        .iter()
                        .filter_map(|it| it.as_str().map(str::to_owned))
                        .collect(),
                }
            }));
        }
        Ok(left)
    }
}
