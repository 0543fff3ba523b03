//! Quotas and limits of the namespace.

use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::error::Error;
use crate::cluster::client::request::ResourceRef;
use crate::cluster::client::resources::{self, Resource};
use crate::cluster::objects::core::limits::{PartialLimitRange, PartialResourceQuota};
use crate::cluster::objects::reader::read_all;
use crate::state::facts::amounts;
use crate::state::facts::{Limit, NamespaceLimits, Quota};
use futures::future::try_join3;

/// Lists the quotas and limits.
///
/// # Errors
///
/// Listing is forbidden: without their rules, the control plane would lose the limits that it has.
pub(crate) async fn read_limits(provider: &ApiClient) -> Result<NamespaceLimits, Error> {
    let list = async |resource: &'static Resource| {
        let resource_ref = ResourceRef::all(resource, Some(provider.namespace()));
        provider.list(resource_ref, None).await.map(|it| it.items)
    };
    let (quotas, ranges, assigns_users) = try_join3(
        list(&resources::QUOTA),
        list(&resources::LIMIT_RANGE),
        provider.serves(&resources::SECURITY_CONTEXT_CONSTRAINTS),
    )
    .await?;
    let quotas: Vec<PartialResourceQuota> = read_all(&resources::QUOTA, &quotas)?;
    let ranges: Vec<PartialLimitRange> = read_all(&resources::LIMIT_RANGE, &ranges)?;
    Ok(NamespaceLimits {
        quotas: quotas.into_iter().map(quota).collect(),
        limits: ranges.iter().flat_map(limits).collect(),
        assigns_users,
    })
}

fn quota(quota: PartialResourceQuota) -> Quota {
    Quota {
        name: quota.metadata.name,
        is_scoped: quota.spec.is_scoped(),
        hard: amounts(&quota.spec.hard),
        used: amounts(&quota.status.used),
    }
}

fn limits(range: &PartialLimitRange) -> impl Iterator<Item = Limit> {
    range.spec.limits.iter().map(|it| Limit {
        name: range.metadata.name.clone(),
        of: it.kind.clone(),
        most: amounts(&it.max),
        least: amounts(&it.min),
        usual: amounts(&it.default),
        ratio: amounts(&it.max_limit_request_ratio),
    })
}
