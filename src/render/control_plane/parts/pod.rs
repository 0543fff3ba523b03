//! Common settings of all control plane pods: they comply with the `restricted` Pod Security Standard, roll when a file
//! changes, and follow the shoot's failure tolerance.

use super::replicas::{budget, spread};
use super::resources::resources;
use super::volume::PodVolume;
use crate::render::control_plane::context::ControlPlaneContext;
use crate::render::images::image;
use crate::state::names::{COMPONENT, KVSHOOT, MANAGED_BY, PART_OF, SHOOT_UID};
use serde_json::{Map, Value, json};

/// An unprivileged user, the same as in the Kubernetes images.
const USER: u32 = 65532;

/// A container with its CPU and memory requests.
pub(crate) fn container(
    context: &ControlPlaneContext,
    component: &str,
    command: Vec<String>,
    requests: (&str, &str),
    volumes: &[&PodVolume],
) -> Value {
    let mounts: Value = volumes.iter().map(|it| it.mount()).collect();
    json!({
        "name": component,
        "image": image(context.shoot, component),
        "command": command,
        "resources": resources(context.rules, requests),
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
pub(crate) fn probe(scheme: &str, port: u16, path: &str, period: u32, failures: u32) -> Value {
    json!({
        "httpGet": { "path": path, "port": port, "scheme": scheme },
        "periodSeconds": period,
        "timeoutSeconds": 10,
        "failureThreshold": failures,
    })
}

/// The pods of one component.
#[derive(Debug)]
pub(crate) struct Pods<'a> {
    pub(crate) part: &'static str,
    pub(crate) replicas: u32,
    pub(crate) containers: Vec<Value>,
    /// Native sidecars: started before the containers and stopped after them.
    pub(crate) sidecars: Vec<Value>,
    pub(crate) volumes: &'a [PodVolume],
    /// Service account, only for components that call the provider's API.
    pub(crate) account: Option<String>,
    /// Termination grace period in seconds.
    pub(crate) grace: u32,
}

impl Pods<'_> {
    /// True if every container gets the token of the service account, because no volume gives it to some.
    fn automounts_token(&self) -> bool {
        self.account.is_some() && !self.volumes.iter().any(PodVolume::is_token)
    }

    /// A Deployment, and a disruption budget if it has several replicas.
    pub(crate) fn deployment(&self, context: &ControlPlaneContext) -> Vec<Value> {
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
    pub(crate) fn template(&self, context: &ControlPlaneContext, revision: Option<&str>) -> Value {
        let checksums: Map<String, Value> = self
            .volumes
            .iter()
            .filter_map(PodVolume::checksum)
            .collect();
        let volumes: Value = self.volumes.iter().filter_map(PodVolume::of_pod).collect();
        let mut spec = json!({
            "automountServiceAccountToken": self.automounts_token(),
            "containers": self.containers,
            "enableServiceLinks": false,
            "securityContext": security(context.rules.assigns_users),
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
        if let Some(class) = &context.shoot.control_plane.priority_class {
            spec["priorityClassName"] = json!(class);
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

/// `assigns_users` leaves the user to the provider cluster.
fn security(assigns_users: bool) -> Value {
    let mut security = json!({
        "runAsNonRoot": true,
        "seccompProfile": { "type": "RuntimeDefault" },
    });
    if !assigns_users {
        for field in ["runAsUser", "runAsGroup", "fsGroup"] {
            security[field] = json!(USER);
        }
        security["fsGroupChangePolicy"] = json!("OnRootMismatch");
    }
    security
}

/// Labels of objects that the provider's controllers create for a component, used to find them on deletion.
pub(crate) fn labels(context: &ControlPlaneContext, part: &str) -> Value {
    json!({
        MANAGED_BY: KVSHOOT,
        PART_OF: context.shoot.id,
        COMPONENT: part,
        SHOOT_UID: context.site.uid,
    })
}
