//! NetworkAttachmentDefinitions of Multus.

use serde::Deserialize;

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PartialNetworkAttachment {
    #[serde(default)]
    pub(crate) spec: NetworkAttachmentSpec,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct NetworkAttachmentSpec {
    /// Configuration of the CNI plugin, as JSON; empty if it is that of the node.
    pub(crate) config: String,
}
