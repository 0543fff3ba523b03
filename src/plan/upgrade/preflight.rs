//! Checks before an upgrade. Nothing is written if one of them finds an error that is not ignored.

use super::budgets;
use super::finding::UpgradeFinding;
use crate::model::Version;
use crate::plan::pool::capacity;
use crate::state::conditions::HealthInput;
use crate::state::facts::{Facts, ShootApi};
use crate::state::upgrade::{ObservedWebhook, UpgradeCheck, UpgradeFacts};
use crate::validate::{PoolSpec, ValidShoot};

/// Minor versions that a kubelet may be older than the API server.
const MAX_LAG: u64 = 3;

/// Input of the checks.
#[derive(Clone, Copy)]
pub(crate) struct Preflight<'a> {
    /// The Shoot as it was applied last.
    pub(crate) before: &'a ValidShoot,
    /// The Shoot with the new version.
    pub(crate) after: &'a ValidShoot,
    pub(crate) facts: &'a Facts,
    /// Why nothing can be read in the shoot, or what was read.
    pub(crate) shoot: Result<&'a UpgradeFacts, &'a str>,
}

/// All findings, in the order of [`UpgradeCheck`].
pub(crate) fn findings(preflight: &Preflight) -> Vec<UpgradeFinding> {
    let mut found = preflight.control_plane();
    if let Ok(shoot) = preflight.shoot {
        found.extend(preflight.removed_apis(shoot));
        found.extend(stored_versions(shoot));
        found.extend(api_services(shoot));
        found.extend(shoot.webhooks.iter().filter_map(webhook));
        let drained = |node: &str| preflight.is_drained(node);
        found.extend(budgets::findings(&shoot.budgets, drained));
    }
    found.extend(preflight.nodes());
    found.extend(preflight.skew());
    found.extend(preflight.room());
    found
}

