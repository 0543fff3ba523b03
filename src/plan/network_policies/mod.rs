//! NetworkPolicies for machines and importers, following Kubermatic's, and the user's own policies.
//!
//! Pods that no policy selects may connect to anything; selected pods only to what one of the policies allows. The
//! control plane's pods have their own policies.

mod egress;
#[cfg(test)]
mod evaluate;
#[cfg(test)]
mod tests;

use super::component::Component;
use super::control_plane::{ControlPlane, Known, site};
use super::item::{Need, Plan, Side};
use super::names::{self, COMPONENT, PART_OF, part, role};
use super::object::given;
use super::observed::Observed;
use crate::model::CustomNetworkPolicy;
use crate::validate::ValidShoot;
use serde_json::{Value, json};

/// Policies without dependencies, which are applied before anything is imported.
pub(super) fn add(
    plan: &mut Plan,
    shoot: &ValidShoot,
    observed: &Observed,
    record: Need,
) -> Option<Need> {
    let component = general(shoot)?;
    let site = site(shoot, &observed.facts);
    Some(component.add(plan, observed, Side::Provider, &site, [record]))
}

/// The policy of the machines, which is applied before the first machine is created.
pub(super) fn isolate(
    plan: &mut Plan,
    shoot: &ValidShoot,
    observed: &Observed,
    cluster: &ControlPlane,
) -> Option<Need> {
    let component = isolation(shoot, &cluster.known)?;
    let site = site(shoot, &observed.facts);
    Some(component.add(plan, observed, Side::Provider, &site, [cluster.services]))
}

fn general(shoot: &ValidShoot) -> Option<Component> {
    let policies = &shoot.network_policies;
    let importer = policies.default.then(|| importer(shoot));
    let custom = policies.custom.iter().map(|it| custom(shoot, it));
    let objects: Vec<Value> = importer.into_iter().chain(custom).collect();
    (!objects.is_empty()).then(|| Component {
        name: "network-policies",
        title: "Apply network policies".into(),
        objects,
    })
}

fn isolation(shoot: &ValidShoot, known: &Known) -> Option<Component> {
    shoot.network_policies.default.then(|| Component {
        name: part::ISOLATION,
        title: "Apply network policy of machines".into(),
        objects: vec![machines(shoot, known)],
    })
}

/// Restricts only connections from machines: load balancers need the opposite direction.
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

/// Importers carry no label of the shoot, so this policy applies to all importers in the namespace.
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
        // Older API servers require the field.
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
