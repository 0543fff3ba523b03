//! Does one action, and tells the observer the answer before it returns.

use super::adopt::{Found, found, over, tied};
use crate::cluster::client::api_client::Provider;
use crate::cluster::client::error::Error;
use crate::cluster::client::request::{Place, WRITE};
use crate::cluster::client::resources::Source;
use crate::cluster::client::resources::{self, Resource};
use crate::cluster::json::{is_leaving, items, text};
use crate::cluster::lock::fence::Fence;
use crate::cluster::observe::parse::object;
use crate::cluster::observe::parse::types;
use crate::cluster::observer::Observer;
use crate::state::action::{Action, Content, Target, Wanted};
use crate::state::facts::Record;
use crate::state::key::{Key, Kind, Side};
use crate::state::names;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

const RECORD: Source = (Side::Provider, Kind::Record);

/// Writes to the provider and to the shoot for one run.
pub(crate) struct Performer {
    pub(crate) provider: Provider,
    pub(crate) observer: Arc<Observer>,
    /// Stands on machines that this run chose to go.
    pub(crate) run_id: Arc<str>,
    pub(crate) fence: Fence,
}

impl Performer {
    /// Does `action` once. `objects` is what the caller rendered: for a machine its Secret, then the VM; for its
    /// labels and annotations a merge patch; nothing for what is no [`Action::Apply`].
    ///
    /// What is there already as it is wanted counts as done. The answer is in the published facts when this returns,
    /// so a plan made then does not ask for the same again.
    ///
    /// # Errors
    ///
    /// See [`Error::verdict`]. Nothing is tried again here.
    pub(crate) async fn perform(&self, action: &Action, objects: Vec<Value>) -> Result<(), Error> {
        let result = match action {
            Action::Apply(wanted) => self.apply(wanted, &objects).await,
            Action::Delete(target) => self.delete(target).await,
            Action::Drain(target) => self.drain(target).await,
        };
        self.observer.shared.settled().await;
        result
    }

    /// Sets data of the record that do not decide anything, as a merge patch: how the run goes, say. Null removes a key.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] when it is not that record any more.
    pub(crate) async fn note(&self, record: &Record, data: &Value) -> Result<(), Error> {
        let place = self.place(RECORD, &record.name);
        let patch = json!({ "metadata": { "uid": &*record.uid }, "data": data });
        match self.provider.patch(place, &patch, self.limit()?).await {
            Ok(answer) => {
                self.put(RECORD, &answer)?;
                self.observer.shared.settled().await;
                Ok(())
            }
            Err(Error::NotFound { what }) => Err(Error::Conflict { what }),
            Err(error) => Err(error),
        }
    }

    async fn apply(&self, wanted: &Wanted, objects: &[Value]) -> Result<(), Error> {
        if let Content::Issue(issue) = &wanted.content {
            return self.issue(&wanted.key, issue).await;
        }
        if let Content::Bundle(bundle) = &wanted.content {
            return self.bundle(bundle).await;
        }
        let objects = &self.prepare(wanted, objects).await?;
        for object in objects {
            if let Content::Metadata { uid, .. } = &wanted.content {
                self.relabel(&wanted.key, uid, object).await?;
                continue;
            }
            let Some(source) = resources::source_of(&wanted.key, object) else {
                let kind = text(&object["kind"]);
                return Err(Error::Missing(format!("no way to apply a {kind}")));
            };
            let name = object::name_of(source.0, object);
            match (source.1, self.is_there(source, &name)) {
                // It holds what its name says, for the name has the hash.
                (Kind::UserData | Kind::Machine, true) => {}
                (_, true) => self.replace(source, &name, object).await?,
                (_, false) => self.create(source, &name, object).await?,
            }
        }
        Ok(())
    }

    /// POST, and a look at what is there when it is there already or when no answer came.
    pub(crate) async fn create(
        &self,
        source: Source,
        name: &str,
        object: &Value,
    ) -> Result<(), Error> {
        let (api, place) = (self.api(source.0)?, self.place(source, name));
        let limit = self.limit()?;
        let error = match api.create(place, object, limit).await {
            Ok(answer) => return self.put(source, &answer),
            Err(error @ Error::Exists { .. }) => error,
            Err(error) if error.is_ambiguous() => error,
            Err(error) => return Err(error),
        };
        // Not there is gone again, or never made.
        let Ok(there) = api.get(place).await else {
            return Err(error);
        };
        match found(source.1, &there, object) {
            Found::Foreign => Err(Error::Foreign {
                what: place.what("create"),
            }),
            Found::Wanted => self.put(source, &there),
            Found::Other => {
                self.put(source, &there)?;
                Err(Error::Conflict {
                    what: place.what("create"),
                })
            }
        }
    }

