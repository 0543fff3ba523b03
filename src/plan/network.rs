//! Items of networks: shared ones must exist, tenant ones are created.

use crate::plan::planner::{Planner, present};
use crate::state::action::{Desired, Payload};
use crate::state::desired::{NetworkAttachment, config_hash};
use crate::state::failure::{ErrorClass, Failure};
use crate::state::key::{ObjectKey, ObjectKind};
use crate::state::names;
use crate::state::plan::{Dependency, ItemKind, ItemState};
use crate::validate::{Network, ValidShoot};

/// An item for each network, in the order of the attachments.
pub(crate) fn add(
    planner: &mut Planner,
    shoot: &ValidShoot,
    attachments: &[NetworkAttachment],
    record: Dependency,
) -> Vec<Dependency> {
    let pairs = shoot.networks.iter().zip(attachments);
    pairs
        .map(|(network, attachment)| add_one(planner, shoot, network, attachment, record))
        .collect()
}

fn add_one(
    planner: &mut Planner,
    shoot: &ValidShoot,
    network: &Network,
    attachment: &NetworkAttachment,
    record: Dependency,
) -> Dependency {
    let observed = planner.observed;
    match network {
        Network::Tenant { name, config, .. } => {
            let wanted = wanted(shoot, name, config);
            let state = present(observed, wanted, |_| ItemState::Done);
            planner.add(
                ItemKind::Network(name.as_str().into()),
                format!("Apply network {name}"),
                [record],
                state,
            )
        }
        Network::Shared { .. } => {
            let reference = &attachment.reference;
            let state = match observed.facts.shared_networks.get(reference) {
                Some(Some(_)) => ItemState::Done,
                _ => ItemState::Failed(Failure::new(
                    ErrorClass::Missing,
                    format!(
                        "NetworkAttachmentDefinition {reference} not found in the provider cluster"
                    ),
                )),
            };
            planner.add(
                ItemKind::Network(reference.as_ref().into()),
                format!("Check shared network {reference}"),
                [],
                state,
            )
        }
    }
}

fn wanted(shoot: &ValidShoot, name: &str, config: &str) -> Desired {
    let key = ObjectKey::provider(
        ObjectKind::NetworkAttachmentDefinition,
        names::tenant_network(&shoot.id, name),
    );
    Desired {
        key,
        hash: config_hash(config),
        payload: Payload::Plain,
    }
}
