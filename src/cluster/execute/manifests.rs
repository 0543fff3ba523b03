//! Applies somebody else's objects inside a shoot, and removes those that are no longer among them.
//!
//! The list is written first, with all that is there and all that comes; the objects follow, and the end is the list as it
//! is wanted. So nothing is made that is not on the list, and a run that was cut off is finished by the next.

use super::executor::Performer;
use crate::cluster::client::api_client::Provider;
use crate::cluster::client::backoff::Backoff;
use crate::cluster::client::error::{Error, What};
use crate::cluster::client::request::{METADATA, Place, WRITE};
use crate::cluster::client::resources;
use crate::cluster::client::transport::{JSON, Request};
use crate::cluster::json::{is_leaving, items, text};
use crate::cluster::observe::parse::object;
use crate::state::action::Bundle;
use crate::state::hash::Hash;
use crate::state::key::{Kind, Side};
use crate::state::names::{BUNDLE, KVSHOOT, MANAGED_BY, SPEC_HASH};
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::time::Duration;
use tokio::time::{Instant, timeout};

const APPLY_PATCH: &str = "application/apply-patch+yaml";
/// Where the list stands in its ConfigMap.
const OBJECTS: &str = "objects";
/// How long the API server may take to serve a kind that was defined just now.
const DEFINED: Duration = Duration::from_secs(30);
/// They live as long as the cluster, whoever lists them.
const PERMANENT: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];

/// What tells objects apart, as the list has it: four words a line, `-` where there is no namespace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Reference {
    api_version: String,
    kind: String,
    namespace: Option<String>,
    name: String,
}

/// A kind as the API server serves it.
#[derive(Debug, Clone)]
struct Served {
    plural: String,
    namespaced: bool,
}

/// What the API server serves, as far as it was asked for.
#[derive(Default)]
struct Discovery {
    versions: HashMap<String, HashMap<String, Served>>,
}

impl Performer {
    pub(crate) async fn bundle(&self, bundle: &Bundle) -> Result<(), Error> {
        let shoot = self.api(Side::Shoot)?;
        let mut discovery = Discovery::default();
        let mut wanted = BTreeSet::new();
        let old = self.listed(&shoot, bundle).await?;
        // Kinds that are defined by the bundle itself are not served yet; what they are called does not depend on that.
        let rough = bundle.objects.iter().map(Reference::of);
        self.list(bundle, old.iter().cloned().chain(rough).collect(), false)
            .await?;
        for turn in [Turn::Ground, Turn::Rest, Turn::Hooks] {
            for object in bundle.objects.iter().filter(|it| Turn::of(it) == turn) {
                let reference = Reference::of(object);
                let served = self
                    .served(&shoot, &mut discovery, bundle, &reference)
                    .await?;
                let reference = reference.fit(&served);
                self.apply_one(&shoot, bundle, &reference, &served, object)
                    .await?;
                wanted.insert(reference);
            }
        }
        let mut old: Vec<Reference> = old.into_iter().collect();
        old.sort_by_key(|it| Turn::of_kind(&it.kind));
        for reference in old.into_iter().rev() {
            // What is not served any more is gone.
            let Some(served) = discovery.find(&shoot, &reference).await? else {
                continue;
            };
            let reference = reference.fit(&served);
            if !wanted.contains(&reference) {
                self.prune(&shoot, bundle, &reference, &served).await?;
            }
        }
        self.list(bundle, wanted, true).await
    }

    /// What may be there of the bundle.
    async fn listed(
        &self,
        shoot: &Provider,
        bundle: &Bundle,
    ) -> Result<BTreeSet<Reference>, Error> {
        let metadata = &bundle.inventory["metadata"];
        let place = Place::one(
            &resources::CONFIG_MAP,
            text(&metadata["namespace"]),
            text(&metadata["name"]),
        );
        let list = match shoot.get(place).await {
            Ok(there) => there["data"][OBJECTS]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            Err(Error::NotFound { .. }) => String::new(),
            Err(error) => return Err(error),
        };
        Ok(list.lines().filter_map(Reference::parse).collect())
    }

    /// Writes the list; only the last one has the hash by which all of it counts as applied.
    async fn list(
        &self,
        bundle: &Bundle,
        list: BTreeSet<Reference>,
        is_done: bool,
    ) -> Result<(), Error> {
        let mut object = bundle.inventory.clone();
        let lines: String = list.iter().map(|it| format!("{it}\n")).collect();
        if !is_done {
            let hash = &object["metadata"]["annotations"][SPEC_HASH];
            let hash = Hash::of(&json!([hash, lines, "begun"]));
            object["metadata"]["annotations"][SPEC_HASH] = json!(hash.to_string());
        }
        object["data"] = json!({ OBJECTS: lines });
        let source = (Side::Shoot, Kind::ConfigMap);
        let name = object::name_of(Side::Shoot, &object);
        match self.is_there(source, &name) {
            true => self.replace(source, &name, &object).await,
            false => self.create(source, &name, &object).await,
        }
    }

