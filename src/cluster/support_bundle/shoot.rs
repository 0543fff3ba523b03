//! The shoot's own side.

use super::collect::{Evidence, Found, send};
use super::kinds::INSIDE;
use super::logs::Place;
use super::redact;
use crate::cluster::client::resources;
use crate::cluster::event::EventSeen;
use crate::cluster::json::text;
use crate::state::key::Side;
use futures::future::join_all;
use serde_json::Value;
use tokio::sync::mpsc::Sender;

const SIDE: &str = "shoot";
/// Whose pods and ConfigMaps serve the cluster, and not its users.
const SYSTEM: &str = "kube-system";

impl Evidence {
    pub(crate) async fn inside(&self, found: &Sender<Found>) {
        let shoot = match &self.shoot {
            Ok(shoot) => shoot,
            Err(why) => {
                let what = "everything inside the shoot".to_owned();
                let why = why.clone();
                return send(found, Found::Missing { what, why }).await;
            }
        };
        let lists = INSIDE.map(async |it| (it, self.objects(shoot, it, None).await));
        let events = self.read("events of the shoot", shoot.events(None));
        let (lists, events) = tokio::join!(join_all(lists), events);
        let mut pods = Vec::new();
        for (resource, objects) in lists {
            let Some(mut objects) = objects else { continue };
            if let Ok(objects) = &mut objects {
                if resource == &resources::POD {
                    let of_system = objects.iter();
                    let of_system = of_system.filter(|it| it["metadata"]["namespace"] == SYSTEM);
                    pods = of_system.cloned().collect();
                }
                if resource == &resources::CONFIG_MAP {
                    let users = objects.iter_mut();
                    let users = users.filter(|it| redact::is_users(&it["metadata"]["namespace"]));
                    users
                        .filter_map(Value::as_object_mut)
                        .for_each(redact::lengths);
                }
            }
            self.tell(found, SIDE, resource, objects).await;
        }
        let secrets = self.secrets[1].clone();
        self.tell(found, SIDE, &resources::SECRET, secrets).await;
        match events {
            Ok(events) => {
                let events = events.items.into_iter();
                let events = events.map(|it| (EventSeen::of(Side::Shoot, &it), it));
                self.tell_events(found, SIDE, events.collect()).await;
            }
            Err(why) => {
                let what = "events of the shoot".to_owned();
                send(found, Found::Missing { what, why }).await;
            }
        }
        self.version(found, "shoot's version", shoot).await;
        let place = |pod: &Value, container: &str| Place {
            folder: format!("shoot/logs/{SYSTEM}/{}", text(&pod["metadata"]["name"])),
            file: container.to_owned(),
        };
        self.logs(found, shoot, &pods, place).await;
    }
}