impl Preflight<'_> {
    fn control_plane(&self) -> Vec<UpgradeFinding> {
        const CHECK: UpgradeCheck = UpgradeCheck::ControlPlane;
        let mut found = Vec::new();
        let why = match (&self.facts.shoot_api, self.shoot) {
            (ShootApi::Unreachable(why), _) => Some(&**why),
            (_, Err(why)) => Some(why),
            _ => None,
        };
        if let Some(why) = why {
            let problem = format!("cannot be read, so that little can be checked: {why}");
            let remedy = "repair the control plane first: kvshoot why";
            found.push(UpgradeFinding::error(CHECK, "API server", problem, remedy));
        }
        let health = HealthInput::of(self.facts, 0, true);
        for part in health.control_plane {
            let remedy = "repair it first: kvshoot why";
            let error =
                |why| UpgradeFinding::error(CHECK, format!("component {}", part.name), why, remedy);
            found.extend(part.why.map(|why| error(format!("is not ready: {why}"))));
        }
        let pods = self.facts.etcd.iter().flat_map(|it| &it.pods);
        for (ordinal, pod) in pods {
            let errors = pod.status.iter().flat_map(|it| &it.errors);
            found.extend(errors.map(|why| {
                let object = format!("member {ordinal} of etcd");
                let remedy = "see kvshoot status -o wide";
                UpgradeFinding::error(CHECK, object, format!("reports {why}"), remedy)
            }));
        }
        found
    }

    /// APIs are removed with a minor version of the control plane.
    fn removed_apis(&self, shoot: &UpgradeFacts) -> Vec<UpgradeFinding> {
        let of = |text: &str| Version::parse(text).map(|it| it.minor());
        let (now, next) = (of(&self.before.kubernetes), of(&self.after.kubernetes));
        let removed = shoot.requested_apis.iter().filter(|it| {
            let end = of(&it.removed_release);
            end.is_some() && end > now && end <= next
        });
        let found = removed.map(|it| {
            let problem = format!(
                "was requested since the API server started, and Kubernetes {} does not have it",
                it.removed_release
            );
            let remedy = "move its clients and manifests to a newer version; the audit log names them by the annotation k8s.io/deprecated";
            let object = format!("API {}", it.name);
            UpgradeFinding::error(UpgradeCheck::RemovedApi, object, problem, remedy)
        });
        found.collect()
    }

    /// True if the machine of a node is replaced by the upgrade.
    fn is_drained(&self, node: &str) -> bool {
        let mut pools = self.after.pools.iter().filter(|it| self.is_rolled(it));
        pools.any(|pool| {
            let machines = self.facts.machines.get(pool.name.as_str());
            machines.is_some_and(|it| it.contains_key(node))
        })
    }

    fn is_rolled(&self, pool: &PoolSpec) -> bool {
        let mut before = self.before.pools.iter();
        let before = before.find(|it| it.name == pool.name);
        before.is_some_and(|it| it.kubernetes != pool.kubernetes || it.image != pool.image)
    }

    fn nodes(&self) -> Vec<UpgradeFinding> {
        const CHECK: UpgradeCheck = UpgradeCheck::NodeNotReady;
        let mut found = Vec::new();
        for (_, name, machine) in self.facts.machines() {
            let object = format!("Node {name}");
            let problem = match self.facts.node_problem(name) {
                _ if !machine.runs => Some(format!("has a machine that is {}", machine.status)),
                other => other.map(|why| format!("is not ready: {why}")),
            };
            if let Some(problem) = problem {
                let remedy = "repair it, or replace it with kvshoot nodes replace";
                found.push(UpgradeFinding {
                    refuses: self.is_drained(name),
                    ..UpgradeFinding::error(CHECK, object, problem, remedy)
                });
            } else if self
                .facts
                .nodes
                .get(name)
                .is_some_and(|it| it.info.cordoned)
            {
                let remedy = "uncordon it if its pods have to find room meanwhile";
                let problem = "accepts no pods";
                found.push(UpgradeFinding::warning(CHECK, object, problem, remedy));
            }
        }
        found
    }

    fn skew(&self) -> Vec<UpgradeFinding> {
        let next = Version::parse(&self.after.kubernetes).map_or(0, |it| it.minor().1);
        let nodes = self.facts.nodes.iter().filter_map(|(name, node)| {
            let version = &node.info.kubelet_version;
            let own = Version::parse(version)?.minor().1;
            (next > own + MAX_LAG).then(|| {
                let problem = format!(
                    "runs kubelet {version}, which is more than {MAX_LAG} minor versions older than {}",
                    self.after.kubernetes
                );
                let remedy = "upgrade its pool first, or delete the node if it has no machine";
                let object = format!("Node {name}");
                UpgradeFinding::error(UpgradeCheck::KubeletSkew, object, problem, remedy)
            })
        });
        nodes.collect()
    }

    fn room(&self) -> Vec<UpgradeFinding> {
        let rolled = |pool: &PoolSpec| self.is_rolled(pool);
        let shortages = capacity::surge_shortages(self.after, self.facts, rolled);
        let found = shortages.into_iter().map(|why| {
            let remedy = "raise the quota, or set maxUnavailable to 1";
            let problem = format!("has no room for a new machine: {why}");
            UpgradeFinding::error(UpgradeCheck::Quota, "namespace", problem, remedy)
        });
        found.collect()
    }
}

fn stored_versions(shoot: &UpgradeFacts) -> impl Iterator<Item = UpgradeFinding> {
    shoot.stored_versions.iter().map(|it| {
        let object = format!("CustomResourceDefinition {}", it.definition);
        let problem = format!(
            "has stored objects in version {}, which it does not serve",
            it.version
        );
        let remedy = "write its objects again in a served version, then remove the version from status.storedVersions";
        UpgradeFinding::warning(UpgradeCheck::StoredVersion, object, problem, remedy)
    })
}

fn api_services(shoot: &UpgradeFacts) -> impl Iterator<Item = UpgradeFinding> {
    shoot.unavailable_services.iter().map(|(name, why)| {
        let object = format!("APIService {name}");
        let problem = format!(
            "is not available, so that garbage collection and the deletion of namespaces fail: {why}"
        );
        let remedy = "repair its server, or delete the APIService";
        UpgradeFinding::error(UpgradeCheck::ApiService, object, problem, remedy)
    })
}

fn webhook(webhook: &ObservedWebhook) -> Option<UpgradeFinding> {
    if webhook.has_endpoint {
        return None;
    }
    let object = format!("{} webhook {}", webhook.configuration, webhook.name);
    let service = webhook.service.as_deref().unwrap_or_default();
    let problem = format!(
        "rejects requests while Service {service} has no ready endpoint (failurePolicy Fail)"
    );
    let remedy = "repair its server, or set failurePolicy to Ignore";
    Some(UpgradeFinding {
        refuses: webhook.is_vital,
        ..UpgradeFinding::error(UpgradeCheck::Webhook, object, problem, remedy)
    })
}

#[cfg(test)]
#[path = "preflight_tests.rs"]
mod tests;
