//! Checks of a provider cluster: versions, installed products, storage, permissions.

use super::check_result::{CheckResult, ShootRequirements, failed, passed, warning};
use super::end_of_life::check_maintenance;
use super::feature_gates;
use super::permissions::{self, Permission};
use super::version::parse_version;
use crate::cluster::client::api_client::ApiClient;
use crate::cluster::client::error::Error;
use crate::cluster::client::request::ResourceRef;
use crate::cluster::client::resources::{self, Resource};
use crate::cluster::objects::core::service::PartialService;
use crate::cluster::objects::kubevirt::installation::{
    InstallationStatus, PartialInstallation, PartialKubeVirt,
};
use crate::cluster::objects::metadata::PartialObject;
use crate::cluster::objects::reader::{read, read_if_valid, read_valid};
use crate::cluster::objects::storage::PartialStorageClass;
use crate::state::names;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;

/// Oldest versions that kvshoot is tested with.
const MIN_KUBERNETES: (u32, u32) = (1, 27);
const MIN_KUBEVIRT: (u32, u32) = (1, 1);
const MIN_CDI: (u32, u32) = (1, 57);
const DEFAULT_CLASS_ANNOTATIONS: [&str; 2] = [
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.kubevirt.io/is-default-virt-class",
];
const PERMISSIONS_HINT: &str = "run kvshoot doctor --rbac to print the required roles";

impl ApiClient {
    /// Runs all checks; changes nothing.
    ///
    /// # Errors
    ///
    /// The server does not answer. Missing permissions are results.
    pub(crate) async fn run_checks(
        &self,
        requirements: &ShootRequirements,
    ) -> Result<Vec<CheckResult>, Error> {
        let version = self.kubernetes_version().await?;
        let mut findings = vec![compare_version("Kubernetes", &version, MIN_KUBERNETES)];
        findings.extend(self.check_kubevirt(requirements, &version).await?);
        findings.extend(self.check_instancetypes(requirements).await?);
        findings.push(self.check_cdi().await?);
        findings.push(self.check_multus(requirements).await?);
        findings.push(self.check_snapshots().await?);
        findings.extend(self.check_storage(requirements).await?);
        findings.push(self.check_zones().await?);
        findings.push(self.check_namespace().await?);
        findings.extend(self.check_isolation().await?);
        findings.push(self.check_pod_security().await?);
        if requirements.pod_network || requirements.minors.is_empty() {
            findings.extend(self.check_service_translation().await?);
        }
        findings.extend(self.check_service_range(requirements).await?);
        findings.extend(check_maintenance(&requirements.minors, self.current_time()));
        findings.extend(self.check_permissions(requirements).await?);
        findings.push(self.check_load_balancers(requirements).await?);
        Ok(findings)
    }

    async fn check_kubevirt(
        &self,
        requirements: &ShootRequirements,
        kubernetes: &str,
    ) -> Result<Vec<CheckResult>, Error> {
        const SUBJECT: &str = "KubeVirt";
        if !self.serves(&resources::VIRTUAL_MACHINE).await? {
            return Ok(vec![not_installed(SUBJECT)]);
        }
        let what = "its version and feature gates";
        let found = self.installation(&resources::KUBEVIRT, SUBJECT, what);
        let found: PartialKubeVirt = match found.await? {
            Ok(found) => found,
            Err(unknown) => return Ok(vec![unknown]),
        };
        let mut findings = vec![check_installation(SUBJECT, &found.status, MIN_KUBEVIRT)];
        findings.extend(feature_gates::check_version_skew(
            kubernetes,
            &found.status.observed_version,
        ));
        findings.extend(feature_gates::check_feature_gates(&found, requirements));
        Ok(findings)
    }

    async fn check_instancetypes(
        &self,
        requirements: &ShootRequirements,
    ) -> Result<Option<CheckResult>, Error> {
        if !requirements.instancetypes || self.serves(&resources::INSTANCETYPE).await? {
            return Ok(None);
        }
        let message =
            "instancetype.kubevirt.io/v1beta1 is not served; KubeVirt 1.0 or newer is required";
        Ok(Some(failed("instancetypes", message)))
    }

    async fn check_cdi(&self) -> Result<CheckResult, Error> {
        const SUBJECT: &str = "CDI";
        if !self.serves(&resources::DATA_VOLUME).await? {
            return Ok(not_installed(SUBJECT));
        }
        let found = self.installation(&resources::CDI, SUBJECT, "its version");
        let found: Result<PartialInstallation, CheckResult> = found.await?;
        Ok(match found {
            Ok(found) => check_installation(SUBJECT, &found.status, MIN_CDI),
            Err(unknown) => unknown,
        })
    }

