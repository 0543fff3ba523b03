//! The shoot's side of a support bundle.

use super::collect::{BundleCollector, CollectedPart, send};
use super::kinds::SHOOT_API_OBJECTS;
use super::logs::LogPath;
use super::redact;
use crate::cluster::client::resources;
use crate::cluster::event::KubernetesEvent;
use crate::cluster::objects::core::pod::PartialPod;
use crate::cluster::objects::reader::read_valid;
use crate::state::key::ClusterSide;
use futures::future::join_all;
use serde_json::Value;
use tokio::sync::mpsc::Sender;

const SIDE: &str = "shoot";
/// Namespace whose pods and ConfigMaps belong to the system, not to users.
const SYSTEM: &str = "kube-system";

impl BundleCollector {
    pub(crate) async fn collect_shoot(&self, parts: &Sender<CollectedPart>) {
        let shoot = match &self.shoot {
            Ok(shoot) => shoot,
            Err(why) => {
                let what = "everything in the shoot".to_owned();
                let why = why.clone();
                return send(parts, CollectedPart::Missing { what, why }).await;
            }
        };
        let lists = SHOOT_API_OBJECTS.map(async |it| (it, self.objects(shoot, it, None).await));
        let events = self.read("events of the shoot", shoot.events(None));
        let (lists, events) = tokio::join!(join_all(lists), events);
        let mut pods: Vec<PartialPod> = Vec::new();
        for (resource, objects) in lists {
            let Some(mut objects) = objects else { continue };
            if let Ok(objects) = &mut objects {
                if resource == &resources::POD {
                    pods = read_valid(resource, objects);
                    pods.retain(|it| it.metadata.namespace.as_deref() == Some(SYSTEM));
                }
                if resource == &resources::CONFIG_MAP {
                    let users = objects.iter_mut();
                    let users =
                        users.filter(|it| redact::is_user_namespace(&it["metadata"]["namespace"]));
                    users
                        .filter_map(Value::as_object_mut)
                        .for_each(redact::redact_values);
                }
            }
            self.send_objects(parts, SIDE, resource, objects).await;
        }
        let secrets = self.secrets[1].clone();
        self.send_objects(parts, SIDE, &resources::SECRET, secrets)
            .await;
        match events {
            Ok(events) => {
                let events = events.items.into_iter();
                let events = events
                    .filter_map(|it| Some((KubernetesEvent::parse(ClusterSide::Shoot, &it)?, it)));
                self.send_events(parts, SIDE, events.collect()).await;
            }
            Err(why) => {
                let what = "events of the shoot".to_owned();
                send(parts, CollectedPart::Missing { what, why }).await;
            }
        }
        self.version(parts, "shoot's version", shoot).await;
        let log_path = |pod: &PartialPod, container: &str| LogPath {
            folder: format!("shoot/logs/{SYSTEM}/{}", pod.metadata.name),
            file: container.to_owned(),
        };
        self.logs(parts, shoot, &pods, log_path).await;
    }
}
