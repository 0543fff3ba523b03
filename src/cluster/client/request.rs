//! What can be asked of a server, each with its deadline, and nothing tried again.

use super::error::{Error, What};
use super::resources::Resource;
use super::transport::{JSON, Request, timed_out};
use crate::cluster::client::api_client::Provider;
use crate::state::names;
use kube::core::WatchEvent;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::timeout;

const READ: Duration = Duration::from_secs(30);
/// Less than the lease lives, so that nothing lands after it was lost.
pub(crate) const WRITE: Duration = Duration::from_secs(10);
/// Items on a page of a LIST.
const PAGE: u32 = 500;
/// How long the server keeps a watch open.
const WATCH_SECONDS: u32 = 290;

const MERGE_PATCH: &str = "application/merge-patch+json";
pub(crate) const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

/// An object, or all objects of a kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) resource: &'static Resource,
    /// None for the whole cluster.
    pub(crate) namespace: Option<&'a str>,
    pub(crate) name: Option<&'a str>,
}

/// Which objects of a kind.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Select<'a> {
    pub(crate) labels: Option<&'a str>,
    pub(crate) fields: Option<&'a str>,
}

/// All objects of a kind at one time.
#[derive(Debug)]
pub(crate) struct Listed {
    /// As the server gave it; see [`crate::state::store::Version`].
    pub(crate) version: String,
    pub(crate) items: Vec<Value>,
}

impl<'a> Select<'a> {
    pub(crate) fn labels(labels: Option<&'a str>) -> Select<'a> {
        Select {
            labels,
            fields: None,
        }
    }
}

impl<'a> Place<'a> {
    pub(crate) fn all(resource: &'static Resource, namespace: Option<&'a str>) -> Place<'a> {
        Place {
            resource,
            namespace,
            name: None,
        }
    }

    pub(crate) fn one(resource: &'static Resource, namespace: &'a str, name: &'a str) -> Place<'a> {
        Place {
            resource,
            namespace: Some(namespace),
            name: Some(name),
        }
    }

    pub(crate) fn what(&self, verb: &'static str) -> What {
        What {
            verb,
            resource: self.resource.to_string().into(),
            kind: self.resource.kind.into(),
            name: self.name.map(Box::from),
            namespace: self.namespace.map(Box::from),
        }
    }

    fn path(&self) -> String {
        let all = self.resource.path(self.namespace);
        match self.name {
            Some(name) => format!("{all}/{name}"),
            None => all,
        }
    }

    /// Of Secrets only metadata is asked for, but for [`Provider::get_secret`]: what they hold never gets here.
    fn accept(&self, many: bool) -> &'static str {
        match (self.resource == &super::resources::SECRET, many) {
            (false, _) => JSON,
            (true, false) => METADATA,
            (true, true) => METADATA_LIST,
        }
    }
}

impl Provider {
    /// While something waits for it: a write, or the lease.
    pub(crate) async fn get(&self, place: Place<'_>) -> Result<Value, Error> {
        let request = Request::new("GET", place.path()).accept(place.accept(false));
        self.ask(place.what("get"), WRITE, request).await
    }

    /// A Secret with what it holds: only one that leads to the provider cluster, or a root that is to issue something.
    pub(crate) async fn get_secret(&self, place: Place<'_>) -> Result<Value, Error> {
        let request = Request::new("GET", place.path()).accept(JSON);
        self.ask_again(place.what("get"), READ, request).await
    }

    /// The same when nothing hurries: passing errors are waited out for a while.
    pub(crate) async fn get_again(&self, place: Place<'_>) -> Result<Value, Error> {
        let request = Request::new("GET", place.path()).accept(place.accept(false));
        self.ask_again(place.what("get"), READ, request).await
    }

    /// A question that is put as an object, and changes nothing.
    pub(crate) async fn review(&self, place: Place<'_>, object: &Value) -> Result<Value, Error> {
        let request = Request::new("POST", place.path()).body(JSON, object);
        self.ask_again(place.what("create"), WRITE, request).await
    }

    /// All pages. The state is consistent: it is that of the moment of asking, or newer.
    pub(crate) async fn list(
        &self,
        place: Place<'_>,
        selector: Option<&str>,
    ) -> Result<Listed, Error> {
        self.list_where(place, Select::labels(selector)).await
    }

    pub(crate) async fn list_where(
        &self,
        place: Place<'_>,
        select: Select<'_>,
    ) -> Result<Listed, Error> {
        self.list_as(place, select, place.accept(true)).await
    }

    /// The same without what the objects hold.
    pub(crate) async fn list_metadata(
        &self,
        place: Place<'_>,
        selector: Option<&str>,
    ) -> Result<Listed, Error> {
        self.list_as(place, Select::labels(selector), METADATA_LIST)
            .await
    }

    pub(crate) async fn list_as(
        &self,
        place: Place<'_>,
        select: Select<'_>,
        accept: &'static str,
    ) -> Result<Listed, Error> {
        let mut items = Vec::new();
        let mut next: Option<String> = None;
        loop {
            let mut request = Request::new("GET", place.path())
                .accept(accept)
                .query("limit", &PAGE.to_string());
            if let Some(labels) = select.labels {
                request = request.query("labelSelector", labels);
            }
            if let Some(fields) = select.fields {
                request = request.query("fieldSelector", fields);
            }
            if let Some(next) = &next {
                request = request.query("continue", next);
            }
            let mut page = self.ask_again(place.what("list"), READ, request).await?;
            if let Some(Value::Array(page)) = page.get_mut("items").map(Value::take) {
                items.extend(page);
            }
            match page["metadata"]["continue"].as_str() {
                Some(more) if !more.is_empty() => next = Some(more.to_owned()),
                _ => {
                    let version = page["metadata"]["resourceVersion"].as_str();
                    return Ok(Listed {
                        version: version.unwrap_or_default().to_owned(),
                        items,
                    });
                }
            }
        }
    }

