//! Admission webhooks that would keep a shoot from waking.

use super::client::api_client::ApiClient;
use super::client::error::Error;
use super::client::request::ResourceRef;
use super::client::resources;
use super::objects::metadata::PartialObject;
use super::objects::reader::{read, read_all};
use super::objects::user_resources::webhook::PartialWebhookConfiguration;

impl ApiClient {
    /// Names of webhooks in this shoot without which it cannot start, such as `a.example.org of
    /// ValidatingWebhookConfiguration a`.
    ///
    /// # Errors
    ///
    /// The shoot does not answer.
    pub(crate) async fn blocking_webhooks(&self) -> Result<Vec<String>, Error> {
        let system = ResourceRef {
            name: Some("kube-system"),
            ..ResourceRef::all(&resources::NAMESPACE, None)
        };
        let system: PartialObject = read(&resources::NAMESPACE, &self.get(system).await?)?;
        let labels = system.metadata.labels;
        let mut found = Vec::new();
        for resource in [&resources::VALIDATING_WEBHOOK, &resources::MUTATING_WEBHOOK] {
            let listed = self.list(ResourceRef::all(resource, None), None).await?;
            let all: Vec<PartialWebhookConfiguration> = read_all(resource, &listed.items)?;
            for configuration in &all {
                let webhooks = configuration.webhooks.iter();
                let blocking = webhooks.filter(|it| it.blocks_waking(&labels));
                let (kind, name) = (resource.kind, &configuration.metadata.name);
                found.extend(blocking.map(|it| format!("{} of {kind} {name}", it.name)));
            }
        }
        Ok(found)
    }
}

/// Why a shoot with such webhooks is not stopped, and what to do.
pub(crate) fn webhook_refusal(webhooks: &[String]) -> String {
    format!(
        "without these webhooks, which run in it, the shoot could not start again: {}; exclude kube-system in their namespaceSelector, set failurePolicy: Ignore, or run kvshoot hibernate --force",
        webhooks.join(", ")
    )
}
