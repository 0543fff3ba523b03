//! Volumes of the control plane's pods.

use super::Context;
use crate::plan::Hash;
use serde_json::{Map, Value, json};

/// A directory mounted into containers.
#[derive(Debug)]
pub(super) struct Volume {
    name: String,
    path: String,
    source: Value,
    writable: bool,
    /// Pod annotation that triggers a rollout when the content changes.
    checksum: Option<(String, Hash)>,
}

const DIRECTORY: &str = "/etc/kubernetes";

impl Volume {
    /// A Secret of keys and certificates, below `/etc/kubernetes`.
    pub(super) fn secret(context: &Context, part: &str) -> Volume {
        let name = context.name(part);
        let checksum = context.known.checksums.get(name.as_str()).copied();
        Volume {
            name: part.to_owned(),
            path: format!("{DIRECTORY}/{part}"),
            source: json!({ "secret": { "secretName": name, "defaultMode": 0o440 } }),
            writable: false,
            checksum: checksum.map(|it| (format!("checksum/{name}"), it)),
        }
    }

    /// Limits a Secret volume to the keys that the pod needs.
    #[must_use]
    pub(super) fn only(mut self, keys: &[&str]) -> Volume {
        let items = keys.iter().map(|it| json!({ "key": it, "path": it }));
        self.source["secret"]["items"] = items.collect();
        self
    }

    /// A ConfigMap of the control plane with this content, mounted as `config`.
    pub(super) fn config(context: &Context, part: &str, data: &Map<String, Value>) -> Volume {
        let name = context.name(part);
        Volume {
            name: "config".to_owned(),
            path: format!("{DIRECTORY}/config"),
            // Secrets have the same names, so the annotations need different prefixes.
            checksum: Some((format!("checksum-config/{name}"), Hash::of(data))),
            source: json!({ "configMap": { "name": name } }),
            writable: false,
        }
    }

    /// A ConfigMap provided by the user. A change of its content does not trigger a rollout.
    pub(super) fn of_user(name: &str, config_map: &str) -> Volume {
        Volume {
            name: name.to_owned(),
            path: format!("{DIRECTORY}/{name}"),
            source: json!({ "configMap": { "name": config_map } }),
            writable: false,
            checksum: None,
        }
    }

    /// A directory for sockets that containers of one pod share.
    pub(super) fn memory(name: &str, path: &str) -> Volume {
        Volume {
            name: name.to_owned(),
            path: path.to_owned(),
            source: json!({ "emptyDir": { "medium": "Memory" } }),
            writable: true,
            checksum: None,
        }
    }

    /// A volume created from a claim template of the StatefulSet.
    pub(super) fn claim(name: &str, path: &str) -> Volume {
        Volume {
            name: name.to_owned(),
            path: path.to_owned(),
            source: Value::Null,
            writable: true,
            checksum: None,
        }
    }

    pub(super) fn file(&self, name: &str) -> String {
        format!("{}/{name}", self.path)
    }

    pub(super) fn mount(&self) -> Value {
        let mut mount = json!({ "name": self.name, "mountPath": self.path });
        if !self.writable {
            mount["readOnly"] = json!(true);
        }
        mount
    }

    /// Returns None for a claim template, because the StatefulSet adds that volume.
    pub(super) fn of_pod(&self) -> Option<Value> {
        let mut volume = self.source.clone();
        volume.as_object_mut()?;
        volume["name"] = json!(self.name);
        Some(volume)
    }

    pub(super) fn checksum(&self) -> Option<(String, Value)> {
        let (key, hash) = self.checksum.as_ref()?;
        Some((key.clone(), json!(hash.to_string())))
    }
}
