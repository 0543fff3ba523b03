//! Events, as people want to see them.

use super::client::error::Error;
use super::client::request::{Listed, Place};
use super::client::resources;
use crate::cluster::client::api_client::Provider;
use crate::cluster::json::{arc, text};
use crate::state::key::Side;
use serde_json::Value;
use std::sync::Arc;

/// What somebody said of an object.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EventSeen {
    pub(crate) side: Side,
    /// Tells it from others; the same once more is the same event.
    pub(crate) uid: Arc<str>,
    /// When it was said last, in microseconds since 1970.
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
    /// Who said it.
    pub(crate) source: Arc<str>,
}

impl EventSeen {
    pub(crate) fn of(side: Side, event: &Value) -> EventSeen {
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
        EventSeen {
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

impl Provider {
    /// All events of the namespace, or of the whole cluster.
    pub(crate) async fn events(&self, namespace: Option<&str>) -> Result<Listed, Error> {
        self.list(Place::all(&resources::EVENT, namespace), None)
            .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_event_of_either_api_tells_when_it_was_last_said() {
        let old = json!({
            "metadata": { "uid": "u", "creationTimestamp": "1970-01-01T00:00:01Z" },
            "involvedObject": { "kind": "DataVolume", "name": "a", "namespace": "ns" },
            "firstTimestamp": "1970-01-01T00:00:01Z", "lastTimestamp": "1970-01-01T00:00:09Z", "count": 3,
            "type": "Warning", "reason": "Slow", "message": " so slow\n", "source": { "component": "cdi" },
        });
        let expected = EventSeen {
            side: Side::Provider,
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
        assert_eq!(EventSeen::of(Side::Provider, &old), expected);
        let new = json!({
            "metadata": { "creationTimestamp": "1970-01-01T00:00:01Z" },
            "lastTimestamp": null, "eventTime": "1970-01-01T00:00:02.5Z", "reportingComponent": "scheduler",
        });
        let seen = EventSeen::of(Side::Shoot, &new);
        assert_eq!(
            (seen.last, seen.count, &*seen.source),
            (Some(2_500_000), 1, "scheduler")
        );
    }
}
