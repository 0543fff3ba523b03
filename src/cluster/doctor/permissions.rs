//! Permissions that kvshoot needs in the provider cluster: one table that is checked, printed and used for the example.

use crate::cluster::client::resources::{self, Resource};
use crate::cluster::objects::access_review::ResourceRule;
use std::fmt;

/// A verb on a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Permission {
    pub(crate) verb: &'static str,
    pub(crate) resource: &'static Resource,
}

/// Permissions on resources of one group, with their purpose.
struct PermissionRule {
    why: &'static str,
    resources: &'static [&'static Resource],
    verbs: &'static [&'static str],
    /// The subset that deleting shoots and checking for remaining objects needs.
    to_delete: &'static [&'static str],
    scope: PermissionScope,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PermissionScope {
    /// Needed in the namespace of every shoot.
    Namespace,
    /// Needed in the namespace of shoots with networks.
    Networks,
    /// Needed in the namespace of shoots with snapshots of volumes.
    Snapshots,
    /// Optional in the namespace: without it diagnostics have less detail.
    Diagnostics,
    /// Needed in the namespace of shoots that own instancetypes or preferences.
    Instancetypes,
    /// Optional in the cluster: without it kvshoot knows less and behaves the same.
    Cluster,
}

const READ: &[&str] = &["get", "list", "watch"];
const ALL: &[&str] = &[
    "get", "list", "watch", "create", "update", "patch", "delete",
];
const READ_AND_DELETE: &[&str] = &["get", "list", "watch", "delete"];

