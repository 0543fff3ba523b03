//! Objects that the preflight of an upgrade reads in a shoot. It writes nothing.

mod deprecated;
mod metrics;

use super::client::error::Error;
use super::client::request::ResourceRef;
use super::client::resources::{self, Resource};
use super::objects::api_service::PartialApiService;
use super::objects::core::pod::PartialPod;
use super::objects::metadata::PartialObject;
use super::objects::reader::{read, read_valid};
use super::objects::user_resources::definition::PartialDefinition;
use super::objects::user_resources::disruption_budget::PartialDisruptionBudget;
use super::objects::user_resources::endpoint_slice::PartialEndpointSlice;
use super::objects::user_resources::webhook::PartialWebhookConfiguration;
use crate::cluster::client::api_client::ApiClient;
use crate::state::upgrade::{
    BudgetPod, ObservedBudget, ObservedWebhook, StoredVersion, UpgradeFacts,
};
use futures::future::{try_join, try_join4};
use serde_json::Value;
use std::collections::BTreeSet;

impl ApiClient {
    /// Reads what an upgrade of a shoot depends on, from all replicas of its API server.
    ///
    /// # Errors
    ///
    /// The shoot is not reachable.
    pub(crate) async fn upgrade_facts(&self, id: &str) -> Result<UpgradeFacts, Error> {
        // These are forgotten when an API server restarts, so they are read from the servers that run now.
        let requested_apis = deprecated::requested(&self.shoot_replicas(id).await?).await?;
        let shoot = self.shoot_client(id).await?;
        let (stored_versions, unavailable_services, webhooks, budgets) = try_join4(
            stored_versions(&shoot),
            unavailable_services(&shoot),
            webhooks(&shoot),
            budgets(&shoot),
        )
        .await?;
        Ok(UpgradeFacts {
            requested_apis,
            stored_versions,
            unavailable_services,
            webhooks,
            budgets,
        })
    }
}

async fn list(shoot: &ApiClient, resource: &'static Resource) -> Result<Vec<Value>, Error> {
    let listed = shoot.list(ResourceRef::all(resource, None), None).await?;
    Ok(listed.items)
}

async fn stored_versions(shoot: &ApiClient) -> Result<Vec<StoredVersion>, Error> {
    let resource = &resources::CUSTOM_RESOURCE_DEFINITION;
    let items = list(shoot, resource).await?;
    let definitions: Vec<PartialDefinition> = read_valid(resource, &items);
    let stored = definitions.iter().flat_map(|it| {
        it.unserved().map(|version| StoredVersion {
            definition: it.metadata.name.clone(),
            version: version.clone(),
        })
    });
    Ok(stored.collect())
}

async fn unavailable_services(shoot: &ApiClient) -> Result<Vec<(String, String)>, Error> {
    let items = list(shoot, &resources::API_SERVICE).await?;
    let services: Vec<PartialApiService> = read_valid(&resources::API_SERVICE, &items);
    let failed = services.iter().filter_map(|it| {
        let why = it.failure()?;
        Some((it.metadata.name.clone(), why.to_owned()))
    });
    Ok(failed.collect())
}

/// Webhooks whose failure rejects requests.
async fn webhooks(shoot: &ApiClient) -> Result<Vec<ObservedWebhook>, Error> {
    let name = ResourceRef {
        name: Some("kube-system"),
        ..ResourceRef::all(&resources::NAMESPACE, None)
    };
    let (namespace, slices) = try_join(
        shoot.get_with_retry(name),
        list(shoot, &resources::ENDPOINT_SLICE),
    )
    .await?;
    let namespace: PartialObject = read(&resources::NAMESPACE, &namespace)?;
    let slices: Vec<PartialEndpointSlice> = read_valid(&resources::ENDPOINT_SLICE, &slices);
    let ready: BTreeSet<String> = slices.iter().filter_map(|it| it.ready_service()).collect();
    let mut found = Vec::new();
    for resource in [&resources::VALIDATING_WEBHOOK, &resources::MUTATING_WEBHOOK] {
        let items = list(shoot, resource).await?;
        let configurations: Vec<PartialWebhookConfiguration> = read_valid(resource, &items);
        for configuration in &configurations {
            let closed = configuration.webhooks.iter().filter(|it| it.fails_closed());
            found.extend(closed.map(|it| {
                let service = it.service();
                ObservedWebhook {
                    configuration: format!("{} {}", resource.kind, configuration.metadata.name),
                    name: it.name.clone(),
                    has_endpoint: service.as_ref().is_none_or(|it| ready.contains(it)),
                    is_vital: it.admits_system(&namespace.metadata.labels),
                    service,
                }
            }));
        }
    }
    Ok(found)
}

async fn budgets(shoot: &ApiClient) -> Result<Vec<ObservedBudget>, Error> {
    let items = list(shoot, &resources::DISRUPTION_BUDGET).await?;
    if items.is_empty() {
        return Ok(Vec::new());
    }
    let budgets: Vec<PartialDisruptionBudget> = read_valid(&resources::DISRUPTION_BUDGET, &items);
    let pods = list(shoot, &resources::POD).await?;
    let pods: Vec<PartialPod> = read_valid(&resources::POD, &pods);
    Ok(budgets.iter().map(|it| observed(it, &pods)).collect())
}

/// A budget with its pods, which are all of its namespace.
fn observed(budget: &PartialDisruptionBudget, pods: &[PartialPod]) -> ObservedBudget {
    let namespace = &budget.metadata.namespace;
    let selector = budget.spec.selector.as_ref();
    let selects = |pod: &&PartialPod| {
        pod.metadata.namespace == *namespace
            && !pod.is_over()
            && selector.is_some_and(|it| it.selects(&pod.metadata.labels))
    };
    let namespace = namespace.as_deref().unwrap_or_default();
    let pods = pods.iter().filter(selects).map(|it| BudgetPod {
        name: format!("{namespace}/{}", it.metadata.name),
        node: it.spec.node_name.clone().unwrap_or_default(),
    });
    ObservedBudget {
        name: format!("{namespace}/{}", budget.metadata.name),
        expected: budget.status.expected_pods,
        desired: budget.status.desired_healthy,
        allowed: budget.status.disruptions_allowed,
        pods: pods.collect(),
    }
}
