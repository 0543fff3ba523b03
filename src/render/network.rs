//! NetworkAttachmentDefinitions of tenant networks.

use crate::render::metadata::metadata;
use crate::state::hash::Hash;
use crate::state::names::{self, role};
use crate::state::site::Site;
use crate::validate::{Network, ValidShoot};
use serde_json::{Value, json};

/// The NetworkAttachmentDefinition of that name, with its configuration verbatim.
pub(crate) fn object(
    shoot: &ValidShoot,
    site: &Site,
    object_name: &str,
    hash: Hash,
) -> Option<Value> {
    let config = shoot.networks.iter().find_map(|network| match network {
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
