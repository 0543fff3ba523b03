//! The ConfigMap of the record.

use crate::render::metadata::labels;
use crate::state::facts::Facts;
use crate::state::names::{self, role};
use crate::state::record::{
    EXPIRY, PROFILE, SHOOT, SIZES, manifest_of, sizes, used_part, wanted, written,
};
use crate::state::site::Site;
use crate::validate::ValidShoot;
use serde_json::{Value, json};

/// The ConfigMap without what runs report in it.
pub(crate) fn object(shoot: &ValidShoot, site: &Site, facts: &Facts) -> Value {
    let yaml = |value: Value| serde_yaml::to_string(&value).expect("JSON is YAML");
    let sizes = serde_json::to_string(&sizes(shoot, facts)).expect("names and numbers");
    let mut labels = labels(site, role::RECORD);
    // Its own UID is not known before it is there, and it needs no such label to be found.
    labels.remove(names::SHOOT_UID);
    labels.insert(
        "shoot.gardener.cloud/name".into(),
        shoot.name.as_str().into(),
    );
    labels.insert(
        "shoot.gardener.cloud/project".into(),
        shoot.project.as_str().into(),
    );
    let mut annotations = json!({ names::SPEC_HASH: wanted(shoot, facts).hash.to_string() });
    let mut data = json!({
        SHOOT: yaml(manifest_of(&shoot.manifest)),
        PROFILE: yaml(written(&used_part(&shoot.profile, shoot))),
        SIZES: sizes,
    });
    if let Some(expiry) = shoot.manifest.metadata.annotations.get(names::EXPIRES) {
        data[EXPIRY] = json!(expiry);
        let before = facts.record.as_ref().and_then(|it| it.expiry.as_deref());
        // What was said since by other ways stands until the manifest says something else.
        if before != Some(expiry) {
            annotations[names::EXPIRES] = json!(expiry);
        }
    }
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": site.id,
            "namespace": site.namespace,
            "labels": labels,
            "annotations": annotations,
        },
        "data": data,
    })
}
