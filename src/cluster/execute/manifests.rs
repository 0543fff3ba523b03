//! Applies manifests of other projects in a shoot, and prunes objects that are no longer among them.
//!
//! The inventory is written first, with all existing and all new objects; then the objects are applied, and finally the
//! inventory is reduced. So every object is in the inventory, and an interrupted run is completed by the next one.

use super::executor::Executor;
use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::backoff::Backoff;
use crate::cluster::client::error::{Error, RequestInfo};
use crate::cluster::client::request::{METADATA_ONLY, ResourceRef, WRITE_TIMEOUT};
use crate::cluster::client::resources;
use crate::cluster::client::transport::{ApiRequest, JSON};
use crate::cluster::json::text;
use crate::cluster::objects::api_resource::{PartialApiResource, PartialApiResourceList};
use crate::cluster::objects::core::config_map::PartialConfigMap;
use crate::cluster::objects::metadata::PartialObject;
use crate::cluster::objects::reader::{read, read_response};
use crate::cluster::observe::parse::object;
use crate::state::action::AddonManifests;
use crate::state::hash::Hash;
use crate::state::key::{ClusterSide, ObjectKind};
use crate::state::names::{BUNDLE, KVSHOOT, MANAGED_BY, SPEC_HASH};
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::time::Duration;
use tokio::time::{Instant, timeout};

const APPLY_PATCH: &str = "application/apply-patch+yaml";
/// ObjectKey of the ConfigMap that has the inventory.
const INVENTORY_KEY: &str = "objects";
/// Limit for the API server to serve a kind whose definition was just applied.
const CRD_TIMEOUT: Duration = Duration::from_secs(30);
/// Namespaces that are never pruned.
const PERMANENT_NAMESPACES: [&str; 4] =
    ["default", "kube-system", "kube-public", "kube-node-lease"];

/// Identity of an object as a line of the inventory: four words, with `-` for no namespace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct ManifestRef {
    api_version: String,
    kind: String,
    namespace: Option<String>,
    name: String,
}

/// A kind as served by the API server.
#[derive(Debug, Clone)]
struct ServedKind {
    plural: String,
    namespaced: bool,
}

/// Cache of the kinds that the API server serves.
#[derive(Default)]
struct Discovery {
    versions: HashMap<String, HashMap<String, ServedKind>>,
}

impl Executor {
    pub(crate) async fn apply_manifests(&self, bundle: &AddonManifests) -> Result<(), Error> {
        let shoot = self.client(ClusterSide::Shoot)?;
        let mut discovery = Discovery::default();
        let mut wanted = BTreeSet::new();
        let old = self.read_inventory(&shoot, bundle).await?;
        // Kinds that these manifests define are not served yet; their identity does not depend on that.
        let unresolved = bundle.objects.iter().map(ManifestRef::of);
        self.write_inventory(
            bundle,
            old.iter().cloned().chain(unresolved).collect(),
            false,
        )
        .await?;
        for turn in [
            ApplyPhase::Prerequisites,
            ApplyPhase::Rest,
            ApplyPhase::Webhooks,
        ] {
            for object in bundle
                .objects
                .iter()
                .filter(|it| ApplyPhase::of(it) == turn)
            {
                let reference = ManifestRef::of(object);
                let served = self
                    .wait_until_served(&shoot, &mut discovery, bundle, &reference)
                    .await?;
                let reference = reference.normalized(&served);
                self.apply_one(&shoot, bundle, &reference, &served, object)
                    .await?;
                wanted.insert(reference);
            }
        }
        let mut old: Vec<ManifestRef> = old.into_iter().collect();
        old.sort_by_key(|it| ApplyPhase::of_kind(&it.kind));
        for reference in old.into_iter().rev() {
            // Objects of a kind that is no longer served do not exist.
            let Some(served) = discovery.find(&shoot, &reference).await? else {
                continue;
            };
            let reference = reference.normalized(&served);
            if !wanted.contains(&reference) {
                self.prune(&shoot, bundle, &reference, &served).await?;
            }
        }
        self.write_inventory(bundle, wanted, true).await
    }

    /// Objects that may exist, by the inventory.
    async fn read_inventory(
        &self,
        shoot: &ApiClient,
        bundle: &AddonManifests,
    ) -> Result<BTreeSet<ManifestRef>, Error> {
        let metadata = &bundle.inventory["metadata"];
        let resource_ref = ResourceRef::one(
            &resources::CONFIG_MAP,
            text(&metadata["namespace"]),
            text(&metadata["name"]),
        );
        let list = match shoot.get(resource_ref).await {
            Ok(existing) => {
                let existing: PartialConfigMap = read(&resources::CONFIG_MAP, &existing)?;
                existing.value(INVENTORY_KEY).unwrap_or_default().to_owned()
            }
            Err(Error::NotFound { .. }) => String::new(),
            Err(error) => return Err(error),
        };
        Ok(list.lines().filter_map(ManifestRef::parse).collect())
    }

