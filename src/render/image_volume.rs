//! DataVolumes of golden volumes.

use crate::render::metadata::metadata;
use crate::state::desired::ImageVolume;
use crate::state::desired::volumes::{claim, source};
use crate::state::facts::Facts;
use crate::state::names::{self, role};
use crate::state::site::Site;
use crate::validate::{VolumeApi, VolumeSpec};
use serde_json::{Value, json};

/// The DataVolume: bound immediately, since nothing uses it, and kept after completion.
pub(crate) fn object(golden: &ImageVolume, site: &Site, facts: &Facts) -> Value {
    let mut metadata = metadata(site, role::IMAGE, &golden.name, golden.hash);
    let annotations = &mut metadata["annotations"];
    annotations["cdi.kubevirt.io/storage.bind.immediate.requested"] = json!("true");
    annotations["cdi.kubevirt.io/storage.deleteAfterCompletion"] = json!("false");
    for (key, value) in &golden.annotations {
        annotations[key] = json!(value);
    }
    let image = format!("{} {}", golden.image, golden.version);
    annotations[names::IMAGE] = json!(image.trim_end());
    if let Some(zone) = &golden.zone {
        annotations[names::ZONE] = json!(zone);
        // CDI copies annotations to the claim, and a provisioner follows this one to the zone.
        if let Some(host) = facts.hosts.get(zone.as_str()) {
            annotations["volume.kubernetes.io/selected-node"] = json!(&*host.first);
        }
    }
    json!({
        "apiVersion": "cdi.kubevirt.io/v1beta1",
        "kind": "DataVolume",
        "metadata": metadata,
        "spec": data_volume(source(&golden.source, site.namespace), &golden.volume),
    })
}

/// The spec of a DataVolume.
pub(crate) fn data_volume(source: Value, volume: &VolumeSpec) -> Value {
    let field = match volume.api {
        VolumeApi::Pvc { .. } => "pvc",
        VolumeApi::Storage { .. } => "storage",
    };
    json!({ "source": source, field: claim(volume) })
}
