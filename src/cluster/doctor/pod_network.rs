//! Settings and addresses of the provider's pod network that keep machines from Services, and so from their API server and
//! from DNS.

use super::check_result::{CheckResult, ShootRequirements, failed, passed, warning};
use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::error::Error;
use crate::cluster::client::request::ResourceRef;
use crate::cluster::client::resources;
use crate::cluster::objects::core::config_map::PartialConfigMap;
use crate::cluster::objects::core::service::PartialService;
use crate::cluster::objects::reader::read;
use crate::render::networking::is_in_range;

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
                "machines cannot reach Services: Cilium translates Service addresses only for processes in pods: {REMEDY}"
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

fn compare_ranges(address: &str, requirements: &ShootRequirements) -> CheckResult {
    const SUBJECT: &str = "address ranges";
    let mut ranges = requirements.ranges.iter();
    let used = ranges.find(|(_, range)| is_in_range(address, range));
    match used {
        Some((field, range)) => failed(
            SUBJECT,
            format!(
                "the provider cluster has Services in {field} {range} of the Shoot, such as {address}: use another range"
            ),
        ),
        None => passed(
            SUBJECT,
            "the ranges of the shoot contain no known Service of the provider cluster",
        ),
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

    /// Compares the ranges of shoots with a Service that every cluster has. None without shoots, or if the Service may not
    /// be read: then `apply` compares the address that it gets.
    ///
    /// # Errors
    ///
    /// The server does not answer.
    pub(super) async fn check_service_range(
        &self,
        requirements: &ShootRequirements,
    ) -> Result<Option<CheckResult>, Error> {
        let service = ResourceRef::one(&resources::SERVICE, "default", "kubernetes");
        let found = match self.get_with_retry(service).await {
            _ if requirements.ranges.is_empty() => return Ok(None),
            Ok(found) => found,
            Err(Error::Forbidden { .. } | Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let service: PartialService = read(&resources::SERVICE, &found)?;
        let address = service.observed().cluster_ip;
        Ok(address.map(|it| compare_ranges(&it, requirements)))
    }

    pub(super) async fn check_service_translation(&self) -> Result<Option<CheckResult>, Error> {
        let translation = self.cilium_translation().await?;
        Ok(translation.map(|it| match it.problem() {
            Some(problem) => warning(SUBJECT, problem),
            None => passed(
                SUBJECT,
                "Cilium translates Service addresses for machines, too",
            ),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::doctor::check_result::CheckStatus;
    use crate::cluster::objects::testing::object;
    use serde_json::{Value, json};

    #[test]
    fn services_of_the_provider_are_outside_of_the_shoots_ranges() {
        let requirements = ShootRequirements {
            ranges: [("networking.services", "100.64.0.0/13".to_owned())].into(),
            ..ShootRequirements::default()
        };
        let status = |address| compare_ranges(address, &requirements).status;
        assert_eq!(status("100.64.0.1"), CheckStatus::Failed);
        assert_eq!(status("10.96.0.1"), CheckStatus::Passed);
        assert_eq!(status("fd00::1"), CheckStatus::Passed);
    }

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