    /// PUT of the whole content, so that keys that are no longer wanted vanish; labels, annotations, owners and
    /// finalizers of others stay.
    pub(crate) async fn replace(
        &self,
        source: Source,
        name: &str,
        object: &Value,
    ) -> Result<(), Error> {
        let (api, place) = (self.api(source.0)?, self.place(source, name));
        let there = match api.get(place).await {
            Err(Error::NotFound { what }) => return Err(Error::Conflict { what }),
            other => other?,
        };
        match found(source.1, &there, object) {
            Found::Foreign => {
                return Err(Error::Foreign {
                    what: place.what("update"),
                });
            }
            Found::Wanted => return self.put(source, &there),
            Found::Other if is_leaving(&there) => {
                self.put(source, &there)?;
                return Err(Error::Conflict {
                    what: place.what("update"),
                });
            }
            Found::Other => {}
        }
        let whole = over(&there, object);
        match api.replace(place, &whole, self.limit()?).await {
            Ok(answer) => self.put(source, &answer),
            Err(error) if error.is_ambiguous() => self.reread(place, source, object, error).await,
            Err(error) => Err(error),
        }
    }

    /// No answer came: it counts as done if it can be seen.
    async fn reread(
        &self,
        place: Place<'_>,
        source: Source,
        wanted: &Value,
        error: Error,
    ) -> Result<(), Error> {
        let Ok(there) = self.api(source.0)?.get(place).await else {
            return Err(error);
        };
        self.put(source, &there)?;
        match found(source.1, &there, wanted) {
            Found::Wanted => Ok(()),
            Found::Other | Found::Foreign => Err(error),
        }
    }

    async fn relabel(&self, key: &Key, uid: &Arc<str>, patch: &Value) -> Result<(), Error> {
        let source = (key.side, key.kind);
        let (api, place) = (self.api(key.side)?, self.place(source, &key.name));
        let known = self.observer.shared.read(|world| {
            world
                .get(source, &key.name)
                .filter(|it| it.uid == *uid)
                .map(|it| it.version.text().clone())
        });
        let Some(version) = known else {
            return Err(Error::Conflict {
                what: place.what("patch"),
            });
        };
        let patch = tied(patch.clone(), uid, &version);
        match api.patch(place, &patch, self.limit()?).await {
            Ok(answer) => self.put(source, &answer),
            Err(Error::NotFound { what }) => Err(Error::Conflict { what }),
            Err(error) => Err(error),
        }
    }

    async fn delete(&self, target: &Target) -> Result<(), Error> {
        if target.key.kind == Kind::Node {
            self.is_left(&target.key.name).await?;
        }
        let Key { side, kind, name } = &target.key;
        let source = &(*side, *kind);
        let (api, place) = (self.api(*side)?, self.place(*source, name));
        let seen = self.look_again(target).await?;
        let limit = self.limit()?;
        let answer = api.delete(place, &target.uid, seen.as_deref(), limit).await;
        match answer {
            Ok(answer) => self.deleted(target, &answer),
            Err(Error::NotFound { .. }) => {
                self.gone(target);
                Ok(())
            }
            // The preconditions do not hold: another one, or another version of the one looked at.
            Err(Error::Conflict { what }) => match api.get(place).await {
                Ok(there) if there["metadata"]["uid"] == *target.uid => {
                    self.put(*source, &there)?;
                    Err(Error::Conflict { what })
                }
                Ok(_) | Err(Error::NotFound { .. }) => {
                    self.gone(target);
                    Ok(())
                }
                Err(error) => Err(error),
            },
            Err(error) if error.is_ambiguous() => match api.get(place).await {
                Ok(there) if there["metadata"]["uid"] == *target.uid => {
                    self.put(*source, &there)?;
                    match is_leaving(&there) {
                        true => Ok(()),
                        false => Err(error),
                    }
                }
                Ok(_) | Err(Error::NotFound { .. }) => {
                    self.gone(target);
                    Ok(())
                }
                Err(_) => Err(error),
            },
            Err(error) => Err(error),
        }
    }

    /// A Status, or the object: as it was, if nothing holds it back, and else as it waits for its end.
    fn deleted(&self, target: &Target, answer: &Value) -> Result<(), Error> {
        let is_object = answer["metadata"]["uid"] == *target.uid;
        let is_held = !items(&answer["metadata"]["finalizers"]).is_empty();
        if is_object && (is_held || is_leaving(answer)) {
            return self.put((target.key.side, target.key.kind), answer);
        }
        self.gone(target);
        Ok(())
    }

