//! Contents of a support bundle: objects of both sides, events and logs, without secrets.
//!
//! Secrets are read first, so that their values are recognized elsewhere. Nothing here returns an error: parts that
//! cannot be read are reported in the bundle.

use super::redact::Redactor;
use super::secrets;
use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::error::Error;
use crate::cluster::client::request::{ListSelector, ResourceRef};
use crate::cluster::client::resources::{self, Resource};
use crate::cluster::event::KubernetesEvent;
use crate::state::json::to_yaml;
use crate::state::names::{CAPI_CLUSTER, CSI_CLUSTER, selector};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::Sender;
use tokio::time::timeout;

/// Concurrent requests, for both sides together.
const CONCURRENT_REQUESTS: usize = 8;
/// Limit for listing one kind, or for connecting to the shoot.
const TIMEOUT: Duration = Duration::from_secs(15);

/// A part of the bundle, or the reason for a missing one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum CollectedPart {
    /// A file of the bundle.
    File { path: String, text: String },
    /// A fact for the summary.
    Fact { what: &'static str, value: String },
    /// A part that could not be read.
    Missing { what: String, why: String },
    /// A part that does not exist and need not.
    Note(String),
}

/// Collector for one shoot.
pub(crate) struct BundleCollector {
    pub(super) provider: ApiClient,
    pub(super) id: String,
    pub(super) others: Vec<String>,
    /// Client of its API server, or why that is not reachable.
    pub(super) shoot: Result<ApiClient, String>,
    pub(super) redactor: Redactor,
    /// Secrets of provider and shoot, reduced to key names and lengths.
    pub(super) secrets: [Result<Vec<Value>, String>; 2],
    pub(super) at_once: Semaphore,
    /// Parts that are still being read.
    pub(super) pending: Mutex<BTreeSet<String>>,
}

impl BundleCollector {
    /// Reads the Secrets of both sides and connects to the shoot. `texts` are user-written files for machines; `others`
    /// the IDs of other shoots in the namespace.
    pub(crate) async fn start(
        provider: &ApiClient,
        id: &str,
        others: Vec<String>,
        texts: &[String],
    ) -> BundleCollector {
        let shoot = async {
            let client = with_timeout(provider.shoot_client(id)).await;
            let client = match client {
                Ok(shoot) => shoot,
                Err(why) => return (Err(why.clone()), Err(why)),
            };
            let resource_ref = ResourceRef::all(&resources::SECRET, None);
            let secrets = with_timeout(client.list_secrets(resource_ref, None)).await;
            (Ok(client), secrets)
        };
        let (outer, (shoot, inner)) = tokio::join!(secrets_of(provider, id), shoot);
        let mut known = BTreeSet::new();
        let all = [&outer, &inner];
        let all = || all.iter().filter_map(|it| it.as_ref().ok()).flatten();
        all().for_each(|it| secrets::learn_secret(&mut known, it));
        texts
            .iter()
            .for_each(|it| secrets::learn_file(&mut known, it));
        let names = all().flat_map(|it| {
            let metadata = &it["metadata"];
            [&metadata["name"], &metadata["namespace"]]
        });
        let names = names.filter_map(Value::as_str).chain([id]);
        secrets::forget_names(&mut known, names);
        let reduced = |secrets: Result<Vec<Value>, String>| {
            secrets.map(|it| it.iter().map(secrets::redacted_secret).collect())
        };
        BundleCollector {
            provider: provider.clone(),
            id: id.to_owned(),
            others,
            shoot,
            redactor: Redactor::new(&known),
            secrets: [reduced(outer), reduced(inner)],
            at_once: Semaphore::new(CONCURRENT_REQUESTS),
            pending: Mutex::default(),
        }
    }

    pub(crate) fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Collects everything. May be cancelled at any time; [`BundleCollector::unfinished`] then has the missing parts.
    pub(crate) async fn collect(&self, parts: &Sender<CollectedPart>) {
        tokio::join!(self.collect_provider(parts), self.collect_shoot(parts));
    }

