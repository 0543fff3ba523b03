//! The ConfigMap of the record, and the Secret with the manifest that it refers to.

use crate::render::metadata::{labels, metadata};
use crate::state::action::Desired;
use crate::state::facts::Facts;
use crate::state::json::to_yaml;
use crate::state::names::{self, role};
use crate::state::record::{
    EXPIRY, PROFILE, SHOOT, SIZES, manifest_of, manifest_secret, sizes, used_part, wanted, written,
};
use crate::state::site::Site;
use crate::validate::ValidShoot;
use serde_json::{Value, json};

/// The ConfigMap, without the data that runs report.
pub(crate) fn object(shoot: &ValidShoot, site: &Site, facts: &Facts) -> Value {
    let sizes = serde_json::to_string(&sizes(shoot, facts)).expect("names and numbers");
    let mut labels = labels(site, role::RECORD);
    // Its own UID is not known before it exists, and it is found without that label.
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
    let mut manifest = manifest_of(&shoot.manifest);
    let secret = manifest_secret::wanted(shoot);
    if let Some(secret) = &secret {
        manifest = manifest_secret::without_user_data(manifest, &secret.key.name);
    }
    let mut data = json!({
        SHOOT: to_yaml(&manifest),
        PROFILE: to_yaml(&written(&used_part(&shoot.profile, shoot))),
        SIZES: sizes,
    });
    if let Some(secret) = secret {
        data[manifest_secret::NAME] = json!(&*secret.key.name);
    }
    if let Some(expiry) = shoot.manifest.metadata.annotations.get(names::EXPIRES) {
        data[EXPIRY] = json!(expiry);
        let before = facts.record.as_ref().and_then(|it| it.expiry.as_deref());
        // An expiry set by other means holds until the manifest changes.
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

/// The Secret with the manifest. It is never changed: another manifest has another name.
pub(crate) fn secret(shoot: &ValidShoot, site: &Site, wanted: &Desired) -> Value {
    let manifest = to_yaml(&manifest_of(&shoot.manifest));
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata(site, role::MANIFEST, &wanted.key.name, wanted.hash),
        "type": "Opaque",
        "immutable": true,
        "stringData": { manifest_secret::MANIFEST: manifest },
    })
}