/// Includes the permissions of the cloud controller manager and the CSI driver: creating a Role requires all
/// permissions that it grants.
const RULES: &[PermissionRule] = &[
    rule(
        "records, keys, certificates and user data of shoots, and Services of control planes",
        &[
            &resources::CONFIG_MAP,
            &resources::SECRET,
            &resources::SERVICE,
            &resources::SERVICE_ACCOUNT,
        ],
        ALL,
    ),
    rule(
        "pods of control planes",
        &[&resources::DEPLOYMENT, &resources::STATEFUL_SET],
        ALL,
    ),
    rule(
        "disruption budgets of control planes",
        &[&resources::DISRUPTION_BUDGET],
        ALL,
    ),
    rule(
        "network policies of control planes",
        &[&resources::NETWORK_POLICY],
        ALL,
    ),
    rule(
        "roles of the cloud controller manager and the CSI driver",
        &[&resources::ROLE, &resources::ROLE_BINDING],
        ALL,
    ),
    PermissionRule {
        to_delete: &["get", "list", "create", "patch", "delete"],
        ..rule("locks: one writer per shoot", &[&resources::LEASE], ALL)
    },
    rule("machines", &[&resources::VIRTUAL_MACHINE], ALL),
    PermissionRule {
        to_delete: READ,
        ..rule(
            "status of machines; updated by the cloud controller manager",
            &[&resources::VIRTUAL_MACHINE_INSTANCE],
            &["get", "list", "watch", "update"],
        )
    },
    rule(
        "images, and volumes of the CSI driver",
        &[&resources::DATA_VOLUME],
        ALL,
    ),
    rule(
        "cloning of images",
        &[&resources::DATA_VOLUME_SOURCE],
        &["create"],
    ),
    PermissionRule {
        to_delete: &["get", "list"],
        ..rule(
            "volumes, resized by the CSI driver",
            &[&resources::CLAIM],
            &["get", "list", "watch", "update", "patch"],
        )
    },
    rule(
        "volumes attached by the CSI driver",
        &[
            &resources::ADD_VOLUME,
            &resources::REMOVE_VOLUME,
            &resources::ADD_VOLUME_INSTANCE,
            &resources::REMOVE_VOLUME_INSTANCE,
        ],
        &["update"],
    ),
    PermissionRule {
        to_delete: &["get", "list", "watch", "delete"],
        scope: PermissionScope::Snapshots,
        ..rule(
            "snapshots of the CSI driver; needed if the CloudProfile lists volumeSnapshotClasses",
            &[&resources::VOLUME_SNAPSHOT],
            &["get", "list", "watch", "create", "delete"],
        )
    },
    PermissionRule {
        to_delete: &["list"],
        ..rule(
            "verification that no endpoints of load balancers remain",
            &[&resources::ENDPOINT_SLICE],
            &["get", "list"],
        )
    },
    PermissionRule {
        to_delete: READ,
        ..rule(
            "progress of a run",
            &[&resources::POD, &resources::EVENT],
            READ,
        )
    },
    PermissionRule {
        to_delete: &["delete"],
        ..rule(
            "pods of deleted control planes",
            &[&resources::POD],
            &["delete"],
        )
    },
    PermissionRule {
        to_delete: &["get", "create"],
        ..rule(
            "tunnel to API servers without an address; older servers check get",
            &[&resources::PORT_FORWARD],
            &["get", "create"],
        )
    },
    PermissionRule {
        scope: PermissionScope::Networks,
        ..rule("networks of shoots", &[&resources::NETWORK], ALL)
    },
    PermissionRule {
        scope: PermissionScope::Diagnostics,
        ..rule(
            "logs for support bundles; optional",
            &[&resources::POD_LOG],
            &["get"],
        )
    },
    rule(
        "quotas and limits, which the limits of the control plane follow",
        &[&resources::QUOTA, &resources::LIMIT_RANGE],
        &["get", "list"],
    ),
    PermissionRule {
        scope: PermissionScope::Instancetypes,
        ..rule(
            "instancetypes and preferences: get for pools that name one, the rest for generated ones and copies of templates; optional",
            &[&resources::INSTANCETYPE, &resources::PREFERENCE],
            ALL,
        )
    },
    PermissionRule {
        scope: PermissionScope::Cluster,
        ..rule(
            "zones of the provider cluster",
            &[&resources::NODE],
            &["get", "list"],
        )
    },
    PermissionRule {
        scope: PermissionScope::Cluster,
        ..rule(
            "machine types, for init",
            &[&resources::CLUSTER_INSTANCETYPE],
            &["list"],
        )
    },
    PermissionRule {
        scope: PermissionScope::Cluster,
        ..rule(
            "topology and access modes of StorageClasses",
            &[&resources::STORAGE_CLASS, &resources::STORAGE_PROFILE],
            &["get", "list"],
        )
    },
    PermissionRule {
        scope: PermissionScope::Cluster,
        ..rule(
            "permission of machines to clone volumes of other namespaces, and of CSI drivers to expand volumes",
            &[&resources::ACCESS_REVIEW],
            &["create"],
        )
    },
    PermissionRule {
        scope: PermissionScope::Cluster,
        ..rule(
            "apply --create-namespace and list --all-namespaces",
            &[&resources::NAMESPACE],
            &["get", "list", "create", "delete"],
        )
    },
    PermissionRule {
        scope: PermissionScope::Cluster,
        ..rule(
            "versions and feature gates, for doctor",
            &[&resources::KUBEVIRT],
            &["list"],
        )
    },
    PermissionRule {
        scope: PermissionScope::Cluster,
        ..rule("version of CDI, for doctor", &[&resources::CDI], &["list"])
    },
    PermissionRule {
        scope: PermissionScope::Cluster,
        ..rule(
            "feature gates of CDI, for doctor",
            &[&resources::CDI_CONFIG],
            &["get"],
        )
    },
];

/// A rule for objects of shoots, unless changed; deleting needs it only if all verbs are granted.
const fn rule(
    why: &'static str,
    resources: &'static [&'static Resource],
    verbs: &'static [&'static str],
) -> PermissionRule {
    PermissionRule {
        why,
        resources,
        verbs,
        to_delete: if verbs.len() == ALL.len() {
            READ_AND_DELETE
        } else {
            &[]
        },
        scope: PermissionScope::Namespace,
    }
}

/// Features of shoots that need permissions of their own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct UsedFeatures {
    /// Networks of the shoot.
    pub(crate) networks: bool,
    /// Snapshots of volumes.
    pub(crate) snapshots: bool,
}

impl UsedFeatures {
    #[cfg(test)]
    const ALL: UsedFeatures = UsedFeatures {
        networks: true,
        snapshots: true,
    };

    fn require(self, scope: PermissionScope) -> bool {
        match scope {
            PermissionScope::Namespace => true,
            PermissionScope::Networks => self.networks,
            PermissionScope::Snapshots => self.snapshots,
            PermissionScope::Diagnostics
            | PermissionScope::Instancetypes
            | PermissionScope::Cluster => false,
        }
    }
}

/// Permissions of apply and delete in the namespace.
pub(crate) fn required(used: UsedFeatures) -> impl Iterator<Item = Permission> {
    permissions_of(move |scope| used.require(scope), |it| it.verbs)
}

