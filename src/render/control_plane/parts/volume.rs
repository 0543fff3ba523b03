//! What the containers of a pod find in their files.

use crate::render::control_plane::context::Context;
use crate::state::hash::Hash;
use serde_json::{Map, Value, json};

/// A directory in containers.
#[derive(Debug)]
pub(crate) struct Volume {
    name: String,
    path: String,
    source: Value,
    writable: bool,
    /// Annotation of the pod that rolls it when the content changes.
    checksum: Option<(String, Hash)>,
}

const DIRECTORY: &str = "/etc/kubernetes";

impl Volume {
    /// A Secret of keys and certificates, below `/etc/kubernetes`.
    pub(crate) fn secret(context: &Context, part: &str) -> Volume {
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

    /// Of a Secret, only what the pod has to know.
    #[must_use]
    pub(crate) fn only(mut self, keys: &[&str]) -> Volume {
        let items = keys.iter().map(|it| json!({ "key": it, "path": it }));
        self.source["secret"]["items"] = items.collect();
        self
    }

    /// A ConfigMap of the control plane with this content.
    pub(crate) fn config(context: &Context, part: &str, data: &Map<String, Value>) -> Volume {
        let name = context.name(part);
        Volume {
            name: "config".to_owned(),
            path: format!("{DIRECTORY}/config"),
            // Secrets have the same names: one must not stand in for the other.
            checksum: Some((format!("checksum-config/{name}"), Hash::of(data))),
            source: json!({ "configMap": { "name": name } }),
            writable: false,
        }
    }

    /// A ConfigMap that a person made. Its content is theirs: nothing here rolls when they change it.
    pub(crate) fn of_person(name: &str, config_map: &str) -> Volume {
        Volume {
            name: name.to_owned(),
            path: format!("{DIRECTORY}/{name}"),
            source: json!({ "configMap": { "name": config_map } }),
            writable: false,
            checksum: None,
        }
    }

    /// A directory for sockets that containers of one pod share.
    pub(crate) fn memory(name: &str, path: &str) -> Volume {
        Volume {
            name: name.to_owned(),
            path: path.to_owned(),
            source: json!({ "emptyDir": { "medium": "Memory" } }),
            writable: true,
            checksum: None,
        }
    }

    /// What a claim template of the StatefulSet makes.
    pub(crate) fn claim(name: &str, path: &str) -> Volume {
        Volume {
            name: name.to_owned(),
            path: path.to_owned(),
            source: Value::Null,
            writable: true,
            checksum: None,
        }
    }

    pub(crate) fn file(&self, name: &str) -> String {
        format!("{}/{name}", self.path)
    }

    pub(crate) fn mount(&self) -> Value {
        let mut mount = json!({ "name": self.name, "mountPath": self.path });
        if !self.writable {
            mount["readOnly"] = json!(true);
        }
        mount
    }

    /// None for a claim: the StatefulSet puts it in.
    pub(crate) fn of_pod(&self) -> Option<Value> {
        let mut volume = self.source.clone();
        volume.as_object_mut()?;
        volume["name"] = json!(self.name);
        Some(volume)
    }

    pub(crate) fn checksum(&self) -> Option<(String, Value)> {
        let (key, hash) = self.checksum.as_ref()?;
        Some((key.clone(), json!(hash.to_string())))
    }
}