    async fn check_multus(&self, requirements: &ShootRequirements) -> Result<CheckResult, Error> {
        const SUBJECT: &str = "Multus";
        Ok(
            match (
                self.serves(&resources::NETWORK).await?,
                requirements.features.networks,
            ) {
                (true, _) => passed(SUBJECT, "installed"),
                (false, true) => not_installed(SUBJECT),
                (false, false) => passed(
                    SUBJECT,
                    "not installed; needed only for shoots with networks",
                ),
            },
        )
    }

    async fn check_snapshots(&self) -> Result<CheckResult, Error> {
        const SUBJECT: &str = "volume snapshots";
        Ok(match self.serves(&resources::VOLUME_SNAPSHOT).await? {
            true => passed(SUBJECT, "served"),
            false => CheckResult {
                hint: Some("install the snapshot controller and its CRDs".to_owned()),
                ..warning(
                    SUBJECT,
                    "not served: volumes in shoots cannot have snapshots",
                )
            },
        })
    }

    async fn check_storage(
        &self,
        requirements: &ShootRequirements,
    ) -> Result<Vec<CheckResult>, Error> {
        match self
            .list(ResourceRef::all(&resources::STORAGE_CLASS, None), None)
            .await
        {
            Ok(listed) => {
                let classes: Vec<PartialStorageClass> =
                    read_valid(&resources::STORAGE_CLASS, &listed.items);
                let mut findings = check_classes(&classes, requirements);
                let waiting = late_binding_classes(&classes, requirements);
                findings.extend(self.check_first_consumers(&waiting).await?);
                Ok(findings)
            }
            Err(Error::Forbidden { .. }) => {
                Ok(vec![forbidden("storage classes", "StorageClasses")])
            }
            Err(error) => Err(error),
        }
    }