/// Additional permissions of apply for instancetypes and preferences that a shoot owns.
pub(crate) fn required_for_instancetypes() -> impl Iterator<Item = Permission> {
    permissions_of(
        |scope| scope == PermissionScope::Instancetypes,
        |it| it.verbs,
    )
}

/// Permissions of delete and gc in the namespace.
pub(crate) fn required_to_delete(used: UsedFeatures) -> impl Iterator<Item = Permission> {
    permissions_of(move |scope| used.require(scope), |it| it.to_delete)
}

/// Permissions that only improve diagnostics.
pub(crate) fn used_for_diagnostics() -> impl Iterator<Item = Permission> {
    permissions_of(|scope| scope == PermissionScope::Diagnostics, |it| it.verbs)
}

/// Permissions in the cluster.
#[cfg(test)]
fn cluster_scoped() -> impl Iterator<Item = Permission> {
    permissions_of(|scope| scope == PermissionScope::Cluster, |it| it.verbs)
}

fn permissions_of(
    wanted: impl Fn(PermissionScope) -> bool,
    verbs: fn(&PermissionRule) -> &'static [&'static str],
) -> impl Iterator<Item = Permission> {
    let rules = RULES.iter().filter(move |it| wanted(it.scope));
    rules.flat_map(move |rule| {
        let resources = rule.resources.iter();
        resources.flat_map(move |resource| {
            let verbs = verbs(rule).iter();
            verbs.map(move |verb| Permission { verb, resource })
        })
    })
}

impl Permission {
    pub(crate) fn is_granted_by(&self, rule: &ResourceRule) -> bool {
        let has = |list: &[String], wanted: &str| list.iter().any(|it| it == "*" || it == wanted);
        has(&rule.verbs, self.verb)
            && has(&rule.api_groups, self.resource.group)
            && has(&rule.resources, self.resource.plural)
            && rule.resource_names.is_empty()
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, self.resource)
    }
}

/// A Role and a ClusterRole with the complete table, and the ClusterRole of CSI drivers, as YAML with the purpose of each
/// rule.
pub(crate) fn manifest(namespace: Option<&str>) -> String {
    let mut text =
        "# Permissions that kvshoot needs in the namespace of its shoots (kvshoot doctor --rbac)\n\
        apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n  name: kvshoot\n"
            .to_owned();
    if let Some(namespace) = namespace {
        text += &format!("  namespace: {namespace}\n");
    }
    text += "rules:\n";
    let rules = |text: &mut String, is_wanted: fn(PermissionScope) -> bool| {
        let wanted = RULES.iter().filter(|it| is_wanted(it.scope));
        wanted.for_each(|it| *text += &format_rule(it, it.verbs));
    };
    rules(&mut text, |it| it != PermissionScope::Cluster);
    text += "---\n# Optional: without it kvshoot knows neither zones nor StorageClasses and creates no namespaces.\n\
        apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: kvshoot\nrules:\n";
    rules(&mut text, |it| it == PermissionScope::Cluster);
    let volumes = resources::VOLUME.plural;
    text += &format!(
        "---\n# Optional: without it volumes inside shoots cannot be expanded. For the CSI drivers of all shoots in a namespace:\n\
        # kubectl create clusterrolebinding kvshoot-volumes-NAMESPACE --clusterrole=kvshoot-volumes --group=system:serviceaccounts:NAMESPACE\n\
        apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: kvshoot-volumes\nrules:\n  \
        # capacity of the volumes behind those of shoots\n  - apiGroups: [\"\"]\n    resources: [{volumes}]\n    verbs: [get]\n"
    );
    text
}

/// Rules of a Role for applying shoots, as YAML with the purpose of each.
pub(crate) fn rules_to_apply() -> String {
    let rules = RULES
        .iter()
        .filter(|it| it.scope != PermissionScope::Cluster);
    rules.map(|it| format_rule(it, it.verbs)).collect()
}

/// Rules of a ClusterRole for placement, so that shoots are the same whichever account applies them.
pub(crate) fn rules_for_placement() -> String {
    let decides = |it: &&PermissionRule| {
        let mut resources = it.resources.iter();
        let decisive = [
            &resources::NODE,
            &resources::STORAGE_CLASS,
            &resources::ACCESS_REVIEW,
        ];
        resources.any(|it| decisive.contains(it))
    };
    let rules = RULES.iter().filter(decides);
    rules.map(|it| format_rule(it, it.verbs)).collect()
}

