//! Objects in the provider cluster that a shoot uses and does not own.

use crate::cluster::{ApiClient, ProviderContext};
use crate::state::prerequisite;
use crate::validate::{Network, ValidShoot};
use std::sync::Arc;

/// Objects that a shoot uses and does not own.
pub(crate) fn external_objects(shoot: &ValidShoot, provider: &ApiClient) -> ProviderContext {
    let config = &shoot.profile.spec.provider_config;
    ProviderContext {
        networks: shared_networks(shoot, provider),
        prerequisites: prerequisite::of(shoot, provider.namespace()),
        templates: config.template_namespace.as_deref().map(Arc::from),
        is_deletion: false,
        health: Arc::default(),
    }
}

/// Networks of other owners, as `namespace/name`.
fn shared_networks(shoot: &ValidShoot, provider: &ApiClient) -> Vec<Arc<str>> {
    let reference = |network: &Network| match network {
        Network::Shared { name, namespace } => {
            let namespace = namespace.as_deref().unwrap_or(provider.namespace());
            Some(format!("{namespace}/{name}").into())
        }
        Network::Tenant { .. } => None,
    };
    shoot.networks.iter().filter_map(reference).collect()
}