    /// Writes the inventory; only the final one has the hash that marks everything as applied.
    async fn write_inventory(
        &self,
        bundle: &AddonManifests,
        list: BTreeSet<ManifestRef>,
        is_done: bool,
    ) -> Result<(), Error> {
        let mut object = bundle.inventory.clone();
        let lines: String = list.iter().map(|it| format!("{it}\n")).collect();
        if !is_done {
            let hash = &object["metadata"]["annotations"][SPEC_HASH];
            let hash = Hash::of(&json!([hash, lines, "begun"]));
            object["metadata"]["annotations"][SPEC_HASH] = json!(hash.to_string());
        }
        object["data"] = json!({ INVENTORY_KEY: lines });
        let scope = (ClusterSide::Shoot, ObjectKind::ConfigMap);
        let name = object::key_name(ClusterSide::Shoot, &object);
        match self.exists(scope, &name) {
            true => self.replace(scope, &name, &object).await,
            false => self.create(scope, &name, &object).await,
        }
    }

    /// Resolves a kind; waits for one that these manifests define.
    async fn wait_until_served(
        &self,
        shoot: &ApiClient,
        discovery: &mut Discovery,
        bundle: &AddonManifests,
        reference: &ManifestRef,
    ) -> Result<ServedKind, Error> {
        let begun = Instant::now();
        let mut backoff = Backoff::default();
        loop {
            if let Some(served) = discovery.find(shoot, reference).await? {
                return Ok(served);
            }
            if !bundle.objects.iter().any(|it| reference.is_defined_by(it)) {
                let ManifestRef {
                    api_version, kind, ..
                } = reference;
                let message = format!("kind {kind} of {api_version} is not served in the shoot");
                return Err(Error::Missing(message));
            }
            if begun.elapsed() > CRD_TIMEOUT {
                return Err(Error::Timeout {
                    what: RequestInfo::get("definition"),
                    after: CRD_TIMEOUT,
                });
            }
            self.write_timeout()?;
            discovery.versions.remove(&reference.api_version);
            backoff.wait().await;
        }
    }

    async fn apply_one(
        &self,
        shoot: &ApiClient,
        bundle: &AddonManifests,
        reference: &ManifestRef,
        served: &ServedKind,
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
        let request = ApiRequest::new("PATCH", reference.path(served))
            .accept(reference.accept())
            .query("fieldManager", &format!("kvshoot-{}", bundle.name))
            .query("force", "true")
            .query("fieldValidation", "Strict")
            .body(APPLY_PATCH, &object);
        let what = reference.request_info("patch", served);
        let answer = shoot.send(what, self.write_timeout()?, request).await?;
        // Watched objects have kvshoot's labels, and the next plan needs them.
        let kind = ObjectKind::generic(&reference.kind);
        match kind.filter(|_| object["metadata"]["labels"][MANAGED_BY] == KVSHOOT) {
            Some(kind) => self.store_object((ClusterSide::Shoot, kind), &answer),
            None => Ok(()),
        }
    }

    /// Deletes an object of these manifests unless other manifests have taken it over.
    async fn prune(
        &self,
        shoot: &ApiClient,
        bundle: &AddonManifests,
        reference: &ManifestRef,
        served: &ServedKind,
    ) -> Result<(), Error> {
        if reference.kind == "Namespace" && PERMANENT_NAMESPACES.contains(&&*reference.name) {
            return Ok(());
        }
        let path = reference.path(served);
        let request = ApiRequest::new("GET", path.clone()).accept(METADATA_ONLY);
        let what = reference.request_info("get", served);
        let existing = match shoot.send(what.clone(), WRITE_TIMEOUT, request).await {
            Err(Error::NotFound { .. }) => return Ok(()),
            other => other?,
        };
        let PartialObject { metadata } = read_response(what, &existing)?;
        if metadata.annotation(BUNDLE) != Some(&*bundle.name) || metadata.is_deleting() {
            return Ok(());
        }
        let options = json!({
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": { "uid": metadata.uid },
            "propagationPolicy": "Background",
        });
        let request = ApiRequest::new("DELETE", path)
            .accept(METADATA_ONLY)
            .body(JSON, &options);
        let what = reference.request_info("delete", served);
        match shoot.send(what, self.write_timeout()?, request).await {
            Err(Error::NotFound { .. }) => Ok(()),
            other => other.map(drop),
        }
    }
}

impl Discovery {
    async fn find(
        &mut self,
        shoot: &ApiClient,
        reference: &ManifestRef,
    ) -> Result<Option<ServedKind>, Error> {
        let version = &reference.api_version;
        if !self.versions.contains_key(version) {
            let root = if version.contains('/') { "apis" } else { "api" };
            let path = format!("/{root}/{version}");
            let kinds = match timeout(WRITE_TIMEOUT, shoot.get_path(&path, "kinds")).await {
                Ok(Ok(found)) => kinds_of(read_response(RequestInfo::get("kinds"), &found)?),
                Ok(Err(Error::NotFound { .. })) => HashMap::new(),
                Ok(Err(error)) => return Err(error),
                Err(_) => {
                    return Err(crate::cluster::client::transport::timeout_error(
                        &RequestInfo::get("kinds"),
                        WRITE_TIMEOUT,
                    ));
                }
            };
            self.versions.insert(version.clone(), kinds);
        }
        Ok(self.versions[version].get(&reference.kind).cloned())
    }
}