    /// How the kind of an object is served; one that the bundle defines is waited for.
    async fn served(
        &self,
        shoot: &Provider,
        discovery: &mut Discovery,
        bundle: &Bundle,
        reference: &Reference,
    ) -> Result<Served, Error> {
        let begun = Instant::now();
        let mut backoff = Backoff::default();
        loop {
            if let Some(served) = discovery.find(shoot, reference).await? {
                return Ok(served);
            }
            if !bundle.objects.iter().any(|it| reference.is_defined_by(it)) {
                let Reference {
                    api_version, kind, ..
                } = reference;
                let message = format!("the shoot has no kind {kind} of {api_version}");
                return Err(Error::Missing(message));
            }
            if begun.elapsed() > DEFINED {
                return Err(Error::Timeout {
                    what: What::get("definition"),
                    after: DEFINED,
                });
            }
            self.limit()?;
            discovery.versions.remove(&reference.api_version);
            backoff.wait().await;
        }
    }

    async fn apply_one(
        &self,
        shoot: &Provider,
        bundle: &Bundle,
        reference: &Reference,
        served: &Served,
        object: &Value,
    ) -> Result<(), Error> {
        let mut object = object.clone();
        match &reference.namespace {
            Some(namespace) => object["metadata"]["namespace"] = json!(namespace),
            None => {
                let metadata = object["metadata"].as_object_mut();
                metadata.map(|it| it.remove("namespace"));
            }
        }
        let request = Request::new("PATCH", reference.path(served))
            .accept(reference.accept())
            .query("fieldManager", &format!("kvshoot-{}", bundle.name))
            .query("force", "true")
            .query("fieldValidation", "Strict")
            .body(APPLY_PATCH, &object);
        let what = reference.what("patch", served);
        let answer = shoot.ask(what, self.limit()?, request).await?;
        // What is looked at has our labels, and the next plan has to know it.
        let kind = Kind::generic(&reference.kind);
        match kind.filter(|_| object["metadata"]["labels"][MANAGED_BY] == KVSHOOT) {
            Some(kind) => self.put((Side::Shoot, kind), &answer),
            None => Ok(()),
        }
    }

    /// Removes what came with this bundle, and leaves what another one has taken over.
    async fn prune(
        &self,
        shoot: &Provider,
        bundle: &Bundle,
        reference: &Reference,
        served: &Served,
    ) -> Result<(), Error> {
        if reference.kind == "Namespace" && PERMANENT.contains(&&*reference.name) {
            return Ok(());
        }
        let path = reference.path(served);
        let look = Request::new("GET", path.clone()).accept(METADATA);
        let there = match shoot.ask(reference.what("get", served), WRITE, look).await {
            Err(Error::NotFound { .. }) => return Ok(()),
            other => other?,
        };
        let metadata = &there["metadata"];
        if metadata["annotations"][BUNDLE] != *bundle.name || is_leaving(&there) {
            return Ok(());
        }
        let options = json!({
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": { "uid": metadata["uid"] },
            "propagationPolicy": "Background",
        });
        let request = Request::new("DELETE", path)
            .accept(METADATA)
            .body(JSON, &options);
        let what = reference.what("delete", served);
        match shoot.ask(what, self.limit()?, request).await {
            Err(Error::NotFound { .. }) => Ok(()),
            other => other.map(drop),
        }
    }
}

impl Discovery {
    async fn find(
        &mut self,
        shoot: &Provider,
        reference: &Reference,
    ) -> Result<Option<Served>, Error> {
        let version = &reference.api_version;
        if !self.versions.contains_key(version) {
            let root = if version.contains('/') { "apis" } else { "api" };
            let path = format!("/{root}/{version}");
            let kinds = match timeout(WRITE, shoot.get_path(&path, "kinds")).await {
                Ok(Ok(found)) => kinds_of(&found),
                Ok(Err(Error::NotFound { .. })) => HashMap::new(),
                Ok(Err(error)) => return Err(error),
                Err(_) => {
                    return Err(crate::cluster::client::transport::timed_out(
                        &What::get("kinds"),
                        WRITE,
                    ));
                }
            };
            self.versions.insert(version.clone(), kinds);
        }
        Ok(self.versions[version].get(&reference.kind).cloned())
    }
}

