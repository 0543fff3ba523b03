//! Certificate authorities that API servers verify webhooks and other API servers with.

use super::metadata::PartialObjectMeta;
use serde::Deserialize;

/// The `caBundle` fields of a webhook configuration, an APIService or a CustomResourceDefinition.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PartialBundleUser {
    pub(crate) metadata: PartialObjectMeta,
    #[serde(default)]
    spec: BundleSpec,
    #[serde(default)]
    webhooks: Vec<BundleWebhook>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct BundleSpec {
    ca_bundle: String,
    conversion: Option<Conversion>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Conversion {
    webhook: Option<BundleWebhook>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct BundleWebhook {
    client_config: BundleClient,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct BundleClient {
    ca_bundle: String,
}

impl PartialBundleUser {
    /// All bundles, in base64. An empty one means the CAs of the system.
    pub(crate) fn bundles(&self) -> impl Iterator<Item = &str> {
        let conversion = self.spec.conversion.iter();
        let conversion = conversion.filter_map(|it| it.webhook.as_ref());
        let webhooks = self.webhooks.iter().chain(conversion);
        let bundles = webhooks.map(|it| it.client_config.ca_bundle.as_str());
        bundles.chain([self.spec.ca_bundle.as_str()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::objects::testing::complete;
    use serde_json::json;

    #[test]
    fn bundles_are_read_from_each_kind() {
        let client = |bundle: &str| json!({ "clientConfig": { "caBundle": bundle } });
        for (object, expected) in [
            (json!({ "webhooks": [client("a"), client("b")] }), "a b "),
            (json!({ "spec": { "caBundle": "c" } }), "c"),
            (
                json!({ "spec": { "conversion": { "strategy": "Webhook", "webhook": client("d") } } }),
                "d ",
            ),
            (
                json!({ "spec": { "conversion": { "strategy": "None" } } }),
                "",
            ),
        ] {
            let user: PartialBundleUser = serde_json::from_value(complete(object)).expect("one");
            let bundles: Vec<&str> = user.bundles().collect();
            assert_eq!(bundles.join(" "), expected);
        }
    }
}
