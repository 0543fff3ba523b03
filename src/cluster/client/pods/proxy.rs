//! Pages of pods, through the proxy of the API server.

use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::error::{Error, RequestInfo};
use crate::cluster::client::resources;
use crate::cluster::client::transport::ApiRequest;
use serde_json::Value;
use std::time::Duration;

impl ApiClient {
    /// Requests a page in JSON from a port of a pod in the client's namespace.
    ///
    /// # Errors
    ///
    /// The API server or the pod does not answer within `limit`, refuses, or does not answer in JSON.
    pub(crate) async fn get_from_pod(
        &self,
        pod: &str,
        port: u16,
        page: &str,
        query: &[(&str, &str)],
        limit: Duration,
    ) -> Result<Value, Error> {
        let namespace = self.namespace();
        let path = format!("/api/v1/namespaces/{namespace}/pods/{pod}:{port}/proxy/{page}");
        let mut request = ApiRequest::new("GET", path);
        for (key, value) in query {
            request = request.query(key, value);
        }
        let what = RequestInfo {
            verb: "get",
            resource: "pods/proxy".into(),
            kind: resources::POD.kind.into(),
            name: Some(pod.into()),
            namespace: Some(namespace.as_ref().into()),
        };
        self.send(what, limit, request).await
    }
}
