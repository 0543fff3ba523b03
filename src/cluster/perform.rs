//! Does one action, and tells the observer the answer before it returns.

use super::Provider;
use super::adopt::{Found, found, over, tied};
use super::error::Error;
use super::fence::Fence;
use super::kinds::{self, Resource};
use super::observe::Observer;
use super::project::{self, text};
use super::request::{Place, WRITE};
use crate::plan::item::{Action, Content, Key, Kind, Target, Wanted};
use crate::plan::names;
use crate::plan::observed::Record;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// Writes to the provider for one run.
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
        let place = self.place(Kind::Record, &record.name);
        let patch = json!({ "metadata": { "uid": &*record.uid }, "data": data });
        match self.provider.patch(place, &patch, self.limit()?).await {
            Ok(answer) => {
                self.put(Kind::Record, &answer)?;
                self.observer.shared.settled().await;
                Ok(())
            }
            Err(Error::NotFound { what }) => Err(Error::Conflict { what }),
            Err(error) => Err(error),
        }
    }

    async fn apply(&self, wanted: &Wanted, objects: &[Value]) -> Result<(), Error> {
        for object in objects {
            if let Content::Metadata { uid, .. } = &wanted.content {
                self.relabel(&wanted.key, uid, object).await?;
                continue;
            }
            let kind = project::text(&object["kind"]);
            let Some(kind) = kinds::kind_of(kind) else {
                return Err(Error::Missing(format!("no way to apply a {kind}")));
            };
            let name = text(&object["metadata"]["name"]);
            match (kind, self.is_there(kind, name)) {
                (Kind::Record | Kind::Network | Kind::Image, true) => {
                    self.replace(kind, name, object).await?;
                }
                // It holds what its name says, for the name has the hash.
                (Kind::UserData | Kind::Machine, true) => {}
                (_, false) => self.create(kind, name, object).await?,
            }
        }
        Ok(())
    }

    /// POST, and a look at what is there when it is there already or when no answer came.
    async fn create(&self, kind: Kind, name: &str, object: &Value) -> Result<(), Error> {
        let place = self.place(kind, name);
        let limit = self.limit()?;
        let error = match self.provider.create(place, object, limit).await {
            Ok(answer) => return self.put(kind, &answer),
            Err(error @ Error::Exists { .. }) => error,
            Err(error) if error.is_ambiguous() => error,
            Err(error) => return Err(error),
        };
        // Not there is gone again, or never made.
        let Ok(there) = self.provider.get(place).await else {
            return Err(error);
        };
        match found(kind, &there, object) {
            Found::Foreign => Err(Error::Foreign {
                what: place.what("create"),
            }),
            Found::Wanted => self.put(kind, &there),
            Found::Other => {
                self.put(kind, &there)?;
                Err(Error::Conflict {
                    what: place.what("create"),
                })
            }
        }
    }

    /// PUT of the whole content, so that keys that are no longer wanted vanish; labels, annotations, owners and
    /// finalizers of others stay.
    async fn replace(&self, kind: Kind, name: &str, object: &Value) -> Result<(), Error> {
        let place = self.place(kind, name);
        let there = match self.provider.get(place).await {
            Err(Error::NotFound { what }) => return Err(Error::Conflict { what }),
            other => other?,
        };
        match found(kind, &there, object) {
            Found::Foreign => {
                return Err(Error::Foreign {
                    what: place.what("update"),
                });
            }
            Found::Wanted => return self.put(kind, &there),
            Found::Other if project::is_leaving(&there) => {
                self.put(kind, &there)?;
                return Err(Error::Conflict {
                    what: place.what("update"),
                });
            }
            Found::Other => {}
        }
        let whole = over(&there, object);
        match self.provider.replace(place, &whole, self.limit()?).await {
            Ok(answer) => self.put(kind, &answer),
            Err(error) if error.is_ambiguous() => self.reread(place, kind, object, error).await,
            Err(error) => Err(error),
        }
    }

    /// No answer came: it counts as done if it can be seen.
    async fn reread(
        &self,
        place: Place<'_>,
        kind: Kind,
        wanted: &Value,
        error: Error,
    ) -> Result<(), Error> {
        let Ok(there) = self.provider.get(place).await else {
            return Err(error);
        };
        self.put(kind, &there)?;
        match found(kind, &there, wanted) {
            Found::Wanted => Ok(()),
            Found::Other | Found::Foreign => Err(error),
        }
    }

    async fn relabel(&self, key: &Key, uid: &Arc<str>, patch: &Value) -> Result<(), Error> {
        let place = self.place(key.kind, &key.name);
        let known = self.observer.shared.read(|world| {
            world
                .get(key.kind, &key.name)
                .filter(|it| it.uid == *uid)
                .map(|it| it.version.text().clone())
        });
        let Some(version) = known else {
            return Err(Error::Conflict {
                what: place.what("patch"),
            });
        };
        let patch = tied(patch.clone(), uid, &version);
        match self.provider.patch(place, &patch, self.limit()?).await {
            Ok(answer) => self.put(key.kind, &answer),
            Err(Error::NotFound { what }) => Err(Error::Conflict { what }),
            Err(error) => Err(error),
        }
    }

    async fn delete(&self, target: &Target) -> Result<(), Error> {
        let Key { kind, name, .. } = &target.key;
        let place = self.place(*kind, name);
        let seen = self.look_again(target).await?;
        let limit = self.limit()?;
        let answer = self
            .provider
            .delete(place, &target.uid, seen.as_deref(), limit)
            .await;
        match answer {
            Ok(answer) => self.deleted(target, &answer),
            Err(Error::NotFound { .. }) => {
                self.gone(target);
                Ok(())
            }
            // The preconditions do not hold: another one, or another version of the one looked at.
            Err(Error::Conflict { what }) => match self.provider.get(place).await {
                Ok(there) if there["metadata"]["uid"] == *target.uid => {
                    self.put(*kind, &there)?;
                    Err(Error::Conflict { what })
                }
                Ok(_) | Err(Error::NotFound { .. }) => {
                    self.gone(target);
                    Ok(())
                }
                Err(error) => Err(error),
            },
            Err(error) if error.is_ambiguous() => match self.provider.get(place).await {
                Ok(there) if there["metadata"]["uid"] == *target.uid => {
                    self.put(*kind, &there)?;
                    match project::is_leaving(&there) {
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
        let is_held = !project::items(&answer["metadata"]["finalizers"]).is_empty();
        if is_object && (is_held || project::is_leaving(answer)) {
            return self.put(target.key.kind, answer);
        }
        self.gone(target);
        Ok(())
    }

    /// Marks the machine: that write is the decision, and a run that finds the mark goes on from there.
    async fn drain(&self, target: &Target) -> Result<(), Error> {
        let Key { kind, name, .. } = &target.key;
        let place = self.place(*kind, name);
        if !self.is_marked(target) {
            let seen = self.look_again(target).await?;
            let version = seen.as_deref().unwrap_or(&target.version);
            let mark = json!({ "metadata": { "annotations": { names::LEAVING: &*self.run_id } } });
            let mark = tied(mark, &target.uid, version);
            match self.provider.patch(place, &mark, self.limit()?).await {
                Ok(answer) => self.put(*kind, &answer)?,
                Err(Error::NotFound { .. }) => {
                    self.gone(target);
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
        self.fence.left()?;
        self.observer.drained(&target.uid);
        Ok(())
    }

    /// For a decision that rests on the machine not being ready: the version that it was looked at in.
    async fn look_again(&self, target: &Target) -> Result<Option<String>, Error> {
        if !target.unless_ready || target.key.kind != Kind::Machine {
            return Ok(None);
        }
        let place = self.place(target.key.kind, &target.key.name);
        let there = match self.provider.get(place).await {
            Err(Error::NotFound { .. }) => {
                self.gone(target);
                return Ok(None);
            }
            other => other?,
        };
        self.put(target.key.kind, &there)?;
        if there["metadata"]["uid"] != *target.uid {
            return Ok(None);
        }
        if project::is_ready(&there) {
            return Err(Error::Ready(target.key.name.to_string()));
        }
        Ok(Some(text(&there["metadata"]["resourceVersion"]).to_owned()))
    }

    fn place<'a>(&'a self, kind: Kind, name: &'a str) -> Place<'a> {
        Place::one(Resource::of(kind), self.provider.namespace(), name)
    }

    /// How long a write may take: it ends before the lease could be another's.
    fn limit(&self) -> Result<Duration, Error> {
        Ok(self.fence.left()?.min(WRITE))
    }

    fn is_there(&self, kind: Kind, name: &str) -> bool {
        let facts = self.observer.shared.newest();
        let shoot = facts.record.as_ref().map(|it| it.uid.clone());
        self.observer.shared.read(|world| {
            world
                .get(kind, name)
                .is_some_and(|it| kind == Kind::Record || it.fact.shoot == shoot)
        })
    }

    fn is_marked(&self, target: &Target) -> bool {
        self.observer.shared.read(|world| {
            world
                .get(target.key.kind, &target.key.name)
                .is_some_and(|it| match &it.fact.body {
                    project::Body::Machine(vm) => vm.marked && it.uid == target.uid,
                    _ => false,
                })
        })
    }

    fn put(&self, kind: Kind, object: &Value) -> Result<(), Error> {
        let time = self.provider.server_time();
        self.observer
            .shared
            .change(|world, now| world.put(kind, object, now, time))
    }

    fn gone(&self, target: &Target) {
        let Key { kind, name, .. } = &target.key;
        self.observer
            .shared
            .change(|world, _| world.gone_by_answer(*kind, name, target.uid.clone()));
    }
}
