//! What all pods of the control plane have in common: they pass as `restricted`, roll when a file of theirs changes,
//! and spread as the shoot asks for.

use super::replicas::{budget, spread};
use super::volume::Volume;
use crate::render::control_plane::context::Context;
use crate::render::images::image;
use crate::state::names::{COMPONENT, KVSHOOT, MANAGED_BY, PART_OF, SHOOT_UID};
use serde_json::{Map, Value, json};

/// Nobody in particular, as in the images of Kubernetes.
const USER: u32 = 65532;

/// A container, and what it asks for at least: processors and memory.
pub(crate) fn container(
    context: &Context,
    component: &str,
    command: Vec<String>,
    requests: (&str, &str),
    volumes: &[&Volume],
) -> Value {
    let mounts: Value = volumes.iter().map(|it| it.mount()).collect();
    json!({
        "name": component,
        "image": image(context.shoot, component),
        "command": command,
        "resources": { "requests": { "cpu": requests.0, "memory": requests.1 } },
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "capabilities": { "drop": ["ALL"] },
            "readOnlyRootFilesystem": true,
        },
        // Who looks for a cause reads there what a program that crashed said last.
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": mounts,
    })
}

/// An HTTPS or HTTP probe that the kubelet does every `period` seconds until so many have failed.
pub(crate) fn probe(scheme: &str, port: u16, path: &str, period: u32, failures: u32) -> Value {
    json!({
        "httpGet": { "path": path, "port": port, "scheme": scheme },
        "periodSeconds": period,
        "timeoutSeconds": 10,
        "failureThreshold": failures,
    })
}

/// The pods of one part.
#[derive(Debug)]
pub(crate) struct Pods<'a> {
    pub(crate) part: &'static str,
    pub(crate) replicas: u32,
    pub(crate) containers: Vec<Value>,
    /// Native ones: started before the containers, and ended after them.
    pub(crate) sidecars: Vec<Value>,
    pub(crate) volumes: &'a [Volume],
    /// Only what talks to the provider has an account there.
    pub(crate) account: Option<String>,
    /// Seconds that a pod has to end.
    pub(crate) grace: u32,
}

impl Pods<'_> {
    /// A Deployment, and a budget where there is something to keep.
    pub(crate) fn deployment(&self, context: &Context) -> Vec<Value> {
        let deployment = json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": { "name": context.name(self.part) },
            "spec": {
                "replicas": self.replicas,
                "revisionHistoryLimit": 2,
                "selector": { "matchLabels": context.selector(self.part) },
                "strategy": {
                    "type": "RollingUpdate",
                    "rollingUpdate": { "maxSurge": 1, "maxUnavailable": 0 },
                },
                "template": self.template(context, Some("pod-template-hash")),
            },
        });
        let budget = budget(context, self.part, self.replicas);
        [deployment].into_iter().chain(budget).collect()
    }

    /// `revision` is the label that the pods of one template share.
    pub(crate) fn template(&self, context: &Context, revision: Option<&str>) -> Value {
        let checksums: Map<String, Value> =
            self.volumes.iter().filter_map(Volume::checksum).collect();
        let volumes: Value = self.volumes.iter().filter_map(Volume::of_pod).collect();
        let mut spec = json!({
            "automountServiceAccountToken": self.account.is_some(),
            "containers": self.containers,
            "enableServiceLinks": false,
            "securityContext": {
                "runAsNonRoot": true,
                "runAsUser": USER,
                "runAsGroup": USER,
                "fsGroup": USER,
                "fsGroupChangePolicy": "OnRootMismatch",
                "seccompProfile": { "type": "RuntimeDefault" },
            },
            "terminationGracePeriodSeconds": self.grace,
            "volumes": volumes,
        });
        if !self.sidecars.is_empty() {
            spec["initContainers"] = json!(self.sidecars);
        }
        if let Some(account) = &self.account {
            spec["serviceAccountName"] = json!(account);
        }
        let secrets = &context.shoot.control_plane.pull_secrets;
        if !secrets.is_empty() {
            spec["imagePullSecrets"] = secrets.iter().map(|it| json!({ "name": it })).collect();
        }
        let spread = spread(context, self.part, self.replicas, revision);
        if !spread.is_empty() {
            spec["topologySpreadConstraints"] = json!(spread);
        }
        json!({
            "metadata": {
                "labels": labels(context, self.part),
                "annotations": checksums,
            },
            "spec": spec,
        })
    }
}

/// Of what controllers of the provider make for us: found by them when the shoot goes.
pub(crate) fn labels(context: &Context, part: &str) -> Value {
    json!({
        MANAGED_BY: KVSHOOT,
        PART_OF: context.shoot.id,
        COMPONENT: part,
        SHOOT_UID: context.site.uid,
    })
}
