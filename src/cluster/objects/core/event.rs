//! Events of the core group.

use crate::cluster::objects::metadata::PartialObjectMeta;
use serde::Deserialize;

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PartialEvent {
    pub(crate) metadata: PartialObjectMeta,
    #[serde(default)]
    pub(crate) involved_object: InvolvedObject,
    /// Normal or Warning.
    #[serde(default, rename = "type")]
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) reason: String,
    #[serde(default)]
    pub(crate) message: String,
    pub(crate) first_timestamp: Option<String>,
    pub(crate) last_timestamp: Option<String>,
    pub(crate) event_time: Option<String>,
    pub(crate) count: Option<u64>,
    pub(crate) series: Option<EventSeries>,
    #[serde(default)]
    reporting_component: String,
    #[serde(default)]
    source: EventSource,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct InvolvedObject {
    pub(crate) uid: String,
    pub(crate) kind: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EventSeries {
    pub(crate) count: Option<u64>,
    pub(crate) last_observed_time: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct EventSource {
    component: String,
}

impl PartialEvent {
    /// Component that reported it.
    pub(crate) fn source(&self) -> &str {
        match self.reporting_component.as_str() {
            "" => &self.source.component,
            component => component,
        }
    }

    /// Time of the last occurrence. Timestamps of one format sort as text.
    pub(crate) fn timestamp(&self) -> &str {
        let last = self.last_timestamp.as_deref();
        last.or(self.metadata.creation_timestamp.as_deref())
            .unwrap_or_default()
    }
}
