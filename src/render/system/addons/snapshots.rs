//! Snapshots of volumes: their API, and a class for each that the profile lists.
//!
//! They go the way of an add-on, for the kind of the classes is known only once its definition is there. What makes
//! snapshots runs with the controller of the CSI driver.

use crate::model::VOLUME_SNAPSHOTS;
use crate::render::system::storage::DRIVER;
use crate::validate::{Bundle, ValidShoot};
use serde::Deserialize as _;
use serde_json::{Value, json};

const NAME: &str = "volume-snapshots";
const DEFAULT: &str = "snapshot.storage.kubernetes.io/is-default-class";

/// None where the profile lists no class: definitions that are there stay, for with them all snapshots would go.
pub(crate) fn bundle(shoot: &ValidShoot) -> Option<Bundle> {
    let classes = &shoot.profile.spec.provider_config.volume_snapshot_classes;
    let classes = classes.iter().map(|it| {
        json!({
            "apiVersion": "snapshot.storage.k8s.io/v1",
            "kind": "VolumeSnapshotClass",
            "metadata": {
                "name": format!("kubevirt-{}", it.name),
                "annotations": { DEFAULT: it.is_default_class.to_string() },
            },
            "driver": DRIVER,
            "deletionPolicy": it.deletion_policy.as_deref().unwrap_or("Delete"),
            "parameters": { "infraSnapshotClassName": it.name },
        })
    });
    let classes: Vec<Value> = classes.collect();
    (!classes.is_empty()).then(|| Bundle {
        name: NAME.to_owned(),
        objects: definitions().chain(classes).collect(),
    })
}

fn definitions() -> impl Iterator<Item = Value> {
    let documents = serde_yaml::Deserializer::from_str(VOLUME_SNAPSHOTS);
    documents.map(|it| Value::deserialize(it).expect("a test has read it once"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validate::testing::{SHOOT, valid_for_tests};

    #[test]
    fn snapshots_are_defined_where_there_is_a_class_for_them() {
        let mut shoot = valid_for_tests(SHOOT);
        assert_eq!(bundle(&shoot), None);
        let listed = json!([
            { "name": "fast", "isDefaultClass": true },
            { "name": "kept", "deletionPolicy": "Retain" },
        ]);
        shoot.profile.spec.provider_config.volume_snapshot_classes =
            serde_json::from_value(listed).expect("classes");
        let objects = bundle(&shoot).expect("there are two").objects;
        let named =
            |it: &Value| format!("{} {}", it["kind"], it["metadata"]["name"]).replace('"', "");
        let group = "snapshot.storage.k8s.io";
        let expected = [
            format!("CustomResourceDefinition volumesnapshotclasses.{group}"),
            format!("CustomResourceDefinition volumesnapshots.{group}"),
            format!("CustomResourceDefinition volumesnapshotcontents.{group}"),
            "VolumeSnapshotClass kubevirt-fast".to_owned(),
            "VolumeSnapshotClass kubevirt-kept".to_owned(),
        ];
        assert_eq!(objects.iter().map(named).collect::<Vec<_>>(), expected);
        assert_eq!(objects[3]["metadata"]["annotations"][DEFAULT], "true");
        assert_eq!(objects[3]["deletionPolicy"], "Delete");
        assert_eq!(objects[4]["deletionPolicy"], "Retain");
        assert_eq!(objects[4]["parameters"]["infraSnapshotClassName"], "kept");
    }
}