fn kinds_of(found: PartialApiResourceList) -> HashMap<String, ServedKind> {
    let served = |it: PartialApiResource| {
        let served = ServedKind {
            plural: it.name,
            namespaced: it.namespaced,
        };
        (it.kind, served)
    };
    found.into_kinds().map(served).collect()
}

/// Prerequisites of other objects are applied first, webhooks last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ApplyPhase {
    Prerequisites,
    Rest,
    Webhooks,
}

impl ApplyPhase {
    fn of(object: &Value) -> ApplyPhase {
        ApplyPhase::of_kind(text(&object["kind"]))
    }

    fn of_kind(kind: &str) -> ApplyPhase {
        match kind {
            "Namespace" | "CustomResourceDefinition" | "PriorityClass" => ApplyPhase::Prerequisites,
            "ValidatingWebhookConfiguration"
            | "MutatingWebhookConfiguration"
            | "ValidatingAdmissionPolicyBinding"
            | "APIService" => ApplyPhase::Webhooks,
            _ => ApplyPhase::Rest,
        }
    }
}

impl ManifestRef {
    fn of(object: &Value) -> ManifestRef {
        let metadata = &object["metadata"];
        ManifestRef {
            api_version: text(&object["apiVersion"]).to_owned(),
            kind: text(&object["kind"]).to_owned(),
            namespace: metadata["namespace"].as_str().map(str::to_owned),
            name: text(&metadata["name"]).to_owned(),
        }
    }

    /// Sets the namespace exactly for namespaced kinds, as kubectl does.
    fn normalized(mut self, served: &ServedKind) -> ManifestRef {
        self.namespace = served
            .namespaced
            .then(|| self.namespace.unwrap_or("default".to_owned()));
        self
    }

    fn parse(line: &str) -> Option<ManifestRef> {
        let mut words = line.split(' ').map(str::to_owned);
        let mut word = || words.next();
        Some(ManifestRef {
            api_version: word()?,
            kind: word()?,
            namespace: Some(word()?).filter(|it| it != "-"),
            name: word()?,
        })
    }

    fn path(&self, served: &ServedKind) -> String {
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

    /// Data of Secrets are not requested.
    fn accept(&self) -> &'static str {
        match self.kind == "Secret" {
            true => METADATA_ONLY,
            false => JSON,
        }
    }

    fn request_info(&self, verb: &'static str, served: &ServedKind) -> RequestInfo {
        let group = self.api_version.split_once('/').map(|it| it.0);
        let resource = match group {
            Some(group) => format!("{}.{group}", served.plural),
            None => served.plural.clone(),
        };
        RequestInfo {
            verb,
            resource: resource.into(),
            kind: self.kind.clone().into(),
            name: Some(self.name.as_str().into()),
            namespace: self.namespace.as_deref().map(Box::from),
        }
    }

    /// True if `object` is the CustomResourceDefinition of this kind.
    fn is_defined_by(&self, object: &Value) -> bool {
        let spec = &object["spec"];
        let group = self.api_version.split_once('/').map_or("", |it| it.0);
        object["kind"] == "CustomResourceDefinition"
            && spec["group"] == group
            && spec["names"]["kind"] == *self.kind
    }
}

impl fmt::Display for ManifestRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let namespace = self.namespace.as_deref().unwrap_or("-");
        let ManifestRef {
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
    fn inventory_lines_are_parsed_back() {
        for object in [
            json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "a" } }),
            json!({ "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": { "name": "a", "namespace": "b" } }),
            // Names of RBAC objects may have colons.
            json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": { "name": "system:a" } }),
        ] {
            let reference = ManifestRef::of(&object);
            assert_eq!(ManifestRef::parse(&reference.to_string()), Some(reference));
        }
        assert_eq!(ManifestRef::parse("v1 ConfigMap"), None);
    }

    #[test]
    fn the_namespace_defaults_as_with_kubectl() {
        let object =
            json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" } });
        let served = |namespaced| ServedKind {
            plural: "things".into(),
            namespaced,
        };
        let reference = ManifestRef::of(&object).normalized(&served(true));
        assert_eq!(
            reference.path(&served(true)),
            "/api/v1/namespaces/default/things/a"
        );
        let reference = reference.normalized(&served(false));
        assert_eq!(reference.path(&served(false)), "/api/v1/things/a");
    }

    #[test]
    fn definitions_are_applied_first_and_webhooks_last() {
        let mut kinds = ["APIService", "DaemonSet", "Namespace", "Widget"];
        kinds.sort_by_key(|it| ApplyPhase::of_kind(it));
        assert_eq!(kinds, ["Namespace", "DaemonSet", "Widget", "APIService"]);
    }
}
