//! Volumes of the control plane's pods.

use crate::render::control_plane::context::ControlPlaneContext;
use crate::state::hash::Hash;
use serde_json::{Map, Value, json};

/// A directory mounted into containers.
#[derive(Debug)]
pub(crate) struct PodVolume {
    name: String,
    path: String,
    source: Value,
    writable: bool,
    /// Pod annotation that triggers a rollout when the content changes.
    checksum: Option<(String, Hash)>,
}

const DIRECTORY: &str = "/etc/kubernetes";
/// Where client libraries expect the token.
const TOKEN_DIRECTORY: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// Seconds, as of the token that Kubernetes mounts. It is renewed before it expires.
const TOKEN_LIFETIME: u32 = 3607;

/// A ConfigMap of the control plane, as [`PodVolume::config`] mounts it.
pub(crate) fn config_map(
    context: &ControlPlaneContext,
    part: &str,
    data: &Map<String, Value>,
) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": context.name(part) },
        "data": data,
    })
}

impl PodVolume {
    /// A Secret of keys and certificates, below `/etc/kubernetes`.
    pub(crate) fn secret(context: &ControlPlaneContext, part: &str) -> PodVolume {
        let name = context.name(part);
        let checksum = context.known.checksums.get(name.as_str()).copied();
        PodVolume {
            name: part.to_owned(),
            path: format!("{DIRECTORY}/{part}"),
            source: json!({ "secret": { "secretName": name, "defaultMode": 0o440 } }),
            writable: false,
            checksum: checksum.map(|it| (format!("checksum/{name}"), it)),
        }
    }

    /// Limits a Secret volume to the keys that the pod needs.
    #[must_use]
    pub(crate) fn only(mut self, keys: &[&str]) -> PodVolume {
        let items = keys.iter().map(|it| json!({ "key": it, "path": it }));
        self.source["secret"]["items"] = items.collect();
        self
    }

    /// A ConfigMap of the control plane with this content, mounted as `config`.
    pub(crate) fn config(
        context: &ControlPlaneContext,
        part: &str,
        data: &Map<String, Value>,
    ) -> PodVolume {
        let name = context.name(part);
        PodVolume {
            name: "config".to_owned(),
            path: format!("{DIRECTORY}/config"),
            // Secrets have the same names, so the annotations need different prefixes.
            checksum: Some((format!("checksum-config/{name}"), Hash::of(data))),
            source: json!({ "configMap": { "name": name } }),
            writable: false,
        }
    }

    /// A ConfigMap provided by the user. A change of its content does not trigger a rollout.
    pub(crate) fn of_person(name: &str, config_map: &str) -> PodVolume {
        PodVolume {
            name: name.to_owned(),
            path: format!("{DIRECTORY}/{name}"),
            source: json!({ "configMap": { "name": config_map } }),
            writable: false,
            checksum: None,
        }
    }

    /// A directory for sockets that containers of one pod share.
    pub(crate) fn memory(name: &str, path: &str) -> PodVolume {
        PodVolume {
            name: name.to_owned(),
            path: path.to_owned(),
            source: json!({ "emptyDir": { "medium": "Memory" } }),
            writable: true,
            checksum: None,
        }
    }

    /// The token of the pod's service account, for the containers that call the provider's API.
    pub(crate) fn service_account_token() -> PodVolume {
        let namespace = json!([{ "path": "namespace", "fieldRef": {
            "apiVersion": "v1", "fieldPath": "metadata.namespace",
        }}]);
        let ca = json!({
            "name": "kube-root-ca.crt", "items": [{ "key": "ca.crt", "path": "ca.crt" }],
        });
        let token = json!({ "expirationSeconds": TOKEN_LIFETIME, "path": "token" });
        PodVolume {
            name: "token".to_owned(),
            path: TOKEN_DIRECTORY.to_owned(),
            source: json!({ "projected": {
                "defaultMode": 0o440,
                "sources": [
                    { "serviceAccountToken": token },
                    { "configMap": ca },
                    { "downwardAPI": { "items": namespace } },
                ],
            }}),
            writable: false,
            checksum: None,
        }
    }

    pub(crate) fn is_token(&self) -> bool {
        self.path == TOKEN_DIRECTORY
    }

    /// A volume created from a claim template of the StatefulSet.
    pub(crate) fn claim(name: &str, path: &str) -> PodVolume {
        PodVolume {
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

    /// Returns None for a claim template, because the StatefulSet adds that volume.
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
