//! Settings of the provider's pod network that keep machines from Services, and so from their API server and from DNS.

use super::check_result::{CheckResult, passed, warning};
use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::error::Error;
use crate::cluster::client::request::ResourceRef;
use crate::cluster::client::resources;
use crate::cluster::objects::core::config_map::PartialConfigMap;
use crate::cluster::objects::reader::read;

const SUBJECT: &str = "Services";
const REMEDY: &str =
    "set socketLB.hostNamespaceOnly=true in the Helm values of Cilium and restart its DaemonSet";

/// How Cilium translates addresses of Services.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServiceTranslation {
    /// On the way, so that it works for VMs.
    Packets,
    /// When a process of a pod opens a connection: a VM's processes are none of the pod's.
    Sockets,
    /// Its settings may not be read.
    Unknown,
}

impl ServiceTranslation {
    /// Returns the problem and the remedy as a lower-case fragment; None if machines reach Services.
    pub(crate) fn problem(self) -> Option<String> {
        match self {
            ServiceTranslation::Packets => None,
            ServiceTranslation::Sockets => Some(format!(
                "machines cannot reach Services, because Cilium translates their addresses in pods only: {REMEDY}"
            )),
            ServiceTranslation::Unknown => Some(format!(
                "machines cannot reach Services if Cilium replaces kube-proxy with its default settings: {REMEDY}"
            )),
        }
    }
}

/// Keys of Cilium's ConfigMap, as its Helm chart writes them.
fn translation(config: &PartialConfigMap) -> ServiceTranslation {
    let is = |key: &str, value: &str| config.value(key) == Some(value);
    let replaces = is("kube-proxy-replacement", "true") || is("kube-proxy-replacement", "strict");
    let has_sockets = is("bpf-lb-sock", "true") || (replaces && !is("bpf-lb-sock", "false"));
    match has_sockets && !is("bpf-lb-sock-hostns-only", "true") {
        true => ServiceTranslation::Sockets,
        false => ServiceTranslation::Packets,
    }
}

impl ApiClient {
    /// None if the pod network is not Cilium's.
    ///
    /// # Errors
    ///
    /// The server does not answer.
    pub(crate) async fn cilium_translation(&self) -> Result<Option<ServiceTranslation>, Error> {
        if !self.serves(&resources::CILIUM_ENDPOINT).await? {
            return Ok(None);
        }
        let config = ResourceRef::one(&resources::CONFIG_MAP, "kube-system", "cilium-config");
        Ok(Some(match self.get_with_retry(config).await {
            Ok(found) => translation(&read(&resources::CONFIG_MAP, &found)?),
            Err(Error::Forbidden { .. } | Error::NotFound { .. }) => ServiceTranslation::Unknown,
            Err(error) => return Err(error),
        }))
    }

    pub(super) async fn check_service_translation(&self) -> Result<Option<CheckResult>, Error> {
        let translation = self.cilium_translation().await?;
        Ok(translation.map(|it| match it.problem() {
            Some(problem) => warning(SUBJECT, problem),
            None => passed(
                SUBJECT,
                "Cilium translates their addresses for machines too",
            ),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::objects::testing::object;
    use serde_json::{Value, json};

    #[test]
    fn cilium_has_to_translate_packets_of_machines() {
        let of = |data: Value| {
            translation(&object(
                json!({ "metadata": { "name": "cilium-config" }, "data": data }),
            ))
        };
        let replaced = json!({ "kube-proxy-replacement": "true" });
        assert_eq!(of(replaced), ServiceTranslation::Sockets);
        let forced = json!({ "kube-proxy-replacement": "false", "bpf-lb-sock": "true" });
        assert_eq!(of(forced), ServiceTranslation::Sockets);
        for data in [
            json!({ "kube-proxy-replacement": "false" }),
            json!({ "kube-proxy-replacement": "true", "bpf-lb-sock": "false" }),
            json!({ "kube-proxy-replacement": "true", "bpf-lb-sock-hostns-only": "true" }),
        ] {
            assert_eq!(of(data.clone()), ServiceTranslation::Packets, "{data}");
        }
    }
}
