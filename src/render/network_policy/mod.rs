//! NetworkPolicies around machines and importers, in the way of Kubermatic, and those that people write.
//!
//! What is selected by none of them may connect to anything; what is selected, to what one of them allows. The pods of
//! the control plane have policies of their own.

mod egress;
#[cfg(test)]
mod evaluate;
#[cfg(test)]
mod tests;

use crate::model::CustomNetworkPolicy;
use crate::render::component::Component;
use crate::render::control_plane::context::Known;
use crate::state::json::given;
use crate::state::names::{self, COMPONENT, PART_OF, part, role};
use crate::validate::ValidShoot;
use serde_json::{Value, json};

pub(crate) fn general(shoot: &ValidShoot) -> Option<Component> {
    let policies = &shoot.network_policies;
    let importer = policies.default.then(|| importer(shoot));
    let custom = policies.custom.iter().map(|it| custom(shoot, it));
    let objects: Vec<Value> = importer.into_iter().chain(custom).collect();
    (!objects.is_empty()).then(|| Component {
        name: "network-policies",
        title: "Apply the network policies".into(),
        objects,
    })
}

pub(crate) fn isolation(shoot: &ValidShoot, known: &Known) -> Option<Component> {
    shoot.network_policies.default.then(|| Component {
        name: part::ISOLATION,
        title: "Isolate the machines".into(),
        objects: vec![machines(shoot, known)],
    })
}

/// Of what machines open: what is opened to them stays open, or load balancers would lead nowhere.
fn machines(shoot: &ValidShoot, known: &Known) -> Value {
    let rules = [
        Some(egress::own_pods(&shoot.id)),
        Some(egress::world()),
        egress::api_server(known),
        egress::nameservers(shoot),
        Some(egress::dns_pods()),
        Some(egress::dns_of_host()),
    ];
    let mirrors = egress::mirrors(shoot);
    object(
        shoot,
        part::ISOLATION,
        json!({
            // KubeVirt hands the labels of a machine on to its pod.
            "podSelector": { "matchLabels": { PART_OF: shoot.id, COMPONENT: role::MACHINE } },
            "policyTypes": ["Egress"],
            "egress": rules.into_iter().flatten().chain(mirrors).collect::<Value>(),
        }),
    )
}

/// Importers bear no mark of whom they import for: those of others in the namespace are meant too.
fn importer(shoot: &ValidShoot) -> Value {
    let rules = [
        egress::image_repositories(),
        egress::world(),
        egress::dns_pods(),
        egress::dns_of_host(),
    ];
    let images = egress::images(shoot);
    object(
        shoot,
        part::IMPORTER,
        json!({
            "podSelector": { "matchLabels": {
                "app": "containerized-data-importer",
                "cdi.kubevirt.io": "importer",
            } },
            "policyTypes": ["Egress"],
            "egress": rules.into_iter().chain(images).collect::<Value>(),
        }),
    )
}

fn custom(shoot: &ValidShoot, policy: &CustomNetworkPolicy) -> Value {
    let mut spec = given(&policy.spec);
    if spec["podSelector"].is_null() {
        // Older API servers want it to be there.
        spec["podSelector"] = json!({});
    }
    object(shoot, &policy.name, spec)
}

fn object(shoot: &ValidShoot, name: &str, spec: Value) -> Value {
    json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": { "name": names::network_policy(&shoot.id, name) },
        "spec": spec,
    })
}
