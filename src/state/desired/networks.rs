//! Networks as machines are attached to them.

use crate::state::facts::Facts;
use crate::state::hash::Hash;
use crate::state::names;
use crate::validate::{Network, ValidShoot};
use serde_json::Value;
use std::sync::Arc;

/// A network as machines are attached to it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Attachment {
    /// `namespace/name` of the NetworkAttachmentDefinition.
    pub(crate) reference: Arc<str>,
    pub(crate) default: bool,
    /// Of its configuration; zero while that is not known.
    pub(crate) hash: Hash,
}

pub(crate) fn attachments(shoot: &ValidShoot, facts: &Facts) -> Vec<Attachment> {
    shoot
        .networks
        .iter()
        .map(|it| attachment(shoot, facts, it))
        .collect()
}

fn attachment(shoot: &ValidShoot, facts: &Facts, network: &Network) -> Attachment {
    match network {
        Network::Tenant {
            name,
            config,
            default,
        } => {
            let name = names::tenant_network(&shoot.id, name);
            Attachment {
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
                .shared
                .get(&reference)
                .and_then(Option::as_deref)
                .map(config_hash)
                .unwrap_or_default();
            // The same name in another namespace is another network, even of the same configuration.
            let elsewhere = namespace.as_deref().filter(|it| **it != *facts.namespace);
            let hash = elsewhere.map_or(config, |it| Hash::of(&(it, config.to_string())));
            Attachment {
                reference,
                default: false,
                hash,
            }
        }
    }
}

/// Two texts that are the same JSON are the same network.
pub(crate) fn config_hash(config: &str) -> Hash {
    match serde_json::from_str::<Value>(config) {
        Ok(value) => Hash::of(&value),
        Err(_) => Hash::of(&config),
    }
}