    /// Nothing is reported if the configuration cannot be read, or another importer is installed.
    async fn check_first_consumers(
        &self,
        waiting: &[String],
    ) -> Result<Option<CheckResult>, Error> {
        let resource_ref = ResourceRef {
            resource: &resources::CDI_CONFIG,
            namespace: None,
            name: Some("config"),
        };
        match self.get_with_retry(resource_ref).await {
            Ok(found) => Ok(read_if_valid(&resources::CDI_CONFIG, &found)
                .and_then(|it| feature_gates::check_first_consumer(&it, waiting))),
            Err(Error::NotFound { .. } | Error::Forbidden { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn check_zones(&self) -> Result<CheckResult, Error> {
        const SUBJECT: &str = "nodes";
        let listed = self.list_metadata(ResourceRef::all(&resources::NODE, None), None);
        let nodes = match listed.await {
            Ok(listed) => read_valid::<PartialObject>(&resources::NODE, &listed.items),
            Err(Error::Forbidden { .. }) => return Ok(forbidden(SUBJECT, "zones")),
            Err(error) => return Err(error),
        };
        let zones: BTreeSet<&str> = nodes
            .iter()
            .filter_map(|it| it.metadata.label(names::ZONE_LABEL))
            .filter(|it| !it.is_empty())
            .collect();
        let zones = match zones.len() {
            0 => "no zones".to_owned(),
            _ => format!("zones {}", zones.into_iter().collect::<Vec<_>>().join(", ")),
        };
        Ok(passed(SUBJECT, format!("{} nodes, {zones}", nodes.len())))
    }

    async fn check_namespace(&self) -> Result<CheckResult, Error> {
        const SUBJECT: &str = "namespace";
        let name = &**self.namespace();
        let resource_ref = ResourceRef {
            resource: &resources::NAMESPACE,
            namespace: None,
            name: Some(name),
        };
        match self.get_with_retry(resource_ref).await {
            Ok(_) => Ok(passed(SUBJECT, name)),
            Err(Error::NotFound { .. }) => Ok(CheckResult {
                hint: Some("run kvshoot apply --create-namespace to create it".to_owned()),
                ..warning(SUBJECT, format!("namespace {name} does not exist"))
            }),
            Err(Error::Forbidden { .. }) => Ok(passed(SUBJECT, name)),
            Err(error) => Err(error),
        }
    }

    async fn check_permissions(
        &self,
        requirements: &ShootRequirements,
    ) -> Result<Vec<CheckResult>, Error> {
        const SUBJECT: &str = "permissions";
        let missing = self.missing_permissions(requirements.features).await?;
        let optional: Vec<(Permission, &str)> = permissions::optional().collect();
        let not_granted = self.missing_among(optional.iter().map(|it| it.0)).await?;
        let failures = missing
            .iter()
            .map(|it| failed(SUBJECT, format!("missing: {it}")));
        let warnings = optional
            .iter()
            .filter(|(permission, _)| not_granted.contains(permission))
            .map(|(it, consequence)| warning(SUBJECT, format!("missing: {it}; {consequence}")));
        let all = failures.chain(warnings).map(|it| CheckResult {
            hint: Some(PERMISSIONS_HINT.to_owned()),
            ..it
        });
        let mut all: Vec<CheckResult> = all.collect();
        if all.is_empty() {
            let message = format!("all granted in namespace {}", self.namespace());
            all.push(passed(SUBJECT, message));
        }
        Ok(all)
    }

    /// Load balancers can only be checked once a Service requests one.
    async fn check_load_balancers(
        &self,
        requirements: &ShootRequirements,
    ) -> Result<CheckResult, Error> {
        const SUBJECT: &str = "load balancers";
        let resource_ref = ResourceRef::all(&resources::SERVICE, Some(self.namespace()));
        let services = match self.list(resource_ref, None).await {
            Ok(listed) => read_valid(&resources::SERVICE, &listed.items),
            Err(Error::Forbidden { .. }) => return Ok(forbidden(SUBJECT, "Services")),
            Err(error) => return Err(error),
        };
        Ok(check_balancers(&services, requirements))
    }

    /// The installation object of the cluster, in any namespace, or a warning that `what` is unknown.
    async fn installation<T: DeserializeOwned>(
        &self,
        resource: &'static Resource,
        subject: &'static str,
        what: &str,
    ) -> Result<Result<T, CheckResult>, Error> {
        let found = match self.list(ResourceRef::all(resource, None), None).await {
            Ok(mut listed) => listed.items.pop(),
            Err(Error::NotFound { .. }) => None,
            Err(Error::Forbidden { .. }) => return Ok(Err(forbidden(subject, what))),
            Err(error) => return Err(error),
        };
        Ok(match found {
            Some(found) => {
                read(resource, &found).map_err(|error| warning(subject, error.to_string()))
            }
            None => Err(missing_installation(subject)),
        })
    }
}

fn check_installation(
    subject: &'static str,
    status: &InstallationStatus,
    oldest: (u32, u32),
) -> CheckResult {
    match status.phase.as_str() {
        "Deployed" => compare_version(subject, &status.observed_version, oldest),
        "" => warning(subject, "installed, but not reported as deployed"),
        phase => warning(subject, format!("installed, but {phase}")),
    }
}

fn compare_version(subject: &'static str, version: &str, oldest: (u32, u32)) -> CheckResult {
    match parse_version(version) {
        Some(it) if it >= oldest => passed(subject, version),
        Some(_) => {
            let (major, minor) = oldest;
            let message = format!("{version} is older than {major}.{minor} and not tested");
            warning(subject, message)
        }
        None => warning(subject, "version unknown"),
    }
}

/// StorageClasses with late binding, of those that a shoot uses, or of all.
fn late_binding_classes(
    existing: &[PartialStorageClass],
    requirements: &ShootRequirements,
) -> Vec<String> {
    let waits = |it: &&PartialStorageClass| it.volume_binding_mode == "WaitForFirstConsumer";
    let names = existing
        .iter()
        .filter(waits)
        .map(|it| it.metadata.name.as_str());
    let is_used = |it: &&str| requirements.classes.is_empty() || requirements.classes.contains(*it);
    names.filter(is_used).map(str::to_owned).collect()
}

fn check_classes(
    existing: &[PartialStorageClass],
    requirements: &ShootRequirements,
) -> Vec<CheckResult> {
    const SUBJECT: &str = "storage classes";
    let is_default = |it: &&PartialStorageClass| {
        DEFAULT_CLASS_ANNOTATIONS
            .iter()
            .any(|key| it.metadata.annotation(key) == Some("true"))
    };
    let default = existing.iter().find(is_default);
    let mut findings = vec![match default {
        Some(it) => passed(SUBJECT, format!("the default is {}", it.metadata.name)),
        None if requirements.classes.contains("") => failed(SUBJECT, "no default StorageClass"),
        None => warning(
            SUBJECT,
            "no default StorageClass: volume types have to name one",
        ),
    }];
    let is_there = |name: &str| existing.iter().any(|it| it.metadata.name == name);
    let missing = requirements
        .classes
        .iter()
        .filter(|it| !it.is_empty() && !is_there(it));
    findings.extend(missing.map(|it| failed(SUBJECT, format!("StorageClass {it} not found"))));
    findings
}

fn check_balancers(services: &[PartialService], requirements: &ShootRequirements) -> CheckResult {
    const SUBJECT: &str = "load balancers";
    let all = || services.iter().filter(|it| it.spec.kind == "LoadBalancer");
    let given = all().find(|it| it.is_published());
    match (given, all().next()) {
        (Some(it), _) => passed(
            SUBJECT,
            format!("Service {} has an address", it.metadata.name),
        ),
        (None, Some(it)) => warning(
            SUBJECT,
            format!("Service {} has no address yet", it.metadata.name),
        ),
        (None, None) if requirements.load_balancer => warning(
            SUBJECT,
            "the shoot requests one; support for them shows once it is created",
        ),
        (None, None) => passed(
            SUBJECT,
            "none in use; support for them shows with the first one",
        ),
    }
}

fn not_installed(subject: &'static str) -> CheckResult {
    failed(subject, "not installed")
}

/// The API is served, but the installation object does not exist.
fn missing_installation(subject: &'static str) -> CheckResult {
    warning(
        subject,
        format!("served, but no {subject} object found: version unknown"),
    )
}

fn forbidden(subject: &'static str, what: &str) -> CheckResult {
    CheckResult {
        hint: Some(PERMISSIONS_HINT.to_owned()),
        ..warning(subject, format!("not allowed to read {what}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::doctor::check_result::CheckStatus;
    use crate::cluster::objects::testing::object;
    use serde_json::{Value, json};

    #[test]
    fn vendor_versions_are_parsed() {
        assert_eq!(parse_version("v1.33.1"), Some((1, 33)));
        assert_eq!(parse_version("1.30+"), Some((1, 30)));
        assert_eq!(parse_version("v1.9.0-eks"), Some((1, 9)));
        assert_eq!(parse_version(""), None);
        assert_eq!(
            compare_version("x", "v1.2.3", (1, 10)).status,
            CheckStatus::Warning
        );
        assert_eq!(
            compare_version("x", "v1.10.0", (1, 10)).status,
            CheckStatus::Passed
        );
    }

    #[test]
    fn a_storage_class_used_by_a_shoot_has_to_exist() {
        let class = |name: &str, default: &str| -> PartialStorageClass {
            let annotations = json!({ DEFAULT_CLASS_ANNOTATIONS[0]: default });
            object(json!({ "metadata": { "name": name, "annotations": annotations } }))
        };
        let grades = |existing: &[PartialStorageClass], names: &[&str]| -> Vec<CheckStatus> {
            let requirements = ShootRequirements {
                classes: names.iter().map(ToString::to_string).collect(),
                ..ShootRequirements::default()
            };
            check_classes(existing, &requirements)
                .iter()
                .map(|it| it.status)
                .collect()
        };
        let (fast, other) = (class("fast", "true"), class("other", "false"));
        assert_eq!(
            grades(std::slice::from_ref(&fast), &["", "fast"]),
            [CheckStatus::Passed]
        );
        assert_eq!(
            grades(&[fast], &["slow"]),
            [CheckStatus::Passed, CheckStatus::Failed]
        );
        assert_eq!(
            grades(std::slice::from_ref(&other), &["other"]),
            [CheckStatus::Warning]
        );
        assert_eq!(grades(&[other], &[""]), [CheckStatus::Failed]);
    }

    #[test]
    fn a_load_balancer_with_an_address_passes() {
        let service = |ingress: Value| -> PartialService {
            object(json!({
                "metadata": { "name": "a" }, "spec": { "type": "LoadBalancer" },
                "status": { "loadBalancer": { "ingress": ingress } },
            }))
        };
        let requirements = ShootRequirements {
            load_balancer: true,
            ..ShootRequirements::default()
        };
        let grade = |it: &[PartialService]| check_balancers(it, &requirements).status;
        assert_eq!(
            grade(&[service(json!([{ "ip": "192.0.2.1" }]))]),
            CheckStatus::Passed
        );
        assert_eq!(grade(&[service(json!([]))]), CheckStatus::Warning);
        assert_eq!(grade(&[]), CheckStatus::Warning);
    }
}
