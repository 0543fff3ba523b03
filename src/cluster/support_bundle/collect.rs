//! What a maintainer would ask for: objects of both sides, events and logs, with nothing secret in them.
//!
//! Secrets are read first, so that what they hold is known, and found wherever else it stands. Nothing here ends with
//! an error: what cannot be read is told as such.

use super::redact::Redactor;
use super::secrets as secret;
use crate::cluster::client::api_client::Provider;
use crate::cluster::client::error::Error;
use crate::cluster::client::request::{Place, Select};
use crate::cluster::client::resources::{self, Resource};
use crate::cluster::event::EventSeen;
use crate::state::names::{CAPI_CLUSTER, CSI_CLUSTER, selector};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::Sender;
use tokio::time::timeout;

/// Questions that are asked at once, of both sides together.
const AT_ONCE: usize = 8;
/// How long one kind of objects may take, or the way into the shoot.
const PATIENCE: Duration = Duration::from_secs(15);

/// What was found, or not.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Found {
    /// A file of the bundle.
    Piece { path: String, text: String },
    /// What one looks for first.
    Fact { what: &'static str, value: String },
    /// What could not be read.
    Missing { what: String, why: String },
    /// What is not there, and need not be.
    Note(String),
}

/// A shoot that is looked at from all sides.
pub(crate) struct Evidence {
    pub(super) provider: Provider,
    pub(super) id: String,
    pub(super) others: Vec<String>,
    /// Its own API server, or why that is not reached.
    pub(super) shoot: Result<Provider, String>,
    pub(super) redactor: Redactor,
    /// Names and lengths of either side's.
    pub(super) secrets: [Result<Vec<Value>, String>; 2],
    pub(super) at_once: Semaphore,
    /// What is not read yet.
    pub(super) pending: Mutex<BTreeSet<String>>,
}

impl Evidence {
    /// Reads Secrets of both sides and finds the way into the shoot. `texts` are files that people wrote for machines;
    /// `others` the IDs of other shoots in the namespace.
    pub(crate) async fn start(
        provider: &Provider,
        id: &str,
        others: Vec<String>,
        texts: &[String],
    ) -> Evidence {
        let shoot = async {
            let inside = within(provider.inside(id)).await;
            let inside = match inside {
                Ok(shoot) => shoot,
                Err(why) => return (Err(why.clone()), Err(why)),
            };
            let place = Place::all(&resources::SECRET, None);
            let secrets = within(inside.list_secrets(place, None)).await;
            (Ok(inside), secrets)
        };
        let (outer, (shoot, inner)) = tokio::join!(secrets_of(provider, id), shoot);
        let mut known = BTreeSet::new();
        let all = [&outer, &inner];
        let all = || all.iter().filter_map(|it| it.as_ref().ok()).flatten();
        all().for_each(|it| secret::learn(&mut known, it));
        texts
            .iter()
            .for_each(|it| secret::learn_file(&mut known, it));
        let names = all().flat_map(|it| {
            let metadata = &it["metadata"];
            [&metadata["name"], &metadata["namespace"]]
        });
        let names = names.filter_map(Value::as_str).chain([id]);
        secret::without_names(&mut known, names);
        let reduced = |secrets: Result<Vec<Value>, String>| {
            secrets.map(|it| it.iter().map(secret::reduced).collect())
        };
        Evidence {
            provider: provider.clone(),
            id: id.to_owned(),
            others,
            shoot,
            redactor: Redactor::new(&known),
            secrets: [reduced(outer), reduced(inner)],
            at_once: Semaphore::new(AT_ONCE),
            pending: Mutex::default(),
        }
    }

    pub(crate) fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Finds all there is. It may be dropped at any time; [`Evidence::unread`] then tells what is missing.
    pub(crate) async fn gather(&self, found: &Sender<Found>) {
        tokio::join!(self.outside(found), self.inside(found));
    }

    /// What was begun, and did not end.
    pub(crate) fn unread(&self) -> Vec<String> {
        let pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        pending.iter().cloned().collect()
    }

