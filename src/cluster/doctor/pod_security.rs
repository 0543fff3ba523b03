//! Admission of VMs by the namespace's Pod Security Standard.

use super::check_result::{CheckResult, failed, passed, warning};
use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::error::Error;
use crate::cluster::client::request::ResourceRef;
use crate::cluster::client::resources;
use crate::cluster::objects::kubevirt::installation::PartialKubeVirt;
use crate::cluster::objects::metadata::PartialObject;
use crate::cluster::objects::reader::read;

const ENFORCE: &str = "pod-security.kubernetes.io/enforce";
const REMEDY: &str = "set spec.configuration.seccompConfiguration.virtualMachineInstanceProfile.customProfile.runtimeDefaultProfile of the KubeVirt object to true, or label the namespace pod-security.kubernetes.io/enforce=baseline";

/// Result of comparing the namespace with the settings of KubeVirt. The pods of control planes comply with each standard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VmAdmission {
    Accepted,
    /// KubeVirt gives the pods of VMs no seccomp profile, which `restricted` requires.
    Refused,
    /// The namespace enforces `restricted`, and the settings of KubeVirt may not be read.
    Unknown,
}

impl VmAdmission {
    /// Returns the problem and the remedy as a lower-case fragment; None if VMs are accepted.
    pub(crate) fn problem(self, namespace: &str) -> Option<String> {
        let effect = match self {
            VmAdmission::Accepted => return None,
            VmAdmission::Refused => "refuses the pods of VMs",
            VmAdmission::Unknown => "refuses the pods of VMs unless KubeVirt is configured for it",
        };
        Some(format!(
            "namespace {namespace:?} enforces the Pod Security Standard restricted, which {effect}: {REMEDY}"
        ))
    }
}

impl ApiClient {
    /// # Errors
    ///
    /// The server does not answer. A namespace that does not exist or may not be read counts as accepting.
    pub(crate) async fn vm_admission(&self) -> Result<VmAdmission, Error> {
        let resource_ref = ResourceRef {
            resource: &resources::NAMESPACE,
            namespace: None,
            name: Some(self.namespace()),
        };
        let namespace: PartialObject = match self.get_with_retry(resource_ref).await {
            Ok(found) => read(&resources::NAMESPACE, &found)?,
            Err(Error::NotFound { .. } | Error::Forbidden { .. }) => {
                return Ok(VmAdmission::Accepted);
            }
            Err(error) => return Err(error),
        };
        if namespace.metadata.label(ENFORCE) != Some("restricted") {
            return Ok(VmAdmission::Accepted);
        }
        let all = ResourceRef::all(&resources::KUBEVIRT, None);
        let found = match self.list(all, None).await {
            Ok(mut listed) => listed.items.pop(),
            Err(Error::NotFound { .. }) => None,
            Err(Error::Forbidden { .. }) => return Ok(VmAdmission::Unknown),
            Err(error) => return Err(error),
        };
        let Some(found) = found else {
            return Ok(VmAdmission::Unknown);
        };
        let kubevirt: PartialKubeVirt = read(&resources::KUBEVIRT, &found)?;
        Ok(match kubevirt.spec.configuration.has_seccomp_profile() {
            true => VmAdmission::Accepted,
            false => VmAdmission::Refused,
        })
    }

    pub(super) async fn check_pod_security(&self) -> Result<CheckResult, Error> {
        const SUBJECT: &str = "pod security";
        let admission = self.vm_admission().await?;
        Ok(match admission.problem(self.namespace()) {
            None => passed(SUBJECT, "the namespace accepts VMs"),
            Some(problem) if admission == VmAdmission::Refused => failed(SUBJECT, problem),
            Some(problem) => warning(SUBJECT, problem),
        })
    }
}
