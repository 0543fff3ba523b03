//! The provider's side of a support bundle.

use super::collect::{BundleCollector, CollectedPart, send};
use super::kinds::{NAMESPACE_OBJECTS, PROVIDER_OBJECTS, SHOOT_OBJECTS};
use super::logs::LogPath;
use super::ownership::OwnershipFilter;
use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::resources::{self, Resource};
use crate::cluster::event::KubernetesEvent;
use crate::cluster::json::{items, text};
use crate::state::key::ClusterSide;
use crate::state::names::MANAGED_BY;
use crate::state::record::{PROFILE, SHOOT};
use futures::future::{join, join_all};
use serde_json::Value;
use tokio::sync::mpsc::Sender;

const SIDE: &str = "provider";
/// Version fields of installation objects.
const INSTALLED: [(&str, &Resource, &str); 2] = [
    ("KubeVirt", &resources::KUBEVIRT, "observedKubeVirtVersion"),
    ("CDI", &resources::CDI, "observedVersion"),
];
/// Container of KubeVirt with the output of the guest's serial console.
const CONSOLE: &str = "guest-console-log";

impl BundleCollector {
    pub(crate) async fn collect_provider(&self, parts: &Sender<CollectedPart>) {
        let namespace = Some(&**self.provider.namespace());
        let ask = async |resource: &'static Resource, namespace| {
            let objects = self.objects(&self.provider, resource, namespace).await;
            (resource, objects.unwrap_or_else(|| Ok(Vec::new())))
        };
        let events = self.read("events of the provider", self.provider.events(namespace));
        let ours = join_all(SHOOT_OBJECTS.map(|it| ask(it, namespace)));
        let around = join_all(NAMESPACE_OBJECTS.map(|it| ask(it, namespace)));
        let whole = join_all(PROVIDER_OBJECTS.map(|it| ask(it, None)));
        let (ours, around, whole, events) = tokio::join!(ours, around, whole, events);
        let mut ownership = OwnershipFilter::new(&self.id, self.others.iter().cloned());
        let all = ours.iter().filter_map(|it| it.1.as_ref().ok()).flatten();
        ownership.learn(&all.collect::<Vec<_>>());
        let pods = self.send_owned(parts, ours, &ownership).await;
        for (resource, objects) in around {
            self.send_objects(parts, SIDE, resource, objects).await;
        }
        for (resource, mut objects) in whole {
            // Other tenants have PersistentVolumes too.
            if resource == &resources::VOLUME
                && let Ok(objects) = &mut objects
            {
                objects.retain(|it| {
                    let claim = &it["spec"]["claimRef"];
                    Some(text(&claim["namespace"])) == namespace
                        && ownership.owns(&claim_object(claim))
                });
            }
            for (fact, of, field) in INSTALLED {
                let objects = objects.iter().flatten().filter(|_| of == resource);
                let mut versions = objects.map(|it| text(&it["status"][field]).to_owned());
                if let Some(value) = versions.rfind(|it| !it.is_empty()) {
                    send(parts, CollectedPart::Fact { what: fact, value }).await;
                }
            }
            self.send_objects(parts, SIDE, resource, objects).await;
        }
        let secrets = self.secrets[0].clone();
        self.send_objects(parts, SIDE, &resources::SECRET, secrets)
            .await;
        match events {
            Ok(events) => {
                let ours = events.items.into_iter().filter(|it| ownership.is_about(it));
                let ours = ours.map(|it| (KubernetesEvent::parse(ClusterSide::Provider, &it), it));
                self.send_events(parts, SIDE, ours.collect()).await;
            }
            Err(why) => {
                let what = "events of the provider".to_owned();
                send(parts, CollectedPart::Missing { what, why }).await;
            }
        }
        let version = self.version(parts, "provider's version", &self.provider);
        join(version, self.pod_logs(parts, &pods)).await;
    }

    /// Sends the objects of the shoot; returns its pods.
    async fn send_owned(
        &self,
        parts: &Sender<CollectedPart>,
        ours: Vec<(&'static Resource, Result<Vec<Value>, String>)>,
        ownership: &OwnershipFilter,
    ) -> Vec<Value> {
        let mut pods = Vec::new();
        for (resource, mut objects) in ours {
            if let Ok(objects) = &mut objects {
                objects.retain(|it| ownership.owns(it));
                if resource == &resources::POD {
                    pods.clone_from(objects);
                }
                if resource == &resources::CONFIG_MAP {
                    objects.iter_mut().for_each(without_manifest);
                }
            }
            self.send_objects(parts, SIDE, resource, objects).await;
        }
        pods
    }

    async fn pod_logs(&self, parts: &Sender<CollectedPart>, pods: &[Value]) {
        let log_path = |pod: &Value, container: &str| match container {
            CONSOLE => LogPath {
                folder: "provider/consoles".to_owned(),
                file: machine_name(pod),
            },
            _ => LogPath {
                folder: format!("provider/logs/{}", text(&pod["metadata"]["name"])),
                file: container.to_owned(),
            },
        };
        self.logs(parts, &self.provider, pods, log_path).await;
        let is_launcher = |it: &&Value| it["metadata"]["labels"]["kubevirt.io"] == "virt-launcher";
        for pod in pods.iter().filter(is_launcher) {
            let spec = &pod["spec"];
            let mut containers = ["initContainers", "containers"]
                .into_iter()
                .flat_map(|it| items(&spec[it]));
            if !containers.any(|it| it["name"] == CONSOLE) {
                let machine = machine_name(pod);
                let note = format!(
                    "machine {machine} has no console log: its pod has no container {CONSOLE} (logSerialConsole is disabled)"
                );
                send(parts, CollectedPart::Note(note)).await;
            }
        }
    }

    /// Sends the version of an API server.
    pub(crate) async fn version(
        &self,
        parts: &Sender<CollectedPart>,
        what: &'static str,
        of: &ApiClient,
    ) {
        let version = async { of.get_path("/version", "version").await };
        let part = match self.read(what, version).await {
            Ok(version) => CollectedPart::Fact {
                what,
                value: text(&version["gitVersion"]).to_owned(),
            },
            Err(why) => CollectedPart::Missing {
                what: what.to_owned(),
                why,
            },
        };
        send(parts, part).await;
    }
}

/// The claim of a volume, as far as the volume refers to it.
fn claim_object(reference: &Value) -> Value {
    serde_json::json!({ "metadata": { "name": reference["name"], "uid": reference["uid"] } })
}

fn machine_name(pod: &Value) -> String {
    let metadata = &pod["metadata"];
    let names = [
        &metadata["annotations"]["kubevirt.io/domain"],
        &metadata["labels"]["vm.kubevirt.io/name"],
        &metadata["name"],
    ];
    let mut names = names.into_iter().filter_map(Value::as_str);
    names.next().unwrap_or_default().to_owned()
}

/// The manifest is a separate file, redacted by its fields.
fn without_manifest(config_map: &mut Value) {
    if config_map["metadata"]["labels"][MANAGED_BY].is_null() {
        return;
    }
    for key in [SHOOT, PROFILE] {
        if let Some(it) = config_map["data"].get_mut(key) {
            *it = format!("<record/{key}>").into();
        }
    }
}
