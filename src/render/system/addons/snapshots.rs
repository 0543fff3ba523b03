//! Volume snapshots: their API, and a class for each snapshot class of the profile.
//!
//! They are deployed like an add-on, because the kind of the classes exists only after its definition. The snapshot
//! controllers run in the pod of the CSI controller.

use crate::model::VOLUME_SNAPSHOTS;
use crate::render::system::storage::DRIVER;
use crate::validate::{ManifestSet, ValidShoot};
use serde::Deserialize as _;
use serde_json::{Value, json};

const NAME: &str = "volume-snapshots";
const DEFAULT: &str = "snapshot.storage.kubernetes.io/is-default-class";

/// Returns None if the profile lists no class. Existing definitions stay, since deleting them deletes all snapshots.
pub(crate) fn bundle(shoot: &ValidShoot) -> Option<ManifestSet> {
    let classes = &shoot.profile.spec.provider_config.volume_snapshot_classes;
    let classes = classes.iter().map(|class| {
        json!({
            "apiVersion": "snapshot.storage.k8s.io/v1",
            "kind": "VolumeSnapshotClass",
            "metadata": {
                "name": format!("kubevirt-{}", class.name),
                "annotations": { DEFAULT: class.is_default_class.to_string() },
            },
            "driver": DRIVER,
            "deletionPolicy": class.deletion_policy.as_deref().unwrap_or("Delete"),
            "parameters": { "infraSnapshotClassName": class.name },
        })
    });
    let classes: Vec<Value> = classes.collect();
    (!classes.is_empty()).then(|| ManifestSet {
        name: NAME.to_owned(),
        objects: definitions().chain(classes).collect(),
    })
}

fn definitions() -> impl Iterator<Item = Value> {
    let documents = serde_yaml::Deserializer::from_str(VOLUME_SNAPSHOTS);
    documents.map(|it| Value::deserialize(it).expect("a test reads it"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validate::testing::{SHOOT, valid_for_tests};

    #[test]
    fn snapshots_are_defined_if_the_profile_has_a_class() {
        let mut shoot = valid_for_tests(SHOOT);
        assert_eq!(bundle(&shoot), None);
        let listed = json!([
            { "name": "fast", "isDefaultClass": true },
            { "name": "kept", "deletionPolicy": "Retain" },
        ]);
        shoot.profile.spec.provider_config.volume_snapshot_classes =
            serde_json::from_value(listed).expect("classes");
        let objects = bundle(&shoot).expect("two classes").objects;
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