    /// One question among others: begins when there is room for it, and ends in time.
    pub(super) async fn read<T>(
        &self,
        what: &str,
        question: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, String> {
        let pending = || self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        pending().insert(what.to_owned());
        let _room = self.at_once.acquire().await;
        let answer = within(question).await;
        pending().remove(what);
        answer
    }

    /// Objects of one kind; None where the kind is not served.
    pub(super) async fn objects(
        &self,
        of: &Provider,
        resource: &'static Resource,
        namespace: Option<&str>,
    ) -> Option<Result<Vec<Value>, String>> {
        let what = format!("{resource} of {}", of.server());
        let question = async {
            match of.list(Place::all(resource, namespace), None).await {
                Err(Error::NotFound { .. }) => Ok(None),
                other => other.map(|it| Some(it.items)),
            }
        };
        self.read(&what, question).await.transpose()
    }

    /// Tells the objects of one kind, or why there are none to be told.
    pub(super) async fn tell(
        &self,
        found: &Sender<Found>,
        side: &str,
        resource: &Resource,
        objects: Result<Vec<Value>, String>,
    ) {
        let mut objects = match objects {
            Ok(objects) => objects,
            Err(why) => {
                let what = format!("{resource} of the {side}");
                return send(found, Found::Missing { what, why }).await;
            }
        };
        if objects.is_empty() {
            return;
        }
        for object in &mut objects {
            self.redactor.object(object);
            // Lists leave out what is the same for all.
            object["apiVersion"] = resource.api_version().into();
            object["kind"] = resource.kind.into();
        }
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": objects });
        let text = serde_yaml::to_string(&list).expect("JSON is YAML");
        let path = format!("{side}/objects/{resource}.yaml");
        send(found, Found::Piece { path, text }).await;
    }

    /// Tells events by time, for people and for programs.
    pub(super) async fn tell_events(
        &self,
        found: &Sender<Found>,
        side: &str,
        mut events: Vec<(EventSeen, Value)>,
    ) {
        events.sort_by_key(|it| it.0.last);
        let lines = events.iter().map(|(it, _)| {
            let time = it
                .last
                .and_then(|it| jiff::Timestamp::from_microsecond(it).ok());
            let time = time.map_or_else(|| "-".to_owned(), |it| format!("{it:.0}"));
            let message = it.message.replace('\n', " ");
            format!(
                "{time}  {:<7}  {:<24}  {}/{}  {message} (x{}, {})\n",
                it.kind, it.reason, it.namespace, it.object, it.count, it.source
            )
        });
        let text = self.redactor.text(&lines.collect::<String>());
        let path = format!("{side}/events.txt");
        send(found, Found::Piece { path, text }).await;
        let objects = events.into_iter().map(|it| it.1).collect();
        self.tell(found, side, &resources::EVENT, Ok(objects)).await;
    }
}

/// Whoever gathered no more needs nothing.
pub(super) async fn send(found: &Sender<Found>, one: Found) {
    let _ = found.send(one).await;
}

async fn within<T>(question: impl Future<Output = Result<T, Error>>) -> Result<T, String> {
    match timeout(PATIENCE, question).await {
        Ok(answer) => answer.map_err(|it| it.to_string()),
        Err(_) => Err(format!("no answer within {} s", PATIENCE.as_secs())),
    }
}

/// Those that bear the shoot's labels, with all they hold.
async fn secrets_of(provider: &Provider, id: &str) -> Result<Vec<Value>, String> {
    let selectors = [
        selector(id),
        format!("{CAPI_CLUSTER}={id}"),
        format!("{CSI_CLUSTER}={id}"),
    ];
    let lists = selectors.each_ref().map(|it| {
        let place = Place::all(&resources::SECRET, Some(provider.namespace()));
        within(provider.list_secrets(place, Some(it)))
    });
    let lists = futures::future::try_join_all(lists).await?;
    Ok(lists.into_iter().flatten().collect())
}

impl Provider {
    /// With what they hold, which never leaves this room.
    async fn list_secrets(
        &self,
        place: Place<'_>,
        labels: Option<&str>,
    ) -> Result<Vec<Value>, Error> {
        let listed = self.list_as(
            place,
            Select::labels(labels),
            crate::cluster::client::transport::JSON,
        );
        Ok(listed.await?.items)
    }
}
