//! Versions of nodes.

use crate::cluster::Error;
use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::request::ResourceRef;
use crate::cluster::client::resources;
use serde::Serialize;
use serde_json::Value;

/// Versions of the software of a node.
#[derive(Debug, Serialize)]
pub(crate) struct NodeVersions {
    name: String,
    kubelet: String,
    /// Name and version of the operating system.
    system: String,
    kernel: String,
    /// Such as containerd://2.3.2.
    runtime: String,
    architecture: String,
}

impl NodeVersions {
    /// True if the node is simulated by a sandbox, whose guests have a kernel of this name.
    pub(crate) fn is_simulated(&self) -> bool {
        self.kernel.ends_with("-sandbox")
    }
}

impl ApiClient {
    /// Versions of all nodes of a shoot.
    ///
    /// # Errors
    ///
    /// The API server does not answer, or refuses.
    pub(crate) async fn node_versions(&self) -> Result<Vec<NodeVersions>, Error> {
        let all = ResourceRef::all(&resources::NODE, None);
        let nodes = self.list(all, None).await?.items;
        let read = |node: &Value| {
            let text = |path| {
                node.pointer(path)
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned()
            };
            NodeVersions {
                name: text("/metadata/name"),
                kubelet: text("/status/nodeInfo/kubeletVersion"),
                system: text("/status/nodeInfo/osImage"),
                kernel: text("/status/nodeInfo/kernelVersion"),
                runtime: text("/status/nodeInfo/containerRuntimeVersion"),
                architecture: text("/status/nodeInfo/architecture"),
            }
        };
        Ok(nodes.iter().map(read).collect())
    }
}
