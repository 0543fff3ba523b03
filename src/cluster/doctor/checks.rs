//! What a provider cluster has and lacks, for whoever is about to use it.

use super::feature_gates;
use super::finding::{Finding, Uses, failure, fine, warning};
use super::permissions;
use super::version::parsed;
use crate::cluster::client::api_client::Provider;
use crate::cluster::client::error::Error;
use crate::cluster::client::request::Place;
use crate::cluster::client::resources::{self, Resource};
use crate::cluster::json::{items, text};
use crate::state::names;
use serde_json::Value;
use std::collections::BTreeSet;

/// The oldest that kvshoot is tried with.
const KUBERNETES: (u32, u32) = (1, 27);
const KUBEVIRT: (u32, u32) = (1, 1);
const CDI: (u32, u32) = (1, 57);
const DEFAULT_CLASS: [&str; 2] = [
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.kubevirt.io/is-default-virt-class",
];
const ROLES: &str = "kvshoot doctor --rbac prints the roles";

impl Provider {
    /// Looks at all of it, and changes nothing.
    ///
    /// # Errors
    ///
    /// The server does not answer. What may not be looked at is a finding.
    pub(crate) async fn examine(&self, uses: &Uses) -> Result<Vec<Finding>, Error> {
        let version = self.get_path("/version", "version").await?;
        let mut findings = vec![kubernetes(&version)];
        findings.extend(self.virtualization(uses, &version).await?);
        findings.extend(self.types(uses).await?);
        findings.push(self.importer().await?);
        findings.push(self.multus(uses).await?);
        findings.push(self.snapshots().await?);
        findings.extend(self.storage(uses).await?);
        findings.push(self.zones().await?);
        findings.push(self.own_namespace().await?);
        findings.extend(self.own_rights(uses).await?);
        findings.push(self.load_balancers(uses).await?);
        Ok(findings)
    }

    async fn virtualization(&self, uses: &Uses, kubernetes: &Value) -> Result<Vec<Finding>, Error> {
        const SUBJECT: &str = "KubeVirt";
        if !self.serves(&resources::VIRTUAL_MACHINE).await? {
            return Ok(vec![not_installed(SUBJECT)]);
        }
        let found = match self.installation(&resources::KUBEVIRT).await? {
            Ok(Some(found)) => found,
            Ok(None) => return Ok(vec![undescribed(SUBJECT)]),
            Err(NotAllowed) => return Ok(vec![unseen(SUBJECT, "its version and feature gates")]),
        };
        let version = text(&found["status"]["observedKubeVirtVersion"]);
        let mut findings = vec![installed(SUBJECT, version, KUBEVIRT, &found)];
        findings.extend(feature_gates::pair(
            text(&kubernetes["gitVersion"]),
            version,
        ));
        findings.extend(feature_gates::kubevirt(&found, uses));
        Ok(findings)
    }

    async fn types(&self, uses: &Uses) -> Result<Option<Finding>, Error> {
        if !uses.types || self.serves(&resources::INSTANCETYPE).await? {
            return Ok(None);
        }
        let message =
            "instancetype.kubevirt.io/v1beta1 is not served, as KubeVirt 1.0 and later do";
        Ok(Some(failure("instancetypes", message)))
    }

    async fn importer(&self) -> Result<Finding, Error> {
        const SUBJECT: &str = "CDI";
        if !self.serves(&resources::DATA_VOLUME).await? {
            return Ok(not_installed(SUBJECT));
        }
        Ok(match self.installation(&resources::CDI).await? {
            Ok(Some(it)) => installed(SUBJECT, text(&it["status"]["observedVersion"]), CDI, &it),
            Ok(None) => undescribed(SUBJECT),
            Err(NotAllowed) => unseen(SUBJECT, "its version"),
        })
    }

