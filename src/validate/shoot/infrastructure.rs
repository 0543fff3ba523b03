//! The networks that the machines are attached to.

use std::collections::HashMap;

use super::cni;
use crate::model::{FindingKind, TenantNetwork};
use crate::validate::context::Input;
use crate::validate::names;
use crate::validate::report::{FieldCursor, FindingSink};
use crate::validate::valid_shoot::Network;

/// Tenant networks in the order of the manifest, followed by shared ones.
pub(crate) fn check(
    input: &Input,
    id: &str,
    at: &FieldCursor,
    report: &mut FindingSink,
) -> Vec<Network> {
    let config = input.shoot.spec.provider.infrastructure_config.as_ref();
    let Some(networks) = config.and_then(|it| it.networks.as_ref()) else {
        return Vec::new();
    };
    let at = &at.key("networks");
    tenant(
        &networks.tenant_networks,
        id,
        &at.key("tenantNetworks"),
        report,
    );
    let at_shared = &at.key("sharedNetworks");
    let mut known = HashMap::new();
    for (i, shared) in networks.shared_networks.iter().enumerate() {
        let at = &at_shared.index(i);
        let namespace = shared.namespace.as_deref().filter(|it| !it.is_empty());
        if !shared.name.is_empty() && !names::is_dns_subdomain(&shared.name) {
            let message = format!("{:?} is not a valid object name", shared.name);
            report
                .error(
                    &at.key("name"),
                    FindingKind::Invalid,
                    "network/name",
                    message,
                )
                .hint(names::DNS_LABEL);
        }
        if let Some(namespace) = namespace.filter(|it| !names::is_dns_label(it)) {
            let message = format!("{namespace:?} is not a valid namespace name");
            report
                .error(
                    &at.key("namespace"),
                    FindingKind::Invalid,
                    "network/namespace",
                    message,
                )
                .hint(names::DNS_LABEL);
        }
        if let Some(first) = known
            .insert((namespace, shared.name.as_str()), i)
            .filter(|_| !shared.name.is_empty())
        {
            let message = format!("duplicate shared network {:?}", shared.name);
            report
                .error(at, FindingKind::Duplicate, "network/duplicate", message)
                .see(&at_shared.index(first), "first defined here");
        }
    }
    let tenants = networks
        .tenant_networks
        .iter()
        .map(|network| Network::Tenant {
            name: network.name.clone(),
            config: network.config.clone(),
            default: network.default,
        });
    let shared = networks
        .shared_networks
        .iter()
        .map(|network| Network::Shared {
            name: network.name.clone(),
            namespace: network.namespace.clone().filter(|it| !it.is_empty()),
        });
    tenants.chain(shared).collect()
}

fn tenant(networks: &[TenantNetwork], id: &str, at: &FieldCursor, report: &mut FindingSink) {
    let mut known = HashMap::new();
    let mut default = None;
    for (i, network) in networks.iter().enumerate() {
        let at_one = &at.index(i);
        name(&network.name, id, &at_one.key("name"), report);
        if let Some(first) = known
            .insert(network.name.as_str(), i)
            .filter(|_| !network.name.is_empty())
        {
            let message = format!("duplicate tenant network {:?}", network.name);
            report
                .error(at_one, FindingKind::Duplicate, "network/duplicate", message)
                .see(&at.index(first), "first defined here");
        }
        cni::check(&network.config, &at_one.key("config"), report);
        if !network.default {
            continue;
        }
        if let Some(first) = default.replace(i) {
            report
                .error(
                    &at_one.key("default"),
                    FindingKind::Invalid,
                    "network/second-default",
                    "only one tenant network can be the default",
                )
                .see(&at.index(first).key("default"), "first defined here");
        }
    }
}

/// Checks the network name, which follows the technical ID in the object name.
fn name(name: &str, id: &str, at: &FieldCursor, report: &mut FindingSink) {
    let length = id.len() + 1 + name.len();
    if !name.is_empty() && !names::is_dns_label(name) {
        let message = format!("{name:?} is not a valid DNS label");
        report
            .error(at, FindingKind::Invalid, "network/name", message)
            .hint(names::DNS_LABEL);
    } else if length > names::MAX_NAME {
        let message = format!(
            "object name {id}-{name} must be at most {} characters (is {length})",
            names::MAX_NAME
        );
        report.error(at, FindingKind::TooLong, "network/name-too-long", message);
    }
}
