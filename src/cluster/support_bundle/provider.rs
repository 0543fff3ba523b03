//! The provider's side of a support bundle.

use super::collect::{BundleCollector, CollectedPart, send};
use super::kinds::{NAMESPACE_OBJECTS, PROVIDER_OBJECTS, SHOOT_OBJECTS};
use super::logs::LogPath;
use super::ownership::OwnershipFilter;
use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::resources::{self, Resource};
use crate::cluster::event::KubernetesEvent;
use crate::cluster::objects::core::event::PartialEvent;
use crate::cluster::objects::core::pod::{CONSOLE, PartialPod};
use crate::cluster::objects::kubevirt::installation::PartialInstallation;
use crate::cluster::objects::metadata::{PartialObject, PartialObjectMeta};
use crate::cluster::objects::reader::{read_if_valid, read_valid};
use crate::cluster::objects::storage::PartialPersistentVolume;
use crate::state::key::ClusterSide;
use crate::state::names::MANAGED_BY;
use crate::state::record::{PROFILE, SHOOT};
use futures::future::{join, join_all};
use serde_json::Value;
use tokio::sync::mpsc::Sender;

const SIDE: &str = "provider";
/// Installation objects, which have the versions.
const INSTALLED: [(&str, &Resource); 2] =
    [("KubeVirt", &resources::KUBEVIRT), ("CDI", &resources::CDI)];

/// Objects of one kind with their metadata, or why they are missing.
type ReadObjects = Result<Vec<(PartialObjectMeta, Value)>, String>;

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
        let ours: Vec<_> = ours
            .into_iter()
            .map(|(resource, objects)| (resource, objects.map(|it| with_metadata(resource, it))))
            .collect();
        let all = ours.iter().filter_map(|it| it.1.as_ref().ok()).flatten();
        ownership.learn(&all.map(|it| &it.0).collect::<Vec<_>>());
        let pods = self.send_owned(parts, ours, &ownership).await;
        for (resource, objects) in around {
            self.send_objects(parts, SIDE, resource, objects).await;
        }
        for (resource, mut objects) in whole {
            // Other tenants have PersistentVolumes too.
            if resource == &resources::VOLUME
                && let Ok(objects) = &mut objects
            {
                objects.retain(|it| is_bound_in(namespace, &ownership, it));
            }
            let installed = INSTALLED.iter().find(|it| it.1 == resource);
            if let (Some((what, _)), Ok(objects)) = (installed, &objects) {
                let found: Vec<PartialInstallation> = read_valid(resource, objects);
                let mut versions = found.into_iter().map(|it| it.status.observed_version);
                if let Some(value) = versions.rfind(|it| !it.is_empty()) {
                    send(parts, CollectedPart::Fact { what, value }).await;
                }
            }
            self.send_objects(parts, SIDE, resource, objects).await;
        }
        let secrets = self.secrets[0].clone();
        self.send_objects(parts, SIDE, &resources::SECRET, secrets)
            .await;
        match events {
            Ok(events) => {
                let ours = events.items.into_iter().filter_map(|it| {
                    let event: PartialEvent = read_if_valid(&resources::EVENT, &it)?;
                    let is_ours = ownership.is_about(&event.involved_object);
                    is_ours.then(|| (KubernetesEvent::of(ClusterSide::Provider, &event), it))
                });
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
        ours: Vec<(&'static Resource, ReadObjects)>,
        ownership: &OwnershipFilter,
    ) -> Vec<PartialPod> {
        let mut pods = Vec::new();
        for (resource, objects) in ours {
            let objects = objects.map(|mut objects| {
                objects.retain(|it| ownership.owns(&it.0));
                if resource == &resources::CONFIG_MAP {
                    let ours = objects.iter_mut();
                    ours.filter(|it| it.0.label(MANAGED_BY).is_some())
                        .for_each(|it| omit_manifest(&mut it.1));
                }
                objects.into_iter().map(|it| it.1).collect::<Vec<_>>()
            });
            if let (true, Ok(objects)) = (resource == &resources::POD, &objects) {
                pods = read_valid(resource, objects);
            }
            self.send_objects(parts, SIDE, resource, objects).await;
        }
        pods
    }

    async fn pod_logs(&self, parts: &Sender<CollectedPart>, pods: &[PartialPod]) {
        let log_path = |pod: &PartialPod, container: &str| match container {
            CONSOLE => LogPath {
                folder: "provider/consoles".to_owned(),
                file: pod.machine_name().to_owned(),
            },
            _ => LogPath {
                folder: format!("provider/logs/{}", pod.metadata.name),
                file: container.to_owned(),
            },
        };
        self.logs(parts, &self.provider, pods, log_path).await;
        let is_launcher =
            |it: &&PartialPod| it.metadata.label("kubevirt.io") == Some("virt-launcher");
        for pod in pods.iter().filter(is_launcher) {
            if !pod.has_container(CONSOLE) {
                let machine = pod.machine_name();
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
        let part = match self.read(what, of.kubernetes_version()).await {
            Ok(value) => CollectedPart::Fact { what, value },
            Err(why) => CollectedPart::Missing {
                what: what.to_owned(),
                why,
            },
        };
        send(parts, part).await;
    }
}

fn with_metadata(
    resource: &'static Resource,
    objects: Vec<Value>,
) -> Vec<(PartialObjectMeta, Value)> {
    let objects = objects.into_iter();
    objects
        .filter_map(|it| {
            let PartialObject { metadata } = read_if_valid(resource, &it)?;
            Some((metadata, it))
        })
        .collect()
}

/// True if a PersistentVolume is bound to a claim of the shoot.
fn is_bound_in(namespace: Option<&str>, ownership: &OwnershipFilter, volume: &Value) -> bool {
    let volume: Option<PartialPersistentVolume> = read_if_valid(&resources::VOLUME, volume);
    let claim = volume.and_then(|it| it.spec.claim_ref);
    claim.is_some_and(|it| Some(&*it.namespace) == namespace && ownership.owns_claim(&it))
}

/// Omits the manifest from a record: it is a separate file, redacted by its fields.
fn omit_manifest(config_map: &mut Value) {
    for key in [SHOOT, PROFILE] {
        if let Some(it) = config_map["data"].get_mut(key) {
            *it = format!("<record/{key}>").into();
        }
    }
}
