//! The provider's side of a shoot.

use super::collect::{Evidence, Found, send};
use super::kinds::{OF_NAMESPACE, OF_PROVIDER, OF_SHOOT};
use super::logs::Place;
use super::ownership::Family;
use crate::cluster::client::api_client::Provider;
use crate::cluster::client::resources::{self, Resource};
use crate::cluster::event::EventSeen;
use crate::cluster::json::{items, text};
use crate::state::key::Side;
use crate::state::names::MANAGED_BY;
use crate::state::record::{PROFILE, SHOOT};
use futures::future::{join, join_all};
use serde_json::Value;
use tokio::sync::mpsc::Sender;

const SIDE: &str = "provider";
/// Where installations tell their versions.
const INSTALLED: [(&str, &Resource, &str); 2] = [
    ("KubeVirt", &resources::KUBEVIRT, "observedKubeVirtVersion"),
    ("CDI", &resources::CDI, "observedVersion"),
];
/// A container of KubeVirt's that tells what a guest writes to its serial console.
const CONSOLE: &str = "guest-console-log";

impl Evidence {
    pub(crate) async fn outside(&self, found: &Sender<Found>) {
        let namespace = Some(&**self.provider.namespace());
        let ask = async |resource: &'static Resource, namespace| {
            let objects = self.objects(&self.provider, resource, namespace).await;
            (resource, objects.unwrap_or_else(|| Ok(Vec::new())))
        };
        let events = self.read("events of the provider", self.provider.events(namespace));
        let ours = join_all(OF_SHOOT.map(|it| ask(it, namespace)));
        let around = join_all(OF_NAMESPACE.map(|it| ask(it, namespace)));
        let whole = join_all(OF_PROVIDER.map(|it| ask(it, None)));
        let (ours, around, whole, events) = tokio::join!(ours, around, whole, events);
        let mut family = Family::new(&self.id, self.others.iter().cloned());
        let all = ours.iter().filter_map(|it| it.1.as_ref().ok()).flatten();
        family.learn(&all.collect::<Vec<_>>());
        let pods = self.tell_ours(found, ours, &family).await;
        for (resource, objects) in around {
            self.tell(found, SIDE, resource, objects).await;
        }
        for (resource, mut objects) in whole {
            // Volumes are many, and other people's.
            if resource == &resources::VOLUME
                && let Ok(objects) = &mut objects
            {
                objects.retain(|it| {
                    let claim = &it["spec"]["claimRef"];
                    Some(text(&claim["namespace"])) == namespace && family.has(&of_claim(claim))
                });
            }
            for (fact, of, field) in INSTALLED {
                let objects = objects.iter().flatten().filter(|_| of == resource);
                let mut versions = objects.map(|it| text(&it["status"][field]).to_owned());
                if let Some(value) = versions.rfind(|it| !it.is_empty()) {
                    send(found, Found::Fact { what: fact, value }).await;
                }
            }
            self.tell(found, SIDE, resource, objects).await;
        }
        let secrets = self.secrets[0].clone();
        self.tell(found, SIDE, &resources::SECRET, secrets).await;
        match events {
            Ok(events) => {
                let ours = events.items.into_iter().filter(|it| family.is_about(it));
                let ours = ours.map(|it| (EventSeen::of(Side::Provider, &it), it));
                self.tell_events(found, SIDE, ours.collect()).await;
            }
            Err(why) => {
                let what = "events of the provider".to_owned();
                send(found, Found::Missing { what, why }).await;
            }
        }
        let version = self.version(found, "provider's version", &self.provider);
        join(version, self.pod_logs(found, &pods)).await;
    }

    /// Tells what is the shoot's; gives its pods.
    async fn tell_ours(
        &self,
        found: &Sender<Found>,
        ours: Vec<(&'static Resource, Result<Vec<Value>, String>)>,
        family: &Family,
    ) -> Vec<Value> {
        let mut pods = Vec::new();
        for (resource, mut objects) in ours {
            if let Ok(objects) = &mut objects {
                objects.retain(|it| family.has(it));
                if resource == &resources::POD {
                    pods.clone_from(objects);
                }
                if resource == &resources::CONFIG_MAP {
                    objects.iter_mut().for_each(without_manifest);
                }
            }
            self.tell(found, SIDE, resource, objects).await;
        }
        pods
    }

    async fn pod_logs(&self, found: &Sender<Found>, pods: &[Value]) {
        let place = |pod: &Value, container: &str| match container {
            CONSOLE => Place {
                folder: "provider/consoles".to_owned(),
                file: machine_of(pod),
            },
            _ => Place {
                folder: format!("provider/logs/{}", text(&pod["metadata"]["name"])),
                file: container.to_owned(),
            },
        };
        self.logs(found, &self.provider, pods, place).await;
        let is_launcher = |it: &&Value| it["metadata"]["labels"]["kubevirt.io"] == "virt-launcher";
        for pod in pods.iter().filter(is_launcher) {
            let spec = &pod["spec"];
            let mut containers = ["initContainers", "containers"]
                .into_iter()
                .flat_map(|it| items(&spec[it]));
            if !containers.any(|it| it["name"] == CONSOLE) {
                let machine = machine_of(pod);
                let note = format!(
                    "machine {machine} has no console: KubeVirt made no container {CONSOLE} (logSerialConsole is off)"
                );
                send(found, Found::Note(note)).await;
            }
        }
    }

    /// Of an API server.
    pub(crate) async fn version(&self, found: &Sender<Found>, what: &'static str, of: &Provider) {
        let version = async { of.get_path("/version", "version").await };
        let told = match self.read(what, version).await {
            Ok(version) => Found::Fact {
                what,
                value: text(&version["gitVersion"]).to_owned(),
            },
            Err(why) => Found::Missing {
                what: what.to_owned(),
                why,
            },
        };
        send(found, told).await;
    }
}

/// The claim of a volume, as far as the volume tells.
fn of_claim(reference: &Value) -> Value {
    serde_json::json!({ "metadata": { "name": reference["name"], "uid": reference["uid"] } })
}

fn machine_of(pod: &Value) -> String {
    let metadata = &pod["metadata"];
    let names = [
        &metadata["annotations"]["kubevirt.io/domain"],
        &metadata["labels"]["vm.kubevirt.io/name"],
        &metadata["name"],
    ];
    let mut names = names.into_iter().filter_map(Value::as_str);
    names.next().unwrap_or_default().to_owned()
}

/// The manifest stands beside, by itself, where what is secret in it is taken out by its fields.
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
