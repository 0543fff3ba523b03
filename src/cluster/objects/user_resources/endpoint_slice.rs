//! EndpointSlices.

use crate::cluster::objects::metadata::PartialObjectMeta;
use serde::Deserialize;

const SERVICE: &str = "kubernetes.io/service-name";

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PartialEndpointSlice {
    metadata: PartialObjectMeta,
    #[serde(default)]
    endpoints: Vec<SliceEndpoint>,
}

#[derive(Debug, Clone, Deserialize)]
struct SliceEndpoint {
    #[serde(default)]
    conditions: EndpointConditions,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct EndpointConditions {
    /// None counts as ready.
    ready: Option<bool>,
}

impl PartialEndpointSlice {
    /// `namespace/name` of its Service, if it has a ready endpoint.
    pub(crate) fn ready_service(&self) -> Option<String> {
        let service = self.metadata.label(SERVICE)?;
        let namespace = self.metadata.namespace.as_deref()?;
        let mut endpoints = self.endpoints.iter();
        let is_ready = endpoints.any(|it| it.conditions.ready != Some(false));
        is_ready.then(|| format!("{namespace}/{service}"))
    }
}
