//! Quotas and limits of the namespace.

use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::error::Error;
use crate::cluster::client::request::ResourceRef;
use crate::cluster::client::request::empty_if_forbidden;
use crate::cluster::client::resources::{self, Resource};
use crate::cluster::json::{items, text};
use crate::state::facts::amounts;
use crate::state::facts::{Limit, NamespaceLimits, Quota};
use futures::future::try_join;
use serde_json::Value;

/// Empty if they may not be read.
pub(crate) async fn read_limits(provider: &ApiClient) -> Result<NamespaceLimits, Error> {
    let list = async |resource: &'static Resource| {
        let resource_ref = ResourceRef::all(resource, Some(provider.namespace()));
        empty_if_forbidden(provider.list(resource_ref, None).await.map(|it| it.items))
    };
    let (quotas, ranges) = try_join(list(&resources::QUOTA), list(&resources::LIMIT_RANGE)).await?;
    Ok(NamespaceLimits {
        quotas: quotas.iter().map(quota).collect(),
        limits: ranges.iter().flat_map(limits).collect(),
    })
}

fn quota(object: &Value) -> Quota {
    Quota {
        name: text(&object["metadata"]["name"]).to_owned(),
        hard: amounts(&object["spec"]["hard"]),
        used: amounts(&object["status"]["used"]),
    }
}

fn limits(object: &Value) -> impl Iterator<Item = Limit> {
    let name = text(&object["metadata"]["name"]);
    let limits = items(&object["spec"]["limits"]).iter();
    limits.map(move |it| Limit {
        name: name.to_owned(),
        of: text(&it["type"]).to_owned(),
        most: amounts(&it["max"]),
    })
}