    /// Marks the machine: that write is the decision, and a run that finds the mark goes on from there.
    async fn drain(&self, target: &Target) -> Result<(), Error> {
        let Key { side, kind, name } = &target.key;
        let place = self.place((*side, *kind), name);
        if !self.is_marked(target) {
            let seen = self.look_again(target).await?;
            let version = seen.as_deref().unwrap_or(&target.version);
            let mark = json!({ "metadata": { "annotations": { names::LEAVING: &*self.run_id } } });
            let mark = tied(mark, &target.uid, version);
            match self.provider.patch(place, &mark, self.limit()?).await {
                Ok(answer) => self.put((*side, *kind), &answer)?,
                Err(Error::NotFound { .. }) => {
                    self.gone(target);
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
        self.empty(target).await?;
        self.fence.left()?;
        self.observer.drained(&target.uid);
        Ok(())
    }

    /// For a decision that rests on the machine not being ready: the version that it was looked at in.
    async fn look_again(&self, target: &Target) -> Result<Option<String>, Error> {
        if !target.unless_ready || target.key.kind != Kind::Machine {
            return Ok(None);
        }
        let source = (target.key.side, target.key.kind);
        let place = self.place(source, &target.key.name);
        let there = match self.provider.get(place).await {
            Err(Error::NotFound { .. }) => {
                self.gone(target);
                return Ok(None);
            }
            other => other?,
        };
        self.put(source, &there)?;
        if there["metadata"]["uid"] != *target.uid {
            return Ok(None);
        }
        if object::is_ready(&there) {
            return Err(Error::Ready(target.key.name.to_string()));
        }
        Ok(Some(text(&there["metadata"]["resourceVersion"]).to_owned()))
    }

    /// That a node has no machine, by what the provider says now: what a run has seen of the one side may be older than
    /// what it has seen of the other, and a kubelet does not register again.
    async fn is_left(&self, node: &Arc<str>) -> Result<(), Error> {
        let source = (Side::Provider, Kind::Machine);
        let place = self.place(source, node);
        match self.provider.get(place).await {
            Err(Error::NotFound { .. }) => Ok(()),
            Ok(machine) => {
                self.put(source, &machine)?;
                Err(Error::Conflict {
                    what: place.what("delete"),
                })
            }
            Err(error) => Err(error),
        }
    }

    /// The server of a side.
    pub(crate) fn api(&self, side: Side) -> Result<Provider, Error> {
        match side {
            Side::Provider => Ok(self.provider.clone()),
            Side::Shoot => self.observer.inside().ok_or(Error::NotInside),
        }
    }

    fn place<'a>(&'a self, (side, kind): Source, name: &'a str) -> Place<'a> {
        let resource = Resource::of(kind);
        match (side, name.split_once('/')) {
            (Side::Provider, _) => Place::one(resource, self.provider.namespace(), name),
            (Side::Shoot, Some((namespace, name))) => Place::one(resource, namespace, name),
            (Side::Shoot, None) => Place {
                namespace: None,
                name: Some(name),
                ..Place::all(resource, None)
            },
        }
    }

    /// How long a write may take: it ends before the lease could be another's.
    pub(crate) fn limit(&self) -> Result<Duration, Error> {
        Ok(self.fence.left()?.min(WRITE))
    }

    pub(crate) fn is_there(&self, source: Source, name: &str) -> bool {
        let facts = self.observer.shared.newest();
        let shoot = facts.record.as_ref().map(|it| it.uid.clone());
        self.observer.shared.read(|world| {
            world
                .get(source, name)
                .is_some_and(|it| source == RECORD || it.fact.shoot == shoot)
        })
    }

    fn is_marked(&self, target: &Target) -> bool {
        self.observer.shared.read(|world| {
            world
                .get((target.key.side, target.key.kind), &target.key.name)
                .is_some_and(|it| match &it.fact.body {
                    types::Body::Machine(vm) => vm.marked && it.uid == target.uid,
                    _ => false,
                })
        })
    }

    pub(crate) fn put(&self, source: Source, object: &Value) -> Result<(), Error> {
        let time = self.provider.server_time();
        self.observer
            .shared
            .change(|world, now| world.put(source, object, now, time))
    }

    fn gone(&self, target: &Target) {
        let Key { side, kind, name } = &target.key;
        self.observer
            .shared
            .change(|world, _| world.gone_by_answer((*side, *kind), name, target.uid.clone()));
    }
}
