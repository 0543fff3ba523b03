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
    /// The subset that replacing machines on draining nodes needs.
    to_evacuate: &'static [&'static str],
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
    /// Optional in the namespace: without it machines are replaced, even if KubeVirt could migrate them.
    Migrations,
    /// Needed in the namespace of shoots that own instancetypes or preferences.
    Instancetypes,
    /// Optional in the cluster: without it kvshoot knows less and behaves the same.
    Cluster,
    /// Optional in the cluster, and granted only on request: creating and deleting namespaces.
    Namespaces,
}

/// Observed objects that runs create, replace and delete. They are read before they are replaced, and after a response
/// was lost.
const OWN: &[&str] = &["get", "list", "watch", "create", "update", "delete"];
const READ_AND_DELETE: &[&str] = &["get", "list", "watch", "delete"];
const OBSERVE: &[&str] = &["get", "list", "watch"];

/// Includes the permissions of the cloud controller manager and the CSI driver: creating a Role requires all
/// permissions that it grants.
const RULES: &[PermissionRule] = &[
    PermissionRule {
        to_evacuate: &["get", "list", "watch", "patch"],
        verbs: &[
            "get", "list", "watch", "create", "update", "patch", "delete",
        ],
        to_delete: &["get", "list", "watch", "patch", "delete"],
        ..rule(
            "records and settings of shoots; patched to report progress and to set an expiry",
            &[&resources::CONFIG_MAP],
            OWN,
        )
    },
    PermissionRule {
        to_evacuate: &["get", "list", "watch", "create", "delete"],
        // Kubernetes deletes them with the record that owns them.
        to_delete: &[],
        ..rule(
            "keys, certificates and user data of shoots",
            &[&resources::SECRET],
            OWN,
        )
    },
    rule(
        "Services of control planes and load balancers; accounts of the cloud controller manager and the CSI driver",
        &[&resources::SERVICE, &resources::SERVICE_ACCOUNT],
        OWN,
    ),
    rule(
        "pods of control planes",
        &[&resources::DEPLOYMENT, &resources::STATEFUL_SET],
        OWN,
    ),
    rule(
        "disruption budgets of control planes",
        &[&resources::DISRUPTION_BUDGET],
        OWN,
    ),
    rule(
        "network policies of control planes",
        &[&resources::NETWORK_POLICY],
        OWN,
    ),
    PermissionRule {
        to_evacuate: &["get", "list", "watch", "update"],
        ..rule(
            "roles of the cloud controller manager and the CSI driver; one of them names the machines",
            &[&resources::ROLE],
            OWN,
        )
    },
    rule("bindings of these roles", &[&resources::ROLE_BINDING], OWN),
    PermissionRule {
        to_evacuate: &["get", "list", "create", "patch"],
        to_delete: &["get", "list", "create", "patch", "delete"],
        ..rule(
            "locks: one writer per shoot",
            &[&resources::LEASE],
            &["get", "list", "create", "patch", "delete"],
        )
    },
    PermissionRule {
        to_evacuate: &["get", "list", "watch", "create", "patch", "delete"],
        to_delete: READ_AND_DELETE,
        ..rule(
            "machines; patched to mark those that are drained",
            &[&resources::VIRTUAL_MACHINE],
            &["get", "list", "watch", "create", "patch", "delete"],
        )
    },
    PermissionRule {
        to_evacuate: OBSERVE,
        to_delete: &["list"],
        ..rule(
            "status of machines, read by the cloud controller manager as well; deleted to restart a machine",
            &[&resources::VIRTUAL_MACHINE_INSTANCE],
            &["get", "list", "watch", "delete"],
        )
    },
    PermissionRule {
        to_delete: READ_AND_DELETE,
        ..rule(
            "images, and volumes of the CSI driver",
            &[&resources::DATA_VOLUME],
            OWN,
        )
    },
    PermissionRule {
        to_evacuate: &["create"],
        ..rule(
            "cloning of images",
            &[&resources::DATA_VOLUME_SOURCE],
            &["create"],
        )
    },
    PermissionRule {
        to_evacuate: &["get", "list"],
        to_delete: &["list"],
        ..rule(
            "volumes, resized by the CSI driver; old volumes of etcd, which are deleted",
            &[&resources::CLAIM],
            &["get", "list", "watch", "patch", "delete"],
        )
    },
    PermissionRule {
        // To change the Role that grants them.
        to_evacuate: &["update"],
        ..rule(
            "volumes attached by the CSI driver",
            &[
                &resources::ADD_VOLUME,
                &resources::REMOVE_VOLUME,
                &resources::ADD_VOLUME_INSTANCE,
                &resources::REMOVE_VOLUME_INSTANCE,
            ],
            &["update"],
        )
    },
    PermissionRule {
        to_delete: READ_AND_DELETE,
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
            &["list"],
        )
    },
    PermissionRule {
        to_evacuate: &["list"],
        to_delete: &["list"],
        ..rule(
            "progress of a run",
            &[&resources::POD, &resources::EVENT],
            &["list"],
        )
    },
    rule("kvshoot events --watch", &[&resources::EVENT], &["watch"]),
    PermissionRule {
        to_delete: &["delete"],
        ..rule(
            "pods of deleted control planes, and members of etcd that restart",
            &[&resources::POD],
            &["delete"],
        )
    },
    PermissionRule {
        to_evacuate: &["get", "create"],
        ..rule(
            "tunnel to etcd, and to API servers without an address; older servers check get",
            &[&resources::PORT_FORWARD],
            &["get", "create"],
        )
    },
    PermissionRule {
        scope: PermissionScope::Migrations,
        ..rule(
            "migration of machines from hosts that are drained; optional, without it machines are replaced",
            &[&resources::MIGRATION],
            &["list", "create", "delete"],
        )
    },
    PermissionRule {
        scope: PermissionScope::Migrations,
        ..rule(
            "machines stay on hosts that are no longer drained; optional, served by KubeVirt 1.7 and later",
            &[&resources::CANCEL_EVACUATION],
            &["update"],
        )
    },
    PermissionRule {
        scope: PermissionScope::Networks,
        ..rule("networks of shoots", &[&resources::NETWORK], OWN)
    },
    PermissionRule {
        scope: PermissionScope::Diagnostics,
        ..rule(
            "logs for support bundles; optional",
            &[&resources::POD_LOG],
            &["get"],
        )
    },
    PermissionRule {
        to_evacuate: &["list"],
        ..rule(
            "quotas and limits, which the limits of the control plane follow",
            &[&resources::QUOTA, &resources::LIMIT_RANGE],
            &["list"],
        )
    },
    PermissionRule {
        to_evacuate: OBSERVE,
        scope: PermissionScope::Instancetypes,
        ..rule(
            "instancetypes and preferences: get for pools that name one, the rest for generated ones and copies of templates; optional",
            &[&resources::INSTANCETYPE, &resources::PREFERENCE],
            OWN,
        )
    },
    PermissionRule {
        scope: PermissionScope::Cluster,
        ..rule(
            "zones of the provider cluster",
            &[&resources::NODE],
            &["list"],
        )
    },
    PermissionRule {
        scope: PermissionScope::Cluster,
        ..rule(
            "machine types, for init and pools that name one",
            &[&resources::CLUSTER_INSTANCETYPE],
            &["get", "list"],
        )
    },
    PermissionRule {
        scope: PermissionScope::Cluster,
        ..rule(
            "preferences that pools name",
            &[&resources::CLUSTER_PREFERENCE],
            &["get"],
        )
    },
    PermissionRule {
        scope: PermissionScope::Cluster,
        ..rule(
            "topology of StorageClasses",
            &[&resources::STORAGE_CLASS],
            &["list"],
        )
    },
    PermissionRule {
        scope: PermissionScope::Cluster,
        ..rule(
            "access modes of StorageClasses, for shared volumes",
            &[&resources::STORAGE_PROFILE],
            &["get"],
        )
    },
    PermissionRule {
        scope: PermissionScope::Cluster,
        ..rule(
            "PriorityClass of control planes that name one",
            &[&resources::PRIORITY_CLASS],
            &["get"],
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
            "completion of -n, and whether a namespace exists and was created by kvshoot",
            &[&resources::NAMESPACE],
            &["get", "list"],
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
    PermissionRule {
        scope: PermissionScope::Namespaces,
        ..rule(
            "apply --create-namespace, and delete of such a namespace after its last shoot; of any namespace",
            &[&resources::NAMESPACE],
            &["create", "delete"],
        )
    },
];

/// A rule for objects of shoots, unless changed; deleting needs it only if objects are created and deleted.
const fn rule(
    why: &'static str,
    resources: &'static [&'static Resource],
    verbs: &'static [&'static str],
) -> PermissionRule {
    PermissionRule {
        why,
        resources,
        verbs,
        to_delete: if verbs.len() == OWN.len() {
            READ_AND_DELETE
        } else {
            &[]
        },
        to_evacuate: if verbs.len() == OWN.len() {
            OBSERVE
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
            | PermissionScope::Migrations
            | PermissionScope::Instancetypes
            | PermissionScope::Cluster
            | PermissionScope::Namespaces => false,
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

/// Optional permissions in the namespace, each with the consequence if it is missing.
pub(crate) fn optional() -> impl Iterator<Item = (Permission, &'static str)> {
    let consequences = [
        (
            PermissionScope::Diagnostics,
            "support bundles will be incomplete",
        ),
        (
            PermissionScope::Migrations,
            "machines on drained hosts will be replaced, even if KubeVirt could migrate them",
        ),
    ];
    consequences.into_iter().flat_map(|(wanted, consequence)| {
        let permissions = permissions_of(move |scope| scope == wanted, |it| it.verbs);
        permissions.map(move |it| (it, consequence))
    })
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
/// rule. With `manages_namespaces`, also a ClusterRole for creating and deleting namespaces.
pub(crate) fn manifest(namespace: Option<&str>, manages_namespaces: bool) -> String {
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
    rules(&mut text, is_in_namespace);
    text += "---\n# Optional: without it kvshoot knows neither zones nor StorageClasses.\n\
        apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: kvshoot\nrules:\n";
    rules(&mut text, |it| it == PermissionScope::Cluster);
    if manages_namespaces {
        text += "---\n# Creates and deletes namespaces. It allows deleting every namespace, since a ClusterRole cannot select those of kvshoot.\n\
            apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: kvshoot-namespaces\nrules:\n";
        rules(&mut text, |it| it == PermissionScope::Namespaces);
    }
    let volumes = resources::VOLUME.plural;
    text += &format!(
        "---\n# Optional: without it volumes inside shoots cannot be expanded. For the CSI drivers of all shoots in a namespace:\n\
        # kubectl create clusterrolebinding kvshoot-volumes-NAMESPACE --clusterrole=kvshoot-volumes --group=system:serviceaccounts:NAMESPACE\n\
        apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: kvshoot-volumes\nrules:\n  \
        # capacity of the volumes behind those of shoots\n  - apiGroups: [\"\"]\n    resources: [{volumes}]\n    verbs: [get]\n"
    );
    text
}

fn is_in_namespace(scope: PermissionScope) -> bool {
    !matches!(
        scope,
        PermissionScope::Cluster | PermissionScope::Namespaces
    )
}

/// Rules of a Role for applying shoots, as YAML with the purpose of each. Only an account that has all of them can create it.
/// The ClusterRole admin has no permission on migrations, so they are in a [Role of their own](rules_to_migrate).
pub(crate) fn rules_to_apply() -> String {
    let is_wanted =
        |it: &&PermissionRule| is_in_namespace(it.scope) && it.scope != PermissionScope::Migrations;
    let rules = RULES.iter().filter(is_wanted);
    rules.map(|it| format_rule(it, it.verbs)).collect()
}

/// Rules of a Role for migrating machines, as YAML with the purpose of each.
pub(crate) fn rules_to_migrate() -> String {
    let is_wanted = |it: &&PermissionRule| it.scope == PermissionScope::Migrations;
    let rules = RULES.iter().filter(is_wanted);
    rules.map(|it| format_rule(it, it.verbs)).collect()
}

/// Rules of a ClusterRole for placement, so that shoots are the same whichever account applies them.
pub(crate) fn rules_for_placement() -> String {
    let decides = |it: &&PermissionRule| {
        let mut resources = it.resources.iter();
        let decisive = [
            &resources::NODE,
            &resources::STORAGE_CLASS,
            &resources::STORAGE_PROFILE,
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

/// Rules of a Role for replacing machines on draining nodes, as YAML with the purpose of each.
pub(crate) fn rules_to_evacuate() -> String {
    let rules = RULES.iter().filter(|it| !it.to_evacuate.is_empty());
    rules.map(|it| format_rule(it, it.to_evacuate)).collect()
}

/// Rules of a Role for backing up shoots, as YAML with the purpose of each.
pub(crate) fn rules_to_back_up() -> String {
    let rules = [
        rule(
            "records, which show the newest backup",
            &[&resources::CONFIG_MAP],
            &["get", "list", "patch"],
        ),
        rule("root keys", &[&resources::SECRET], &["get"]),
        rule(
            "tunnels to etcd",
            &[&resources::PORT_FORWARD],
            &["get", "create"],
        ),
    ];
    rules.iter().map(|it| format_rule(it, it.verbs)).collect()
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
#[path = "permissions_tests.rs"]
mod tests;