    /// Events from `version` on, for at most [`WATCH_SECONDS`].
    pub(crate) async fn watch(
        &self,
        place: Place<'_>,
        selector: &str,
        version: &str,
    ) -> Result<impl futures::Stream<Item = Result<WatchEvent<Value>, Error>> + use<>, Error> {
        use futures::StreamExt as _;
        let request = Request::new("GET", place.path())
            .accept(place.accept(false))
            .query("watch", "true")
            .query("allowWatchBookmarks", "true")
            .query("timeoutSeconds", &WATCH_SECONDS.to_string())
            .query("labelSelector", selector)
            .query("resourceVersion", version)
            .build(Vec::new())?;
        let what = place.what("watch");
        let events = timeout(READ, self.client.request_events::<Value>(request))
            .await
            .map_err(|_| timed_out(&what, READ))?
            .map_err(|it| Error::of_client(what.clone(), &self.server, it))?;
        let server = self.server.clone();
        Ok(events.map(move |it| it.map_err(|it| Error::of_client(what.clone(), &server, it))))
    }

    /// Makes an object. Fields that the server does not know are refused, not dropped.
    pub(crate) async fn create(
        &self,
        place: Place<'_>,
        object: &Value,
        limit: Duration,
    ) -> Result<Value, Error> {
        let all = Place {
            name: None,
            ..place
        };
        let request = Request::new("POST", all.path())
            .accept(place.accept(false))
            .query("fieldManager", names::FIELD_MANAGER)
            .query("fieldValidation", "Strict")
            .body(JSON, object);
        self.ask(place.what("create"), limit, request).await
    }

    /// POST to a subresource: an eviction, say.
    pub(crate) async fn post_to(
        &self,
        place: Place<'_>,
        subresource: &'static str,
        object: &Value,
        limit: Duration,
    ) -> Result<Value, Error> {
        let path = format!("{}/{subresource}", place.path());
        let request = Request::new("POST", path).body(JSON, object);
        self.ask(place.what("create"), limit, request).await
    }

    pub(crate) async fn replace(
        &self,
        place: Place<'_>,
        object: &Value,
        limit: Duration,
    ) -> Result<Value, Error> {
        let request = Request::new("PUT", place.path())
            .accept(place.accept(false))
            .query("fieldManager", names::FIELD_MANAGER)
            .query("fieldValidation", "Strict")
            .body(JSON, object);
        self.ask(place.what("update"), limit, request).await
    }

    /// A JSON merge patch.
    pub(crate) async fn patch(
        &self,
        place: Place<'_>,
        patch: &Value,
        limit: Duration,
    ) -> Result<Value, Error> {
        let request = Request::new("PATCH", place.path())
            .accept(place.accept(false))
            .query("fieldManager", names::FIELD_MANAGER)
            .body(MERGE_PATCH, patch);
        self.ask(place.what("patch"), limit, request).await
    }

    /// Deletes this very object, and that version of it when one is given.
    pub(crate) async fn delete(
        &self,
        place: Place<'_>,
        uid: &str,
        version: Option<&str>,
        limit: Duration,
    ) -> Result<Value, Error> {
        let mut preconditions = json!({ "uid": uid });
        if let Some(version) = version {
            preconditions["resourceVersion"] = version.into();
        }
        let options = json!({
            "preconditions": preconditions,
            "propagationPolicy": "Background",
        });
        self.delete_with(place, options, limit).await
    }

    /// Gives this very pod, which is on its way out, no more than so many seconds to end.
    pub(crate) async fn hurry(
        &self,
        place: Place<'_>,
        uid: &str,
        seconds: u32,
        limit: Duration,
    ) -> Result<Value, Error> {
        let options = json!({
            "preconditions": { "uid": uid },
            "gracePeriodSeconds": seconds,
        });
        self.delete_with(place, options, limit).await
    }

    async fn delete_with(
        &self,
        place: Place<'_>,
        mut options: Value,
        limit: Duration,
    ) -> Result<Value, Error> {
        options["apiVersion"] = "v1".into();
        options["kind"] = "DeleteOptions".into();
        let request = Request::new("DELETE", place.path())
            .accept(place.accept(false))
            .body(JSON, &options);
        self.ask(place.what("delete"), limit, request).await
    }

    /// The same once, for what decides whether a server is there at all.
    pub(crate) async fn get_once(&self, path: &str, what: &'static str) -> Result<Value, Error> {
        let request = Request::new("GET", path.to_owned());
        self.ask(What::get(what), WRITE, request).await
    }

    /// Asks what no [`Place`] names: discovery, say.
    pub(crate) async fn get_path(&self, path: &str, what: &'static str) -> Result<Value, Error> {
        let request = Request::new("GET", path.to_owned());
        self.ask_again(What::get(what), READ, request).await
    }
}

/// A tenant of the provider cluster need not see what belongs to the cluster.
pub(crate) fn if_allowed(items: Result<Vec<Value>, Error>) -> Result<Vec<Value>, Error> {
    match items {
        Err(Error::NotAllowed { .. }) => Ok(Vec::new()),
        other => other,
    }
}
