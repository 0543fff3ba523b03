//! Networks that machines attach to.

use crate::state::facts::Facts;
use crate::state::hash::Hash;
use crate::state::names;
use crate::validate::{Network, ValidShoot};
use serde_json::Value;
use std::sync::Arc;

/// A network that machines attach to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NetworkAttachment {
    /// `namespace/name` of the NetworkAttachmentDefinition.
    pub(crate) reference: Arc<str>,
    pub(crate) default: bool,
    /// Hash of its configuration. Zero while unknown.
    pub(crate) hash: Hash,
}

pub(crate) fn attachments(shoot: &ValidShoot, facts: &Facts) -> Vec<NetworkAttachment> {
    shoot
        .networks
        .iter()
        .map(|it| attachment(shoot, facts, it))
        .collect()
}

fn attachment(shoot: &ValidShoot, facts: &Facts, network: &Network) -> NetworkAttachment {
    match network {
        Network::Tenant {
            name,
            config,
            default,
        } => {
            let name = names::tenant_network(&shoot.id, name);
            NetworkAttachment {
                reference: format!("{}/{name}", facts.namespace).into(),
                default: *default,
                hash: config_hash(config),
            }
        }
        Network::Shared { name, namespace } => {
            let reference: Arc<str> = format!(
                "{}/{name}",
                namespace.as_deref().unwrap_or(&facts.namespace)
            )
            .into();
            let config = facts
                .shared_networks
                .get(&reference)
                .and_then(Option::as_deref)
                .map(config_hash)
                .unwrap_or_default();
            // The same name in another namespace is another network, even of the same configuration.
            let elsewhere = namespace.as_deref().filter(|it| **it != *facts.namespace);
            let hash = elsewhere.map_or(config, |it| Hash::of(&(it, config.to_string())));
            NetworkAttachment {
                reference,
                default: false,
                hash,
            }
        }
    }
}

/// Hash of a CNI configuration. Texts with equal JSON have equal hashes.
pub(crate) fn config_hash(config: &str) -> Hash {
    match serde_json::from_str::<Value>(config) {
        Ok(value) => Hash::of(&value),
        Err(_) => Hash::of(&config),
    }
}
