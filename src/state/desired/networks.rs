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
    /// Its CNI plugin gives no addresses, so that a machine gets one only if the network itself has a DHCP server.
    pub(crate) is_without_addresses: bool,
}

/// CNI plugins whose addresses, if there are any, are those of their `ipam` plugin.
const WITH_IPAM: [&str; 7] = [
    "bridge",
    "cnv-bridge",
    "host-device",
    "macvlan",
    "ovs",
    "sriov",
    "vlan",
];

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
                is_without_addresses: is_without_addresses(config),
            }
        }
        Network::Shared { name, namespace } => {
            let reference: Arc<str> = format!(
                "{}/{name}",
                namespace.as_deref().unwrap_or(&facts.namespace)
            )
            .into();
            let config = facts.shared_networks.get(&reference);
            let config = config.and_then(Option::as_deref);
            let hash = config.map(config_hash).unwrap_or_default();
            // The same name in another namespace is another network, even of the same configuration.
            let elsewhere = namespace.as_deref().filter(|it| **it != *facts.namespace);
            let hash = elsewhere.map_or(hash, |it| Hash::of(&(it, hash.to_string())));
            NetworkAttachment {
                reference,
                default: false,
                hash,
                is_without_addresses: config.is_some_and(is_without_addresses),
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

fn is_without_addresses(config: &str) -> bool {
    let config: Value = serde_json::from_str(config).unwrap_or_default();
    // The first plugin of a list connects the machine.
    let plugin = config["plugins"].get(0).unwrap_or(&config);
    let kind = plugin["type"].as_str().unwrap_or_default();
    let ipam = plugin["ipam"]["type"].as_str().unwrap_or_default();
    WITH_IPAM.contains(&kind) && ipam.is_empty()
}

#[cfg(test)]
mod tests {
    use super::is_without_addresses;

    #[test]
    fn only_plugins_that_use_ipam_are_without_addresses_if_they_have_none() {
        for (config, expected) in [
            (r#"{"type": "bridge", "vlan": 42}"#, true),
            (r#"{"type": "bridge", "ipam": {}}"#, true),
            (
                r#"{"plugins": [{"type": "macvlan"}, {"type": "tuning"}]}"#,
                true,
            ),
            (r#"{"type": "bridge", "ipam": {"type": "dhcp"}}"#, false),
            (
                r#"{"plugins": [{"type": "sriov", "ipam": {"type": "whereabouts"}}]}"#,
                false,
            ),
            (
                r#"{"type": "ovn-k8s-cni-overlay", "subnets": "10.9.0.0/16"}"#,
                false,
            ),
            ("", false),
        ] {
            assert_eq!(is_without_addresses(config), expected, "{config}");
        }
    }
}
