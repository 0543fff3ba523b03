//! Networks: shared ones are looked for, tenant ones are made.

use crate::plan::planner::{Planner, present};
use crate::state::action::{Content, Wanted};
use crate::state::desired::{Attachment, config_hash};
use crate::state::failure::{Class, Failure};
use crate::state::key::{Key, Kind};
use crate::state::names;
use crate::state::plan::{Need, State};
use crate::validate::{Network, ValidShoot};

/// An item for each network, in the order of the attachments.
pub(crate) fn add(
    planner: &mut Planner,
    shoot: &ValidShoot,
    attachments: &[Attachment],
    record: Need,
) -> Vec<Need> {
    let pairs = shoot.networks.iter().zip(attachments);
    pairs
        .map(|(network, attachment)| add_one(planner, shoot, network, attachment, record))
        .collect()
}

fn add_one(
    planner: &mut Planner,
    shoot: &ValidShoot,
    network: &Network,
    attachment: &Attachment,
    record: Need,
) -> Need {
    let observed = planner.observed;
    match network {
        Network::Tenant { name, config, .. } => {
            let wanted = wanted(shoot, name, config);
            let state = present(observed, wanted, |_| State::Done);
            planner.add(
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
                    format!("there is no NetworkAttachmentDefinition {reference}"),
                )),
            };
            planner.add(
                format!("network/{reference}").into(),
                format!("Find shared network {reference}"),
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
