//! Kubernetes events, for display.

use super::client::error::Error;
use super::client::request::{ObjectList, ResourceRef};
use super::client::resources;
use crate::cluster::client::api_client::ApiClient;
use crate::cluster::objects::core::event::PartialEvent;
use crate::cluster::objects::reader::read_if_valid;
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
    /// None if it is invalid: one event must not hide the others.
    pub(crate) fn parse(side: ClusterSide, event: &Value) -> Option<KubernetesEvent> {
        let event = read_if_valid(&resources::EVENT, event)?;
        Some(KubernetesEvent::of(side, &event))
    }

    pub(crate) fn of(side: ClusterSide, event: &PartialEvent) -> KubernetesEvent {
        let metadata = &event.metadata;
        let about = &event.involved_object;
        let series = event.series.as_ref();
        let last = [
            series.and_then(|it| it.last_observed_time.as_deref()),
            event.last_timestamp.as_deref(),
            event.event_time.as_deref(),
            metadata.creation_timestamp.as_deref(),
        ];
        let first = [
            event.first_timestamp.as_deref(),
            event.event_time.as_deref(),
            metadata.creation_timestamp.as_deref(),
        ];
        let count = series.and_then(|it| it.count).or(event.count);
        KubernetesEvent {
            side,
            uid: metadata.uid.as_str().into(),
            last: last.into_iter().flatten().find_map(micros),
            first: first.into_iter().flatten().find_map(micros),
            count: count.unwrap_or(1),
            kind: event.kind.as_str().into(),
            reason: event.reason.as_str().into(),
            object: format!("{}/{}", about.kind.to_lowercase(), about.name),
            namespace: about.namespace.as_str().into(),
            message: event.message.trim().to_owned(),
            source: event.source().into(),
        }
    }
}

fn micros(time: &str) -> Option<i64> {
    let time: jiff::Timestamp = time.parse().ok()?;
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
    use crate::cluster::objects::testing::complete;
    use serde_json::json;

    #[test]
    fn events_of_both_api_versions_have_their_last_occurrence() {
        let old = complete(json!({
            "metadata": { "uid": "u", "creationTimestamp": "1970-01-01T00:00:01Z" },
            "involvedObject": { "kind": "DataVolume", "name": "a", "namespace": "ns" },
            "firstTimestamp": "1970-01-01T00:00:01Z", "lastTimestamp": "1970-01-01T00:00:09Z", "count": 3,
            "type": "Warning", "reason": "Slow", "message": " so slow\n", "source": { "component": "cdi" },
        }));
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
            Some(expected)
        );
        let new = complete(json!({
            "metadata": { "creationTimestamp": "1970-01-01T00:00:01Z" },
            "lastTimestamp": null, "eventTime": "1970-01-01T00:00:02.5Z", "reportingComponent": "scheduler",
        }));
        let parsed = KubernetesEvent::parse(ClusterSide::Shoot, &new).expect("a valid event");
        assert_eq!(
            (parsed.last, parsed.count, &*parsed.source),
            (Some(2_500_000), 1, "scheduler")
        );
    }

    #[test]
    fn an_invalid_event_is_left_out() {
        let invalid = complete(json!({ "message": 7 }));
        assert_eq!(KubernetesEvent::parse(ClusterSide::Shoot, &invalid), None);
    }
}
