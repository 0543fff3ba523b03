//! Objects that are applied together and come up together.

use crate::render::metadata::owner;
use crate::state::hash::Hash;
use crate::state::key::{ClusterSide, ObjectKey, ObjectKind};
use crate::state::names::{COMPONENT, KVSHOOT, MANAGED_BY, PART_OF, SHOOT_UID, SPEC_HASH};
use crate::state::site::Site;
use serde_json::{Map, Value, json};

/// A component of a cluster. Objects hold their own labels and content; the metadata that all objects have in common is
/// added here.
#[derive(Debug)]
pub(crate) struct Component {
    /// Value of the label `app.kubernetes.io/component`.
    pub(crate) name: &'static str,
    /// A sentence.
    pub(crate) title: String,
    pub(crate) objects: Vec<Value>,
}

impl Component {
    /// Keys of its objects.
    pub(crate) fn keys(&self, side: ClusterSide) -> Vec<ObjectKey> {
        let objects = self.objects.iter();
        objects.map(|it| key(side, it)).collect()
    }

    /// Its workloads without pods; None if it has none.
    pub(crate) fn stopped(mut self) -> Option<Component> {
        self.objects.retain(|it| it["spec"]["template"].is_object());
        for workload in &mut self.objects {
            workload["spec"]["replicas"] = json!(0);
        }
        self.title = format!("Stop {}", self.name);
        (!self.objects.is_empty()).then_some(self)
    }

    /// The complete objects, with their keys and hashes.
    pub(crate) fn finished(self, side: ClusterSide, site: &Site) -> Vec<(ObjectKey, Hash, Value)> {
        let name = self.name;
        let objects = self.objects.into_iter();
        objects
            .map(|object| finish(side, site, name, object))
            .collect()
    }
}

/// Hash of an object, without an address that the provider assigned earlier.
pub(crate) fn hash(side: ClusterSide, object: &Value) -> Hash {
    let address = &object["spec"]["clusterIP"];
    let is_given = side == ClusterSide::Provider && object["kind"] == "Service";
    if !is_given || address.is_null() || address == "None" {
        return Hash::of_json(object);
    }
    let mut object = object.clone();
    object["spec"]
        .as_object_mut()
        .map(|it| it.remove("clusterIP"));
    Hash::of_json(&object)
}

fn key(side: ClusterSide, object: &Value) -> ObjectKey {
    let kind = object["kind"].as_str().and_then(ObjectKind::generic);
    let metadata = &object["metadata"];
    let name = metadata["name"].as_str().unwrap_or_default();
    let namespace = match side {
        ClusterSide::Provider => None,
        ClusterSide::Shoot => metadata["namespace"].as_str(),
    };
    ObjectKey {
        side,
        kind: kind.expect("components are made of kinds that are looked at"),
        name: match namespace {
            Some(namespace) => format!("{namespace}/{name}").into(),
            None => name.into(),
        },
    }
}

pub(crate) fn finish(
    side: ClusterSide,
    site: &Site,
    component: &str,
    mut object: Value,
) -> (ObjectKey, Hash, Value) {
    let hash = hash(side, &object);
    let key = key(side, &object);
    let metadata = &mut object["metadata"];
    if side == ClusterSide::Provider {
        metadata["namespace"] = json!(site.namespace);
        metadata["ownerReferences"] = json!([owner(site)]);
    }
    let common = [
        (MANAGED_BY, KVSHOOT),
        (PART_OF, site.id),
        (COMPONENT, component),
        (SHOOT_UID, site.uid),
    ];
    let labels = &mut metadata["labels"];
    if labels.is_null() {
        *labels = Value::Object(Map::new());
    }
    for (key, value) in common {
        labels[key] = json!(value);
    }
    metadata["annotations"][SPEC_HASH] = json!(hash.to_string());
    (key, hash, object)
}