    async fn multus(&self, uses: &Uses) -> Result<Finding, Error> {
        const SUBJECT: &str = "Multus";
        Ok(
            match (self.serves(&resources::NETWORK).await?, uses.networks) {
                (true, _) => fine(SUBJECT, "installed"),
                (false, true) => not_installed(SUBJECT),
                (false, false) => fine(SUBJECT, "not installed; only shoots with networks need it"),
            },
        )
    }

    async fn snapshots(&self) -> Result<Finding, Error> {
        const SUBJECT: &str = "volume snapshots";
        Ok(match self.serves(&resources::VOLUME_SNAPSHOT).await? {
            true => fine(SUBJECT, "served"),
            false => Finding {
                hint: Some("install the snapshot controller and its CRDs".to_owned()),
                ..warning(
                    SUBJECT,
                    "not served: volumes inside shoots have no snapshots",
                )
            },
        })
    }

    async fn storage(&self, uses: &Uses) -> Result<Vec<Finding>, Error> {
        match self
            .list(Place::all(&resources::STORAGE_CLASS, None), None)
            .await
        {
            Ok(listed) => {
                let mut findings = classes(&listed.items, uses);
                findings.extend(self.first_consumers(&waiting(&listed.items, uses)).await?);
                Ok(findings)
            }
            Err(Error::NotAllowed { .. }) => Ok(vec![unseen("storage classes", "them")]),
            Err(error) => Err(error),
        }
    }

