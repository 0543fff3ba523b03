//! Objects of add-ons, adapted to a shoot.

use super::calico;
use crate::render::images::from_registry;
use crate::validate::{ManifestSet, ValidShoot};
use serde_json::{Value, json};

/// Adapts the objects to the shoot: its registry, and the address ranges of a pod network.
pub(crate) fn prepared(shoot: &ValidShoot, bundle: &ManifestSet) -> Vec<Value> {
    let mut objects = bundle.objects.clone();
    for object in &mut objects {
        if let Some(registry) = &shoot.control_plane.registry {
            images(object, registry);
        }
        if bundle.name == calico::NAME {
            calico::fit(object, &shoot.networking);
        }
        let is_namespaced = matches!(object["kind"].as_str(), Some("Deployment" | "DaemonSet"));
        if is_namespaced && object["metadata"]["namespace"].is_null() {
            object["metadata"]["namespace"] = json!("default");
        }
    }
    objects
}

/// Rewrites images in pod specs, which are at one of three paths.
fn images(object: &mut Value, registry: &str) {
    for place in [
        "/spec/template/spec",
        "/spec/jobTemplate/spec/template/spec",
        "/spec",
    ] {
        for containers in ["initContainers", "containers"] {
            let containers = object.pointer_mut(&format!("{place}/{containers}"));
            for container in containers
                .and_then(Value::as_array_mut)
                .into_iter()
                .flatten()
            {
                if let Some(image) = container["image"].as_str() {
                    container["image"] = json!(from_registry(image, registry));
                }
            }
        }
    }
}
