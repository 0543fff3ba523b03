//! Objects that are applied together and come up together.

use crate::render::metadata::owner;
use crate::state::hash::Hash;
use crate::state::key::{Key, Kind, Side};
use crate::state::names::{COMPONENT, KVSHOOT, MANAGED_BY, PART_OF, SHOOT_UID, SPEC_HASH};
use crate::state::site::Site;
use serde_json::{Map, Value, json};

/// What a part of a cluster consists of. Objects hold what tells them apart, their labels and their content; what all
/// objects have in common is put on here.
#[derive(Debug)]
pub(crate) struct Component {
    /// Value of the label `app.kubernetes.io/component`.
    pub(crate) name: &'static str,
    /// A sentence.
    pub(crate) title: String,
    pub(crate) objects: Vec<Value>,
}

impl Component {
    /// What its objects are called.
    pub(crate) fn keys(&self, side: Side, site: &Site) -> Vec<Key> {
        let objects = self.objects.iter();
        objects
            .map(|it| finish(side, site, self.name, it.clone()).0)
            .collect()
    }

    /// The objects as they are sent, with their keys and hashes.
    pub(crate) fn finished(self, side: Side, site: &Site) -> Vec<(Key, Hash, Value)> {
        let name = self.name;
        let objects = self.objects.into_iter();
        objects
            .map(|object| finish(side, site, name, object))
            .collect()
    }
}

/// An address that the provider assigned once is asked for again, and is no wish of ours.
pub(crate) fn hash(side: Side, object: &Value) -> Hash {
    let address = &object["spec"]["clusterIP"];
    let is_given = side == Side::Provider && object["kind"] == "Service";
    if !is_given || address.is_null() || address == "None" {
        return Hash::of(object);
    }
    let mut object = object.clone();
    object["spec"]
        .as_object_mut()
        .map(|it| it.remove("clusterIP"));
    Hash::of(&object)
}

pub(crate) fn finish(
    side: Side,
    site: &Site,
    component: &str,
    mut object: Value,
) -> (Key, Hash, Value) {
    let hash = hash(side, &object);
    let kind = object["kind"].as_str().and_then(Kind::generic);
    let kind = kind.expect("components are made of kinds that are looked at");
    let metadata = &mut object["metadata"];
    if side == Side::Provider {
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
    let name = metadata["name"].as_str().unwrap_or_default();
    let name = match (side, metadata["namespace"].as_str()) {
        (Side::Shoot, Some(namespace)) => format!("{namespace}/{name}"),
        _ => name.to_owned(),
    };
    let key = Key {
        side,
        kind,
        name: name.into(),
    };
    (key, hash, object)
}
