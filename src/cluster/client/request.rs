//! Requests to an API server, each with its deadline and without retries unless the name says so.

use super::error::{Error, RequestInfo};
use super::resources::Resource;
use super::transport::lines::Lines;
use super::transport::response::{ParseError, ReadError, Reservation, ResponseLimits};
use super::transport::{ApiRequest, JSON, JSON_OR_NOTHING, timeout_error};
use crate::cluster::client::api_client::ApiClient;
use crate::state::json::SecretJson;
use crate::state::names;
use kube::client::Body;
use kube::core::WatchEvent;
use serde::Deserialize as _;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::{Instant, timeout};
use tracing::Instrument as _;

const READ_TIMEOUT: Duration = Duration::from_secs(30);
/// Shorter than the lease, so that no write arrives after the lease was lost.
pub(crate) const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// Items per page of a LIST.
const PAGE_SIZE: u32 = 500;
/// Limits of all pages of a LIST.
const MAX_PAGES: usize = 1000;
const MAX_ITEMS: usize = 100_000;
const LIST_TIMEOUT: Duration = Duration::from_secs(120);
/// Time after which the server closes a watch.
const WATCH_SECONDS: u32 = 290;

const MERGE_PATCH: &str = "application/merge-patch+json";
pub(crate) const METADATA_ONLY: &str =
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const METADATA_LIST_ONLY: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

/// An object, or all objects of a kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ResourceRef<'a> {
    pub(crate) resource: &'static Resource,
    /// None for cluster-scoped objects or all namespaces.
    pub(crate) namespace: Option<&'a str>,
    pub(crate) name: Option<&'a str>,
}

/// Selectors of a LIST.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ListSelector<'a> {
    pub(crate) labels: Option<&'a str>,
    pub(crate) fields: Option<&'a str>,
}

/// All objects of a kind at one point in time.
#[derive(Debug)]
pub(crate) struct ObjectList {
    /// As returned by the server; see [`crate::state::store::ResourceVersion`].
    pub(crate) version: String,
    pub(crate) items: Vec<Value>,
    /// Until this is dropped, other large responses may have to wait.
    _memory: Reservation,
}

impl<'a> ListSelector<'a> {
    pub(crate) fn labels(labels: Option<&'a str>) -> ListSelector<'a> {
        ListSelector {
            labels,
            fields: None,
        }
    }
}

impl<'a> ResourceRef<'a> {
    pub(crate) fn all(resource: &'static Resource, namespace: Option<&'a str>) -> ResourceRef<'a> {
        ResourceRef {
            resource,
            namespace,
            name: None,
        }
    }

    pub(crate) fn one(
        resource: &'static Resource,
        namespace: &'a str,
        name: &'a str,
    ) -> ResourceRef<'a> {
        ResourceRef {
            resource,
            namespace: Some(namespace),
            name: Some(name),
        }
    }

    pub(crate) fn request_info(&self, verb: &'static str) -> RequestInfo {
        RequestInfo {
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

    /// Secrets are read as metadata only, except by [`ApiClient::get_secret`] and
    /// [`ApiClient::get_secret_to_replace`]: their data never get here.
    fn accept(&self, many: bool) -> &'static str {
        match (self.resource == &super::resources::SECRET, many) {
            (false, _) => JSON,
            (true, false) => METADATA_ONLY,
            (true, true) => METADATA_LIST_ONLY,
        }
    }
}

impl ApiClient {
    /// Reads an object once, for callers that hold the lease or retry themselves.
    pub(crate) async fn get(&self, resource_ref: ResourceRef<'_>) -> Result<Value, Error> {
        let request =
            ApiRequest::new("GET", resource_ref.path()).accept(resource_ref.accept(false));
        self.send(resource_ref.request_info("get"), WRITE_TIMEOUT, request)
            .await
    }