/// Rules of a Role for deleting shoots, as YAML with the purpose of each.
pub(crate) fn rules_to_delete() -> String {
    let rules = RULES.iter().filter(|it| !it.to_delete.is_empty());
    rules.map(|it| format_rule(it, it.to_delete)).collect()
}

/// One entry per API group.
fn format_rule(rule: &PermissionRule, verbs: &[&str]) -> String {
    let mut text = format!("  # {}\n", rule.why);
    let groups = rule.resources.chunk_by(|a, b| a.group == b.group);
    for resources in groups {
        let group = resources[0].group;
        let group = if group.is_empty() { "\"\"" } else { group };
        let names: Vec<&str> = resources.iter().map(|it| it.plural).collect();
        text += &format!(
            "  - apiGroups: [{group}]\n    resources: [{}]\n    verbs: [{}]\n",
            names.join(", "),
            verbs.join(", ")
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize as _;
    use serde_json::{Value, json};

    #[test]
    fn a_rule_grants_its_verbs_but_not_for_single_objects() {
        let right = Permission {
            verb: "create",
            resource: &resources::VIRTUAL_MACHINE,
        };
        let rule = |groups: &[&str], names: &[&str]| -> ResourceRule {
            let rule = json!({
                "verbs": ["create", "get"],
                "apiGroups": groups,
                "resources": ["*"],
                "resourceNames": names,
            });
            serde_json::from_value(rule).unwrap()
        };
        assert!(right.is_granted_by(&rule(&["kubevirt.io"], &[])));
        assert!(right.is_granted_by(&rule(&["*"], &[])));
        assert!(!right.is_granted_by(&rule(&[""], &[])));
        assert!(!right.is_granted_by(&rule(&["kubevirt.io"], &["one"])));
        assert_eq!(right.to_string(), "create virtualmachines.kubevirt.io");
    }

    #[test]
    fn each_permission_is_listed_once() {
        let all: Vec<String> = required(UsedFeatures::ALL)
            .map(|it| it.to_string())
            .collect();
        let mut once = all.clone();
        once.sort();
        once.dedup();
        assert_eq!(all.len(), once.len());
        let plain = || required(UsedFeatures::default());
        assert!(!plain().any(|it| it.resource == &resources::NETWORK));
        assert!(!plain().any(|it| it.resource == &resources::VOLUME_SNAPSHOT));
    }

    /// What Kubernetes' ClusterRole `admin` does not grant, or only reads.
    #[test]
    fn nothing_is_demanded_that_a_tenant_with_the_role_admin_lacks() {
        let writes = |it: &Permission| !["get", "list", "watch"].contains(&it.verb);
        let denied = required(UsedFeatures::default()).filter(|it| {
            let resource = it.resource;
            let only_read = resource == &resources::ENDPOINT_SLICE;
            let third_party = resource == &resources::VOLUME_SNAPSHOT
                || resource == &resources::NETWORK
                || resource == &resources::NODE;
            (only_read && writes(it)) || third_party
        });
        assert_eq!(denied.map(|it| it.to_string()).collect::<Vec<_>>(), [""; 0]);
    }

    #[test]
    fn the_printed_roles_grant_every_permission() {
        let text = manifest(Some("shoots"));
        let roles: Vec<Value> = serde_yaml::Deserializer::from_str(&text)
            .map(|it| Value::deserialize(it).unwrap())
            .collect();
        let [role, cluster, volumes] = &roles[..] else {
            panic!("{text}")
        };
        let reads =
            json!([{ "apiGroups": [""], "resources": ["persistentvolumes"], "verbs": ["get"] }]);
        assert_eq!(volumes["rules"], reads);
        assert_eq!(role["metadata"]["namespace"], "shoots");
        let has = |role: &Value, right: &Permission| {
            let rules: Vec<ResourceRule> = serde_json::from_value(role["rules"].clone()).unwrap();
            rules.iter().any(|it| right.is_granted_by(it))
        };
        for right in required(UsedFeatures::ALL)
            .chain(required_for_instancetypes())
            .chain(used_for_diagnostics())
        {
            assert!(has(role, &right), "{right}");
        }
        for right in cluster_scoped() {
            assert!(has(cluster, &right), "{right}");
        }
    }
}
