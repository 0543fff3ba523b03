//! Networks: shared ones are checked, tenant ones are created.

use super::desired::{Attachment, config_hash};
use super::item::{Class, Content, Failure, Key, Kind, Need, Plan, State, Wanted};
use super::names::role;
use super::object::metadata;
use super::observed::Observed;
use super::{Hash, Site, names, present};
use crate::validate::{Network, ValidShoot};
use serde_json::{Value, json};

/// An item for each network, in the order of the attachments.
pub(super) fn add(
    plan: &mut Plan,
    shoot: &ValidShoot,
    observed: &Observed,
    attachments: &[Attachment],
    record: Need,
) -> Vec<Need> {
    let pairs = shoot.networks.iter().zip(attachments);
    pairs
        .map(|(network, attachment)| add_one(plan, shoot, observed, network, attachment, record))
        .collect()
}

fn add_one(
    plan: &mut Plan,
    shoot: &ValidShoot,
    observed: &Observed,
    network: &Network,
    attachment: &Attachment,
    record: Need,
) -> Need {
    match network {
        Network::Tenant { name, config, .. } => {
            let wanted = wanted(shoot, name, config);
            let state = present(observed, wanted, |_| State::Done);
            plan.add(
                observed,
                format!("network/{name}").into(),
                format!("Apply network {name}"),
                [record],
                state,
            )
        }
        Network::Shared { .. } => {
            let reference = &attachment.reference;
            let state = match observed.facts.shared.get(reference) {
                Some(Some(_)) => State::Done,
                _ => State::Failed(Failure::new(
                    Class::Missing,
                    format!("NetworkAttachmentDefinition {reference} not found"),
                )),
            };
            plan.add(
                observed,
                format!("network/{reference}").into(),
                format!("Check shared network {reference}"),
                [],
                state,
            )
        }
    }
}

fn wanted(shoot: &ValidShoot, name: &str, config: &str) -> Wanted {
    let key = Key::provider(Kind::Network, names::tenant_network(&shoot.id, name));
    Wanted {
        key,
        hash: config_hash(config),
        content: Content::Plain,
    }
}

/// The NetworkAttachmentDefinition with this name, with its configuration unchanged.
pub(super) fn object(
    shoot: &ValidShoot,
    site: &Site,
    object_name: &str,
    hash: Hash,
) -> Option<Value> {
    let config = shoot.networks.iter().find_map(|it| match it {
        Network::Tenant { name, config, .. }
            if names::tenant_network(&shoot.id, name) == object_name =>
        {
            Some(config)
        }
        _ => None,
    })?;
    Some(json!({
        "apiVersion": "k8s.cni.cncf.io/v1",
        "kind": "NetworkAttachmentDefinition",
        "metadata": metadata(site, role::NETWORK, object_name, hash),
        "spec": { "config": config },
    }))
}
