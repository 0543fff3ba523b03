//! Kubernetes events, for display.

use super::client::error::Error;
use super::client::request::{ObjectList, ResourceRef};
use super::client::resources;
use crate::cluster::client::api_client::ApiClient;
use crate::cluster::json::{arc, text};
use crate::state::key::ClusterSide;
use serde_json::Value;
use std::sync::Arc;

/// A Kubernetes event.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct KubernetesEvent {
    pub(crate) side: ClusterSide,
    /// Identity; the same event again has the same UID.
    pub(crate) uid: Arc<str>,
    /// Last occurrence, in microseconds since 1970.
    pub(crate) last: Option<i64>,
    pub(crate) first: Option<i64>,
    pub(crate) count: u64,
    /// Normal or Warning.
    pub(crate) kind: Arc<str>,
    pub(crate) reason: Arc<str>,
    /// As kubectl names it: `pod/a`.
    pub(crate) object: String,
    pub(crate) namespace: Arc<str>,
    pub(crate) message: String,
    /// Component that reported it.
    pub(crate) source: Arc<str>,
}

impl KubernetesEvent {
    pub(crate) fn parse(side: ClusterSide, event: &Value) -> KubernetesEvent {
        let about = &event["involvedObject"];
        let series = &event["series"];
        let times = [
            &series["lastObservedTime"],
            &event["lastTimestamp"],
            &event["eventTime"],
            &event["metadata"]["creationTimestamp"],
        ];
        let first = [
            &event["firstTimestamp"],
            &event["eventTime"],
            &event["metadata"]["creationTimestamp"],
        ];
        let counts = [&series["count"], &event["count"]];
        let source = match event["reportingComponent"].as_str() {
            Some(it) if !it.is_empty() => arc(&event["reportingComponent"]),
            _ => arc(&event["source"]["component"]),
        };
        KubernetesEvent {
            side,
            uid: arc(&event["metadata"]["uid"]),
            last: times.into_iter().find_map(micros),
            first: first.into_iter().find_map(micros),
            count: counts.into_iter().find_map(Value::as_u64).unwrap_or(1),
            kind: arc(&event["type"]),
            reason: arc(&event["reason"]),
            object: format!(
                "{}/{}",
                text(&about["kind"]).to_lowercase(),
                text(&about["name"])
            ),
            namespace: arc(&about["namespace"]),
            message: text(&event["message"]).trim().to_owned(),
            source,
        }
    }
}

fn micros(time: &Value) -> Option<i64> {
    let time: jiff::Timestamp = time.as_str()?.parse().ok()?;
    Some(time.as_microsecond())
}

impl ApiClient {
    /// Lists the events of the namespace, or of the whole cluster.
    pub(crate) async fn events(&self, namespace: Option<&str>) -> Result<ObjectList, Error> {
        self.list(ResourceRef::all(&resources::EVENT, namespace), None)
            .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn events_of_both_api_versions_have_their_last_occurrence() {
        let old = json!({
            "metadata": { "uid": "u", "creationTimestamp": "1970-01-01T00:00:01Z" },
            "involvedObject": { "kind": "DataVolume", "name": "a", "namespace": "ns" },
            "firstTimestamp": "1970-01-01T00:00:01Z", "lastTimestamp": "1970-01-01T00:00:09Z", "count": 3,
            "type": "Warning", "reason": "Slow", "message": " so slow\n", "source": { "component": "cdi" },
        });
        let expected = KubernetesEvent {
            side: ClusterSide::Provider,
            uid: "u".into(),
            last: Some(9_000_000),
            first: Some(1_000_000),
            count: 3,
            kind: "Warning".into(),
            reason: "Slow".into(),
            object: "datavolume/a".to_owned(),
            namespace: "ns".into(),
            message: "so slow".to_owned(),
            source: "cdi".into(),
        };
        assert_eq!(
            KubernetesEvent::parse(ClusterSide::Provider, &old),
            expected
        );
        let new = json!({
            "metadata": { "creationTimestamp": "1970-01-01T00:00:01Z" },
            "lastTimestamp": null, "eventTime": "1970-01-01T00:00:02.5Z", "reportingComponent": "scheduler",
        });
        let parsed = KubernetesEvent::parse(ClusterSide::Shoot, &new);
        assert_eq!(
            (parsed.last, parsed.count, &*parsed.source),
            (Some(2_500_000), 1, "scheduler")
        );
    }
}
