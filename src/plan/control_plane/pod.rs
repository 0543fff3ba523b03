//! Common settings of all control plane pods: they comply with the `restricted` Pod Security Standard, roll when a file
//! changes, and follow the shoot's failure tolerance.

use super::Context;
use super::availability::{budget, spread};
use super::volume::Volume;
use crate::plan::images::image;
use crate::plan::names::{COMPONENT, KVSHOOT, MANAGED_BY, PART_OF, SHOOT_UID};
use serde_json::{Map, Value, json};

/// An unprivileged user, the same as in the Kubernetes images.
const USER: u32 = 65532;

/// A container with its CPU and memory requests.
pub(super) fn container(
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
        // Shows the last log lines of a crashed program in the pod's status.
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": mounts,
    })
}

/// An HTTPS or HTTP probe every `period` seconds with this failure threshold.
pub(super) fn probe(scheme: &str, port: u16, path: &str, period: u32, failures: u32) -> Value {
    json!({
        "httpGet": { "path": path, "port": port, "scheme": scheme },
        "periodSeconds": period,
        "timeoutSeconds": 10,
        "failureThreshold": failures,
    })
}

/// The pods of one component.
#[derive(Debug)]
pub(super) struct Pods<'a> {
    pub(super) part: &'static str,
    pub(super) replicas: u32,
    pub(super) containers: Vec<Value>,
    /// Native sidecars: started before the containers and stopped after them.
    pub(super) sidecars: Vec<Value>,
    pub(super) volumes: &'a [Volume],
    /// Service account, only for components that call the provider's API.
    pub(super) account: Option<String>,
    /// Termination grace period in seconds.
    pub(super) grace: u32,
}

impl Pods<'_> {
    /// A Deployment, and a disruption budget if it has several replicas.
    pub(super) fn deployment(&self, context: &Context) -> Vec<Value> {
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
    pub(super) fn template(&self, context: &Context, revision: Option<&str>) -> Value {
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

/// Labels of objects that the provider's controllers create for a component, used to find them on deletion.
pub(super) fn labels(context: &Context, part: &str) -> Value {
    json!({
        MANAGED_BY: KVSHOOT,
        PART_OF: context.shoot.id,
        COMPONENT: part,
        SHOOT_UID: context.site.uid,
    })
}