    /// Reads a Secret with its data: only a kubeconfig of the provider cluster, or a certificate authority.
    ///
    /// The connection is closed afterwards: its buffers would have the data until something else is read.
    pub(crate) async fn get_secret(
        &self,
        resource_ref: ResourceRef<'_>,
    ) -> Result<SecretJson, Error> {
        let request = ApiRequest::new("GET", resource_ref.path()).close_connection();
        self.get_secret_with(resource_ref, request).await
    }

    /// Reads one of many Secrets of a shoot, which kvshoot does not use itself.
    pub(crate) async fn get_secret_to_replace(
        &self,
        resource_ref: ResourceRef<'_>,
    ) -> Result<SecretJson, Error> {
        let request = ApiRequest::new("GET", resource_ref.path());
        self.get_secret_with(resource_ref, request).await
    }

    async fn get_secret_with(
        &self,
        resource_ref: ResourceRef<'_>,
        request: ApiRequest,
    ) -> Result<SecretJson, Error> {
        let what = resource_ref.request_info("get");
        let answer = self.send_with_retry(what, READ_TIMEOUT, request).await;
        answer.map(SecretJson::from)
    }

    /// Reads an object and retries transient errors for a while.
    pub(crate) async fn get_with_retry(
        &self,
        resource_ref: ResourceRef<'_>,
    ) -> Result<Value, Error> {
        let request =
            ApiRequest::new("GET", resource_ref.path()).accept(resource_ref.accept(false));
        self.send_with_retry(resource_ref.request_info("get"), READ_TIMEOUT, request)
            .await
    }

    /// Creates a review object, which changes nothing.
    pub(crate) async fn review(
        &self,
        resource_ref: ResourceRef<'_>,
        object: &Value,
    ) -> Result<Value, Error> {
        let request = ApiRequest::new("POST", resource_ref.path()).body(JSON, object);
        self.send_with_retry(resource_ref.request_info("create"), WRITE_TIMEOUT, request)
            .await
    }

    /// Lists all pages. The state is consistent and at least as new as the request.
    pub(crate) async fn list(
        &self,
        resource_ref: ResourceRef<'_>,
        selector: Option<&str>,
    ) -> Result<ObjectList, Error> {
        self.list_selected(resource_ref, ListSelector::labels(selector))
            .await
    }

    pub(crate) async fn list_selected(
        &self,
        resource_ref: ResourceRef<'_>,
        select: ListSelector<'_>,
    ) -> Result<ObjectList, Error> {
        self.list_with_accept(resource_ref, select, resource_ref.accept(true))
            .await
    }

    /// Lists metadata only.
    pub(crate) async fn list_metadata(
        &self,
        resource_ref: ResourceRef<'_>,
        selector: Option<&str>,
    ) -> Result<ObjectList, Error> {
        self.list_with_accept(
            resource_ref,
            ListSelector::labels(selector),
            METADATA_LIST_ONLY,
        )
        .await
    }

    pub(crate) async fn list_with_accept(
        &self,
        resource_ref: ResourceRef<'_>,
        select: ListSelector<'_>,
        accept: &'static str,
    ) -> Result<ObjectList, Error> {
        let mut items = Vec::new();
        let mut next: Option<String> = None;
        let mut limits = ResponseLimits::list();
        let begun = Instant::now();
        for _ in 0..MAX_PAGES {
            if begun.elapsed() > LIST_TIMEOUT {
                return Err(timeout_error(
                    &resource_ref.request_info("list"),
                    LIST_TIMEOUT,
                ));
            }
            let mut request = ApiRequest::new("GET", resource_ref.path())
                .accept(accept)
                .query("limit", &PAGE_SIZE.to_string());
            if let Some(labels) = select.labels {
                request = request.query("labelSelector", labels);
            }
            if let Some(fields) = select.fields {
                request = request.query("fieldSelector", fields);
            }
            if let Some(next) = &next {
                request = request.query("continue", next);
            }
            let what = resource_ref.request_info("list");
            let page = self.retry_within(&mut limits, what, READ_TIMEOUT, request);
            let mut page = page.await?;
            if let Some(Value::Array(page)) = page.get_mut("items").map(Value::take) {
                items.extend(page);
            }
            match page["metadata"]["continue"].as_str() {
                // A server that repeats a token would be asked forever.
                Some(more) if !more.is_empty() && next.as_deref() == Some(more) => {
                    let message = "it repeats a continue token".to_owned();
                    let what = resource_ref.request_info("list");
                    return Err(Error::InvalidResponse { what, message });
                }
                Some(more) if !more.is_empty() && items.len() <= MAX_ITEMS => {
                    next = Some(more.to_owned());
                }
                Some(more) if !more.is_empty() => break,
                _ => {
                    let version = page["metadata"]["resourceVersion"].as_str();
                    return Ok(ObjectList {
                        version: version.unwrap_or_default().to_owned(),
                        items,
                        _memory: limits.into_memory(),
                    });
                }
            }
        }
        Err(Error::too_large(&resource_ref.request_info("list")))
    }