    /// Parts whose reading has begun and not ended.
    pub(crate) fn unfinished(&self) -> Vec<String> {
        let pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        pending.iter().cloned().collect()
    }

    /// Runs one request, limited in concurrency and time.
    pub(super) async fn read<T>(
        &self,
        what: &str,
        question: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, String> {
        let pending = || self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        pending().insert(what.to_owned());
        let _permit = self.at_once.acquire().await;
        let answer = with_timeout(question).await;
        pending().remove(what);
        answer
    }

    /// Objects of one kind; None if the kind is not served.
    pub(super) async fn objects(
        &self,
        of: &ApiClient,
        resource: &'static Resource,
        namespace: Option<&str>,
    ) -> Option<Result<Vec<Value>, String>> {
        let what = format!("{resource} of {}", of.server());
        let question = async {
            match of.list(ResourceRef::all(resource, namespace), None).await {
                Err(Error::NotFound { .. }) => Ok(None),
                other => other.map(|it| Some(it.items)),
            }
        };
        self.read(&what, question).await.transpose()
    }

    /// Sends the objects of one kind, or why they are missing.
    pub(super) async fn send_objects(
        &self,
        parts: &Sender<CollectedPart>,
        side: &str,
        resource: &Resource,
        objects: Result<Vec<Value>, String>,
    ) {
        let mut objects = match objects {
            Ok(objects) => objects,
            Err(why) => {
                let what = format!("{resource} of the {side}");
                return send(parts, CollectedPart::Missing { what, why }).await;
            }
        };
        if objects.is_empty() {
            return;
        }
        for object in &mut objects {
            self.redactor.object(object);
            // Lists omit what is the same for all items.
            object["apiVersion"] = resource.api_version().into();
            object["kind"] = resource.kind.into();
        }
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": objects });
        let text = to_yaml(&list);
        let path = format!("{side}/objects/{resource}.yaml");
        send(parts, CollectedPart::File { path, text }).await;
    }

    /// Sends events sorted by time, as text and as objects.
    pub(super) async fn send_events(
        &self,
        parts: &Sender<CollectedPart>,
        side: &str,
        mut events: Vec<(KubernetesEvent, Value)>,
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
        send(parts, CollectedPart::File { path, text }).await;
        let objects = events.into_iter().map(|it| it.1).collect();
        self.send_objects(parts, side, &resources::EVENT, Ok(objects))
            .await;
    }
}

/// The receiver may be closed.
pub(super) async fn send(parts: &Sender<CollectedPart>, one: CollectedPart) {
    let _ = parts.send(one).await;
}

async fn with_timeout<T>(question: impl Future<Output = Result<T, Error>>) -> Result<T, String> {
    match timeout(TIMEOUT, question).await {
        Ok(answer) => answer.map_err(|it| it.to_string()),
        Err(_) => Err(format!("no response within {}s", TIMEOUT.as_secs())),
    }
}

/// Secrets with the shoot's labels, including their data.
async fn secrets_of(provider: &ApiClient, id: &str) -> Result<Vec<Value>, String> {
    let selectors = [
        selector(id),
        format!("{CAPI_CLUSTER}={id}"),
        format!("{CSI_CLUSTER}={id}"),
    ];
    let lists = selectors.each_ref().map(|it| {
        let resource_ref = ResourceRef::all(&resources::SECRET, Some(provider.namespace()));
        with_timeout(provider.list_secrets(resource_ref, Some(it)))
    });
    let lists = futures::future::try_join_all(lists).await?;
    Ok(lists.into_iter().flatten().collect())
}

impl ApiClient {
    /// Includes data, which never leave this module.
    async fn list_secrets(
        &self,
        resource_ref: ResourceRef<'_>,
        labels: Option<&str>,
    ) -> Result<Vec<Value>, Error> {
        let listed = self.list_with_accept(
            resource_ref,
            ListSelector::labels(labels),
            crate::cluster::client::transport::JSON,
        );
        Ok(listed.await?.items)
    }
}
