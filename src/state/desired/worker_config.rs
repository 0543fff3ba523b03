//! The canonical form of a WorkerConfig, so that explicit defaults do not trigger a rolling update.

use crate::model::WorkerConfig;
use crate::state::json::to_sparse_json;
use serde_json::{Value, json};

pub(crate) fn canonical(config: &WorkerConfig) -> Value {
    let mut value = to_sparse_json(config);
    let Some(fields) = value.as_object_mut() else {
        return value;
    };
    fields.retain(|key, _| key != "apiVersion" && key != "kind");
    if fields
        .get("dnsPolicy")
        .is_some_and(|it| it == "ClusterFirst")
    {
        fields.remove("dnsPolicy");
    }
    if let Some(devices) = fields.get_mut("devices") {
        canonical_devices(devices);
    }
    if let Some(features) = fields
        .get_mut("cpu")
        .and_then(|it| it.get_mut("features"))
        .and_then(Value::as_array_mut)
    {
        features.iter_mut().for_each(canonical_feature);
    }
    without_false(&mut value);
    if let Some(fields) = value.as_object_mut() {
        fields.retain(|_, value| value.as_object().is_none_or(|it| !it.is_empty()));
    }
    value
}

/// Disks are matched by name, so their order is irrelevant, and disks equal to the default are dropped.
fn canonical_devices(devices: &mut Value) {
    let Some(fields) = devices.as_object_mut() else {
        return;
    };
    let multiqueue = ["networkInterfaceMultiqueue", "networkInterfaceMultiQueue"]
        .map(|it| fields.remove(it) == Some(json!(true)));
    if multiqueue.contains(&true) {
        fields.insert("networkInterfaceMultiqueue".into(), json!(true));
    }
    for list in ["gpus", "hostDevices"] {
        if fields.get(list).is_some_and(|it| *it == json!([])) {
            fields.remove(list);
        }
    }
    // The presence of the field enables the device.
    if fields.contains_key("rng") {
        fields.insert("rng".into(), json!(true));
    }
    if let Some(disks) = fields.get_mut("disks").and_then(Value::as_array_mut) {
        disks.iter_mut().for_each(without_false);
        disks.retain(|it| *it != json!({ "name": it["name"], "disk": { "bus": "virtio" } }));
        disks.sort_by_key(|it| it["name"].as_str().unwrap_or_default().to_owned());
        if disks.is_empty() {
            fields.remove("disks");
        }
    }
}

fn canonical_feature(feature: &mut Value) {
    if let Value::String(name) = feature {
        *feature = json!({ "name": name });
    }
    if feature["policy"].is_null() {
        feature["policy"] = json!("require");
    }
}

fn without_false(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(without_false);
            fields.retain(|_, it| *it != json!(false));
        }
        Value::Array(items) => items.iter_mut().for_each(without_false),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(fields: &str) -> Value {
        let head = "{\"apiVersion\": \"kubevirt.provider.extensions.gardener.cloud/v1alpha1\", \"kind\": \"WorkerConfig\"";
        let text = format!(
            "{head}{}{fields}}}",
            if fields.is_empty() { "" } else { ", " }
        );
        canonical(&serde_json::from_str(&text).expect("a WorkerConfig"))
    }

    #[test]
    fn explicit_defaults_make_no_difference() {
        let spelt = r#""dnsPolicy": "ClusterFirst", "overcommitGuestOverhead": false, "cpu": {"dedicatedCpuPlacement": false},
            "devices": {"disks": [{"name": "root-disk", "disk": {"bus": "virtio"}}], "blockMultiQueue": false}"#;
        assert_eq!(config(spelt), config(""));
    }

    #[test]
    fn both_spellings_of_multiqueue_are_equal() {
        let lower = config(r#""devices": {"networkInterfaceMultiqueue": true}"#);
        assert_eq!(
            lower,
            config(r#""devices": {"networkInterfaceMultiQueue": true}"#)
        );
        assert_ne!(lower, config(""));
    }

    #[test]
    fn a_device_that_is_enabled_by_its_presence_is_kept() {
        assert_ne!(config(r#""devices": {"rng": {}}"#), config(""));
        assert_ne!(
            config(r#""devices": {"disks": [{"name": "root-disk", "disk": {}}]}"#),
            config("")
        );
    }

    #[test]
    fn a_feature_by_name_is_required() {
        let mut by_name = json!("pcid");
        canonical_feature(&mut by_name);
        assert_eq!(by_name, json!({ "name": "pcid", "policy": "require" }));
    }
}
