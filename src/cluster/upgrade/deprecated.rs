//! Deprecated APIs that are in use.

use super::metrics::MetricSample;
use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::error::Error;
use crate::state::upgrade::RequestedApi;
use std::collections::BTreeSet;

/// A stable metric of kube-apiserver: 1 for each deprecated API that was requested since it started.
const METRIC: &str = "apiserver_requested_deprecated_apis";

/// Deprecated APIs that any of the replicas was asked for.
pub(super) async fn requested(replicas: &[ApiClient]) -> Result<Vec<RequestedApi>, Error> {
    let mut requested = BTreeSet::new();
    for replica in replicas {
        let samples = replica.metric(METRIC).await?;
        requested.extend(samples.iter().filter_map(of_sample));
    }
    Ok(requested.into_iter().collect())
}

fn of_sample((labels, value): &MetricSample) -> Option<RequestedApi> {
    let label = |name: &str| labels.get(name).map(String::as_str).unwrap_or_default();
    let parts = [label("resource"), label("version"), label("group")];
    let mut name = parts.join(".");
    name.truncate(name.trim_end_matches('.').len());
    let subresource = label("subresource");
    if !subresource.is_empty() {
        name = format!("{name}/{subresource}");
    }
    (*value > 0.0).then(|| RequestedApi {
        name,
        removed_release: label("removed_release").to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn apis_are_named_as_kubectl_names_them() {
        let name = |labels: &[(&str, &str)], value: f64| {
            let labels = labels.iter();
            let labels = labels.map(|it| (it.0.to_owned(), it.1.to_owned()));
            of_sample(&(labels.collect(), value)).map(|it| (it.name, it.removed_release))
        };
        let flow = [
            ("group", "flowcontrol.apiserver.k8s.io"),
            ("removed_release", "1.32"),
            ("resource", "flowschemas"),
            ("subresource", "status"),
            ("version", "v1beta3"),
        ];
        let expected = "flowschemas.v1beta3.flowcontrol.apiserver.k8s.io/status";
        assert_eq!(
            name(&flow, 1.0),
            Some((expected.to_owned(), "1.32".to_owned()))
        );
        assert_eq!(name(&flow, 0.0), None);
        let core = [("group", ""), ("resource", "endpoints"), ("version", "v1")];
        let expected = "endpoints.v1".to_owned();
        assert_eq!(name(&core, 1.0), Some((expected, String::new())));
    }
}