    /// Who may not look, or has another importer, is told nothing.
    async fn first_consumers(&self, waiting: &[String]) -> Result<Option<Finding>, Error> {
        let place = Place {
            resource: &resources::CDI_CONFIG,
            namespace: None,
            name: Some("config"),
        };
        match self.get_again(place).await {
            Ok(found) => Ok(feature_gates::first_consumer(&found, waiting)),
            Err(Error::NotFound { .. } | Error::NotAllowed { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn zones(&self) -> Result<Finding, Error> {
        const SUBJECT: &str = "nodes";
        let listed = self.list_metadata(Place::all(&resources::NODE, None), None);
        let nodes = match listed.await {
            Ok(listed) => listed.items,
            Err(Error::NotAllowed { .. }) => return Ok(unseen(SUBJECT, "the zones")),
            Err(error) => return Err(error),
        };
        let zones: BTreeSet<&str> = nodes
            .iter()
            .map(|it| text(&it["metadata"]["labels"][names::ZONE_LABEL]))
            .filter(|it| !it.is_empty())
            .collect();
        let zones = match zones.len() {
            0 => "no zones".to_owned(),
            _ => format!("zones {}", zones.into_iter().collect::<Vec<_>>().join(", ")),
        };
        Ok(fine(SUBJECT, format!("{} nodes, {zones}", nodes.len())))
    }

    async fn own_namespace(&self) -> Result<Finding, Error> {
        const SUBJECT: &str = "namespace";
        let name = &**self.namespace();
        let place = Place {
            resource: &resources::NAMESPACE,
            namespace: None,
            name: Some(name),
        };
        match self.get_again(place).await {
            Ok(_) => Ok(fine(SUBJECT, name)),
            Err(Error::NotFound { .. }) => Ok(Finding {
                hint: Some("kvshoot apply --create-namespace makes it".to_owned()),
                ..warning(SUBJECT, format!("{name} does not exist"))
            }),
            Err(Error::NotAllowed { .. }) => Ok(fine(SUBJECT, name)),
            Err(error) => Err(error),
        }
    }

    async fn own_rights(&self, uses: &Uses) -> Result<Vec<Finding>, Error> {
        const SUBJECT: &str = "rights";
        let missing = self.missing_rights(uses.networks).await?;
        let untold = self.missing_of(permissions::telling()).await?;
        if missing.is_empty() && untold.is_empty() {
            let message = format!("all in namespace {}", self.namespace());
            return Ok(vec![fine(SUBJECT, message)]);
        }
        let told = |it: &permissions::Right| Finding {
            hint: Some(ROLES.to_owned()),
            ..failure(SUBJECT, format!("missing: {it}"))
        };
        let less = |it: &permissions::Right| Finding {
            hint: Some(ROLES.to_owned()),
            ..warning(SUBJECT, format!("missing: {it}; bundles hold less"))
        };
        let all = missing.iter().map(told).chain(untold.iter().map(less));
        Ok(all.collect())
    }

    /// Whether there is an implementation shows only when one is asked for.
    async fn load_balancers(&self, uses: &Uses) -> Result<Finding, Error> {
        const SUBJECT: &str = "load balancers";
        let place = Place::all(&resources::SERVICE, Some(self.namespace()));
        let services = match self.list(place, None).await {
            Ok(listed) => listed.items,
            Err(Error::NotAllowed { .. }) => return Ok(unseen(SUBJECT, "Services")),
            Err(error) => return Err(error),
        };
        Ok(balancers(&services, uses))
    }

    /// The one of the cluster, in whatever namespace.
    async fn installation(
        &self,
        resource: &'static Resource,
    ) -> Result<Result<Option<Value>, NotAllowed>, Error> {
        match self.list(Place::all(resource, None), None).await {
            Ok(mut listed) => Ok(Ok(listed.items.pop())),
            Err(Error::NotFound { .. }) => Ok(Ok(None)),
            Err(Error::NotAllowed { .. }) => Ok(Err(NotAllowed)),
            Err(error) => Err(error),
        }
    }
}

struct NotAllowed;

fn kubernetes(version: &Value) -> Finding {
    let version = text(&version["gitVersion"]);
    aged("Kubernetes", version, KUBERNETES)
}

fn installed(
    subject: &'static str,
    version: &str,
    oldest: (u32, u32),
    installation: &Value,
) -> Finding {
    match text(&installation["status"]["phase"]) {
        "Deployed" => aged(subject, version, oldest),
        "" => warning(
            subject,
            "installed, but it does not say that it is deployed",
        ),
        phase => warning(subject, format!("installed, but {phase}")),
    }
}

fn aged(subject: &'static str, version: &str, oldest: (u32, u32)) -> Finding {
    match parsed(version) {
        Some(it) if it >= oldest => fine(subject, version),
        Some(_) => {
            let (major, minor) = oldest;
            let message = format!("{version} is older than {major}.{minor}, and untried");
            warning(subject, message)
        }
        None => warning(subject, "its version is unknown"),
    }
}

/// The classes whose volumes wait for who uses them, of those that a shoot uses, or of all.
fn waiting(there: &[Value], uses: &Uses) -> Vec<String> {
    let waits = |it: &&Value| it["volumeBindingMode"] == "WaitForFirstConsumer";
    let names = there
        .iter()
        .filter(waits)
        .map(|it| text(&it["metadata"]["name"]));
    let is_used = |it: &&str| uses.classes.is_empty() || uses.classes.contains(*it);
    names.filter(is_used).map(str::to_owned).collect()
}

fn classes(there: &[Value], uses: &Uses) -> Vec<Finding> {
    const SUBJECT: &str = "storage classes";
    let is_default = |it: &&Value| {
        DEFAULT_CLASS
            .iter()
            .any(|key| it["metadata"]["annotations"][key] == "true")
    };
    let default = there.iter().find(is_default);
    let mut findings = vec![match default {
        Some(it) => fine(
            SUBJECT,
            format!("the default is {}", text(&it["metadata"]["name"])),
        ),
        None if uses.classes.contains("") => failure(SUBJECT, "there is no default"),
        None => warning(
            SUBJECT,
            "there is no default: volume types have to name a class",
        ),
    }];
    let is_there = |name: &str| there.iter().any(|it| it["metadata"]["name"] == name);
    let missing = uses
        .classes
        .iter()
        .filter(|it| !it.is_empty() && !is_there(it));
    findings.extend(missing.map(|it| failure(SUBJECT, format!("{it} does not exist"))));
    findings
}

fn balancers(services: &[Value], uses: &Uses) -> Finding {
    const SUBJECT: &str = "load balancers";
    let all = || {
        services
            .iter()
            .filter(|it| it["spec"]["type"] == "LoadBalancer")
    };
    let given = all().find(|it| !items(&it["status"]["loadBalancer"]["ingress"]).is_empty());
    match (given, all().next()) {
        (Some(it), _) => fine(
            SUBJECT,
            format!("Service {} has an address", text(&it["metadata"]["name"])),
        ),
        (None, Some(it)) => warning(
            SUBJECT,
            format!(
                "Service {} has no address yet",
                text(&it["metadata"]["name"])
            ),
        ),
        (None, None) if uses.load_balancer => warning(
            SUBJECT,
            "the shoot asks for one; whether they are given shows when it is made",
        ),
        (None, None) => fine(
            SUBJECT,
            "none here; whether they are given shows with the first one",
        ),
    }
}

fn not_installed(subject: &'static str) -> Finding {
    failure(subject, "not installed")
}

/// Its kinds are served, but nothing tells who serves them.
fn undescribed(subject: &'static str) -> Finding {
    warning(
        subject,
        format!("served, but there is no {subject} object: its version is unknown"),
    )
}

fn unseen(subject: &'static str, what: &str) -> Finding {
    Finding {
        hint: Some(ROLES.to_owned()),
        ..warning(subject, format!("not allowed to read {what}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::doctor::finding::Grade;
    use serde_json::json;

    #[test]
    fn versions_are_read_as_vendors_write_them() {
        assert_eq!(parsed("v1.33.1"), Some((1, 33)));
        assert_eq!(parsed("1.30+"), Some((1, 30)));
        assert_eq!(parsed("v1.9.0-eks"), Some((1, 9)));
        assert_eq!(parsed(""), None);
        assert_eq!(aged("x", "v1.2.3", (1, 10)).grade, Grade::Warning);
        assert_eq!(aged("x", "v1.10.0", (1, 10)).grade, Grade::Fine);
    }

    #[test]
    fn a_class_that_a_shoot_names_has_to_be_there() {
        let class = |name: &str, default: &str| json!({ "metadata": { "name": name, "annotations": { DEFAULT_CLASS[0]: default } } });
        let grades = |there: &[Value], names: &[&str]| -> Vec<Grade> {
            let uses = Uses {
                classes: names.iter().map(ToString::to_string).collect(),
                ..Uses::default()
            };
            classes(there, &uses).iter().map(|it| it.grade).collect()
        };
        let (fast, other) = (class("fast", "true"), class("other", "false"));
        assert_eq!(
            grades(std::slice::from_ref(&fast), &["", "fast"]),
            [Grade::Fine]
        );
        assert_eq!(grades(&[fast], &["slow"]), [Grade::Fine, Grade::Failure]);
        assert_eq!(
            grades(std::slice::from_ref(&other), &["other"]),
            [Grade::Warning]
        );
        assert_eq!(grades(&[other], &[""]), [Grade::Failure]);
    }

    #[test]
    fn a_balancer_with_an_address_proves_that_they_are_given() {
        let service = |ingress: Value| {
            json!({
                "metadata": { "name": "a" }, "spec": { "type": "LoadBalancer" },
                "status": { "loadBalancer": { "ingress": ingress } },
            })
        };
        let uses = Uses {
            load_balancer: true,
            ..Uses::default()
        };
        let grade = |it: &[Value]| balancers(it, &uses).grade;
        assert_eq!(
            grade(&[service(json!([{ "ip": "192.0.2.1" }]))]),
            Grade::Fine
        );
        assert_eq!(grade(&[service(Value::Null)]), Grade::Warning);
        assert_eq!(grade(&[]), Grade::Warning);
    }
}