    /// Watches from `version` on, for at most [`WATCH_SECONDS`].
    pub(crate) async fn watch(
        &self,
        resource_ref: ResourceRef<'_>,
        selector: &str,
        version: &str,
    ) -> Result<impl futures::Stream<Item = Result<WatchEvent<Value>, Error>> + use<>, Error> {
        let request = ApiRequest::new("GET", resource_ref.path())
            .accept(resource_ref.accept(false))
            .query("watch", "true")
            .query("allowWatchBookmarks", "true")
            .query("timeoutSeconds", &WATCH_SECONDS.to_string())
            .query("labelSelector", selector)
            .query("resourceVersion", version)
            .build(Vec::new())?;
        let request = request.map(Body::from);
        let what = resource_ref.request_info("watch");
        let lines = timeout(READ_TIMEOUT, self.open_watch(&what, request))
            .instrument(what.span())
            .await
            .map_err(|_| timeout_error(&what, READ_TIMEOUT))??;
        let state = (lines, what, self.server.clone());
        Ok(futures::stream::unfold(
            state,
            async |(mut lines, what, server)| {
                let event = match lines.next().await? {
                    Ok(line) => read_event(&mut lines, &what, &line).await,
                    Err(ReadError::TooLarge) => Err(Error::too_large(&what)),
                    Err(ReadError::Failed(error)) => {
                        Err(Error::from_client(what.clone(), &server, error))
                    }
                };
                Some((event, (lines, what, server)))
            },
        ))
    }

    /// Creates an object. Unknown fields are an error instead of being dropped.
    pub(crate) async fn create(
        &self,
        resource_ref: ResourceRef<'_>,
        object: &Value,
        limit: Duration,
    ) -> Result<Value, Error> {
        let all = ResourceRef {
            name: None,
            ..resource_ref
        };
        let request = ApiRequest::new("POST", all.path())
            .accept(resource_ref.accept(false))
            .query("fieldManager", names::FIELD_MANAGER)
            .query("fieldValidation", "Strict")
            .body(JSON, object);
        self.send(resource_ref.request_info("create"), limit, request)
            .await
    }

    /// Replaces a subresource with the whole object, for example the approval of a signing request.
    pub(crate) async fn replace_subresource(
        &self,
        resource_ref: ResourceRef<'_>,
        subresource: &'static str,
        object: &Value,
        limit: Duration,
    ) -> Result<Value, Error> {
        let verb = ("PUT", "update");
        self.write_subresource(verb, resource_ref, subresource, object, limit)
            .await
    }

    /// Creates a subresource, for example an eviction.
    pub(crate) async fn create_subresource(
        &self,
        resource_ref: ResourceRef<'_>,
        subresource: &'static str,
        object: &Value,
        limit: Duration,
    ) -> Result<Value, Error> {
        let verb = ("POST", "create");
        self.write_subresource(verb, resource_ref, subresource, object, limit)
            .await
    }

