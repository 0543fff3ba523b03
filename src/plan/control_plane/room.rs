//! Resources that a control plane requests which does not exist yet, for the comparison with quotas.

use super::control_plane_context;
use crate::model::Quantity;
use crate::render::control_plane::known::known;
use crate::render::control_plane::workloads;
use crate::state::facts::Facts;
use crate::state::key::{ObjectKey, ObjectKind};
use crate::validate::ValidShoot;
use serde_json::Value;

/// The pods of a workload that is to be created.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct WorkloadRequest {
    pub(crate) pods: f64,
    /// In all pods, by the name that quotas have for it: `requests.cpu`, `limits.memory`…
    pub(crate) amounts: Vec<(String, f64)>,
    /// Storage of one volume per pod, in bytes, and its class; None without volumes.
    pub(crate) volume: Option<(f64, String)>,
}

pub(crate) fn requested(shoot: &ValidShoot, facts: &Facts) -> Vec<WorkloadRequest> {
    let known = known(shoot, facts);
    let context = control_plane_context(shoot, facts, &known);
    let components = workloads(&context).into_iter();
    let objects = components.flat_map(|it| it.objects);
    let is_new = |object: &Value| {
        let kind = object["kind"].as_str().and_then(ObjectKind::generic);
        let name = object["metadata"]["name"].as_str();
        kind.zip(name).is_some_and(|(kind, name)| {
            let key = ObjectKey::provider(kind, name);
            !facts.objects.contains_key(&key)
        })
    };
    objects
        .filter(|it| it["spec"]["template"].is_object() && is_new(it))
        .map(|it| request(&it))
        .collect()
}

fn request(workload: &Value) -> WorkloadRequest {
    let spec = &workload["spec"];
    let pods = spec["replicas"].as_f64().unwrap_or(1.0);
    let pod = &spec["template"]["spec"];
    let mut amounts = Vec::new();
    // Sidecars run beside the containers, so their requests add up.
    let lists = [&pod["containers"], &pod["initContainers"]];
    for container in lists.into_iter().filter_map(Value::as_array).flatten() {
        for list in ["requests", "limits"] {
            let of_list = container["resources"][list].as_object();
            for (resource, amount) in of_list.into_iter().flatten() {
                let amount = pods * value(amount);
                amounts.push((format!("{list}.{resource}"), amount));
            }
        }
    }
    let claim = &spec["volumeClaimTemplates"][0]["spec"];
    let class = claim["storageClassName"].as_str().unwrap_or_default();
    let size = &claim["resources"]["requests"]["storage"];
    WorkloadRequest {
        pods,
        amounts,
        volume: size.is_string().then(|| (value(size), class.to_owned())),
    }
}

fn value(amount: &Value) -> f64 {
    let parsed = amount.as_str().and_then(|it| Quantity::parse(it).ok());
    parsed.map_or(0.0, |it| it.value)
}
