//! Quotas and limits of the namespace.

use crate::cluster::client::api_client::Provider;
use crate::cluster::client::error::Error;
use crate::cluster::client::request::Place;
use crate::cluster::client::request::if_allowed;
use crate::cluster::client::resources::{self, Resource};
use crate::cluster::json::{items, text};
use crate::state::facts::amounts;
use crate::state::facts::{Bounds, Limit, Quota};
use futures::future::try_join;
use serde_json::Value;

/// Nothing of what may not be read.
pub(crate) async fn find(provider: &Provider) -> Result<Bounds, Error> {
    let list = async |resource: &'static Resource| {
        let place = Place::all(resource, Some(provider.namespace()));
        if_allowed(provider.list(place, None).await.map(|it| it.items))
    };
    let (quotas, ranges) = try_join(list(&resources::QUOTA), list(&resources::LIMIT_RANGE)).await?;
    Ok(Bounds {
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