    async fn write_subresource(
        &self,
        (method, verb): (&'static str, &'static str),
        resource_ref: ResourceRef<'_>,
        subresource: &'static str,
        object: &Value,
        limit: Duration,
    ) -> Result<Value, Error> {
        let path = format!("{}/{subresource}", resource_ref.path());
        let request = ApiRequest::new(method, path)
            .accept(JSON_OR_NOTHING)
            .body(JSON, object);
        self.send(resource_ref.request_info(verb), limit, request)
            .await
    }

    pub(crate) async fn replace(
        &self,
        resource_ref: ResourceRef<'_>,
        object: &Value,
        limit: Duration,
    ) -> Result<Value, Error> {
        let request = ApiRequest::new("PUT", resource_ref.path())
            .accept(resource_ref.accept(false))
            .query("fieldManager", names::FIELD_MANAGER)
            .query("fieldValidation", "Strict")
            .body(JSON, object);
        self.send(resource_ref.request_info("update"), limit, request)
            .await
    }

    /// Applies a JSON merge patch.
    pub(crate) async fn patch(
        &self,
        resource_ref: ResourceRef<'_>,
        patch: &Value,
        limit: Duration,
    ) -> Result<Value, Error> {
        let request = ApiRequest::new("PATCH", resource_ref.path())
            .accept(resource_ref.accept(false))
            .query("fieldManager", names::FIELD_MANAGER)
            .body(MERGE_PATCH, patch);
        self.send(resource_ref.request_info("patch"), limit, request)
            .await
    }

    /// Deletes the object with this UID and, if given, this version.
    pub(crate) async fn delete(
        &self,
        resource_ref: ResourceRef<'_>,
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
        self.delete_with(resource_ref, options, limit).await
    }

    /// Reduces the remaining grace period of a terminating pod, in seconds.
    pub(crate) async fn shorten_grace_period(
        &self,
        resource_ref: ResourceRef<'_>,
        uid: &str,
        seconds: u32,
        limit: Duration,
    ) -> Result<Value, Error> {
        let options = json!({
            "preconditions": { "uid": uid },
            "gracePeriodSeconds": seconds,
        });
        self.delete_with(resource_ref, options, limit).await
    }

    async fn delete_with(
        &self,
        resource_ref: ResourceRef<'_>,
        mut options: Value,
        limit: Duration,
    ) -> Result<Value, Error> {
        options["apiVersion"] = "v1".into();
        options["kind"] = "DeleteOptions".into();
        let request = ApiRequest::new("DELETE", resource_ref.path())
            .accept(resource_ref.accept(false))
            .body(JSON, &options);
        self.send(resource_ref.request_info("delete"), limit, request)
            .await
    }

    /// Reads a path once, to find out whether a server answers at all.
    pub(crate) async fn get_once(&self, path: &str, what: &'static str) -> Result<Value, Error> {
        let request = ApiRequest::new("GET", path.to_owned());
        self.send(RequestInfo::get(what), WRITE_TIMEOUT, request)
            .await
    }

    /// Reads a path that is not a resource, for example discovery.
    pub(crate) async fn get_path(&self, path: &str, what: &'static str) -> Result<Value, Error> {
        let request = ApiRequest::new("GET", path.to_owned());
        self.send_with_retry(RequestInfo::get(what), READ_TIMEOUT, request)
            .await
    }
}

async fn read_event(
    lines: &mut Lines,
    what: &RequestInfo,
    line: &[u8],
) -> Result<WatchEvent<Value>, Error> {
    let event = lines.parse(line).await.map_err(|it| it.of(what))?;
    WatchEvent::deserialize(event).map_err(|_| ParseError::Invalid.of(what))
}

/// Treats a forbidden LIST as empty: a tenant of the provider cluster need not see cluster-scoped objects.
pub(crate) fn empty_if_forbidden(items: Result<Vec<Value>, Error>) -> Result<Vec<Value>, Error> {
    match items {
        Err(Error::Forbidden { .. }) => Ok(Vec::new()),
        other => other,
    }
}