fn kinds_of(found: &Value) -> HashMap<String, Served> {
    let whole = items(&found["resources"]).iter();
    let whole = whole.filter(|it| !text(&it["name"]).contains('/'));
    whole
        .map(|it| {
            let served = Served {
                plural: text(&it["name"]).to_owned(),
                namespaced: it["namespaced"] == true,
            };
            (text(&it["kind"]).to_owned(), served)
        })
        .collect()
}

/// What others stand on comes first, and what judges others comes last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Turn {
    Ground,
    Rest,
    Hooks,
}

impl Turn {
    fn of(object: &Value) -> Turn {
        Turn::of_kind(text(&object["kind"]))
    }

    fn of_kind(kind: &str) -> Turn {
        match kind {
            "Namespace" | "CustomResourceDefinition" | "PriorityClass" => Turn::Ground,
            "ValidatingWebhookConfiguration"
            | "MutatingWebhookConfiguration"
            | "ValidatingAdmissionPolicyBinding"
            | "APIService" => Turn::Hooks,
            _ => Turn::Rest,
        }
    }
}

impl Reference {
    fn of(object: &Value) -> Reference {
        let metadata = &object["metadata"];
        Reference {
            api_version: text(&object["apiVersion"]).to_owned(),
            kind: text(&object["kind"]).to_owned(),
            namespace: metadata["namespace"].as_str().map(str::to_owned),
            name: text(&metadata["name"]).to_owned(),
        }
    }

    /// With a namespace exactly where its kind has one, as kubectl has it.
    fn fit(mut self, served: &Served) -> Reference {
        self.namespace = served
            .namespaced
            .then(|| self.namespace.unwrap_or("default".to_owned()));
        self
    }

    fn parse(line: &str) -> Option<Reference> {
        let mut words = line.split(' ').map(str::to_owned);
        let mut word = || words.next();
        Some(Reference {
            api_version: word()?,
            kind: word()?,
            namespace: Some(word()?).filter(|it| it != "-"),
            name: word()?,
        })
    }

    fn path(&self, served: &Served) -> String {
        let root = match self.api_version.contains('/') {
            true => "apis",
            false => "api",
        };
        let (version, plural, name) = (&self.api_version, &served.plural, &self.name);
        match &self.namespace {
            Some(namespace) => format!("/{root}/{version}/namespaces/{namespace}/{plural}/{name}"),
            None => format!("/{root}/{version}/{plural}/{name}"),
        }
    }

    /// What Secrets hold is not asked for.
    fn accept(&self) -> &'static str {
        match self.kind == "Secret" {
            true => METADATA,
            false => JSON,
        }
    }

    fn what(&self, verb: &'static str, served: &Served) -> What {
        let group = self.api_version.split_once('/').map(|it| it.0);
        let resource = match group {
            Some(group) => format!("{}.{group}", served.plural),
            None => served.plural.clone(),
        };
        What {
            verb,
            resource: resource.into(),
            kind: self.kind.clone().into(),
            name: Some(self.name.as_str().into()),
            namespace: self.namespace.as_deref().map(Box::from),
        }
    }

    /// Whether `object` is the CustomResourceDefinition of the kind.
    fn is_defined_by(&self, object: &Value) -> bool {
        let spec = &object["spec"];
        let group = self.api_version.split_once('/').map_or("", |it| it.0);
        object["kind"] == "CustomResourceDefinition"
            && spec["group"] == group
            && spec["names"]["kind"] == *self.kind
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let namespace = self.namespace.as_deref().unwrap_or("-");
        let Reference {
            api_version,
            kind,
            name,
            ..
        } = self;
        write!(f, "{api_version} {kind} {namespace} {name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_listed_is_read_again() {
        for object in [
            json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "a" } }),
            json!({ "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": { "name": "a", "namespace": "b" } }),
            // Names of rights may have colons.
            json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": { "name": "system:a" } }),
        ] {
            let reference = Reference::of(&object);
            assert_eq!(Reference::parse(&reference.to_string()), Some(reference));
        }
        assert_eq!(Reference::parse("v1 ConfigMap"), None);
    }

    #[test]
    fn the_namespace_is_that_which_kubectl_would_take() {
        let object =
            json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" } });
        let served = |namespaced| Served {
            plural: "things".into(),
            namespaced,
        };
        let reference = Reference::of(&object).fit(&served(true));
        assert_eq!(
            reference.path(&served(true)),
            "/api/v1/namespaces/default/things/a"
        );
        let reference = reference.fit(&served(false));
        assert_eq!(reference.path(&served(false)), "/api/v1/things/a");
    }

    #[test]
    fn definitions_come_first_and_webhooks_last() {
        let mut kinds = ["APIService", "DaemonSet", "Namespace", "Widget"];
        kinds.sort_by_key(|it| Turn::of_kind(it));
        assert_eq!(kinds, ["Namespace", "DaemonSet", "Widget", "APIService"]);
    }
}
