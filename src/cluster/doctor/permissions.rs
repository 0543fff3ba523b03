//! What kvshoot has to be allowed in the provider cluster: the one table that is checked, printed and kept as an example.

use crate::cluster::client::resources::{self, Resource};
use crate::cluster::json::items;
use serde_json::Value;
use std::fmt;

/// One thing that is done to the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Right {
    pub(crate) verb: &'static str,
    pub(crate) resource: &'static Resource,
}

/// What may be done to resources of one group, and what for.
struct Rule {
    why: &'static str,
    resources: &'static [&'static Resource],
    verbs: &'static [&'static str],
    /// What of it is needed by who only deletes shoots, and looks whether anything is left.
    to_delete: &'static [&'static str],
    scope: Scope,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// Every shoot needs it in its namespace.
    Namespace,
    /// In the namespace, for shoots that have networks.
    Networks,
    /// In the namespace; without it kvshoot can tell less of what went wrong.
    Telling,
    /// In the namespace, for shoots that keep instancetypes or preferences for their pools.
    Types,
    /// In the whole cluster; without it kvshoot knows less, and does the same.
    Cluster,
}

const READ: &[&str] = &["get", "list", "watch"];
const ALL: &[&str] = &[
    "get", "list", "watch", "create", "update", "patch", "delete",
];
const READ_AND_DELETE: &[&str] = &["get", "list", "watch", "delete"];

/// What the cloud controller manager and the CSI driver are given is here too: a Role that grants more than its maker
/// has is refused.
const RULES: &[Rule] = &[
    rule(
        "records of shoots, keys, certificates and user data, and what leads to a control plane",
        &[
            &resources::CONFIG_MAP,
            &resources::SECRET,
            &resources::SERVICE,
            &resources::SERVICE_ACCOUNT,
        ],
        ALL,
    ),
    rule(
        "the pods of a control plane",
        &[&resources::DEPLOYMENT, &resources::STATEFUL_SET],
        ALL,
    ),
    rule(
        "how few of them may run",
        &[&resources::DISRUPTION_BUDGET],
        ALL,
    ),
    rule("who may reach them", &[&resources::NETWORK_POLICY], ALL),
    rule(
        "what the cloud controller manager and the CSI driver may do",
        &[&resources::ROLE, &resources::ROLE_BINDING],
        ALL,
    ),
    Rule {
        to_delete: &["get", "list", "create", "patch", "delete"],
        ..rule("one writer at a time", &[&resources::LEASE], ALL)
    },
    rule("machines", &[&resources::VIRTUAL_MACHINE], ALL),
    Rule {
        to_delete: READ,
        ..rule(
            "how machines are; the cloud controller manager writes to them",
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
        "clones of images",
        &[&resources::DATA_VOLUME_SOURCE],
        &["create"],
    ),
    Rule {
        to_delete: &["get", "list"],
        ..rule(
            "volumes, which the CSI driver resizes",
            &[&resources::CLAIM],
            &["get", "list", "watch", "update", "patch"],
        )
    },
    rule(
        "volumes that the CSI driver attaches",
        &[
            &resources::ADD_VOLUME,
            &resources::REMOVE_VOLUME,
            &resources::ADD_VOLUME_INSTANCE,
            &resources::REMOVE_VOLUME_INSTANCE,
        ],
        &["update"],
    ),
    Rule {
        to_delete: &["get", "list", "watch", "delete"],
        ..rule(
            "snapshots of the CSI driver",
            &[&resources::VOLUME_SNAPSHOT],
            &["get", "list", "watch", "create", "delete"],
        )
    },
    Rule {
        to_delete: &["list", "delete"],
        ..rule(
            "endpoints of load balancers, of the cloud controller manager",
            &[&resources::ENDPOINT_SLICE],
            ALL,
        )
    },
    Rule {
        to_delete: READ,
        ..rule(
            "what a run waits for",
            &[&resources::POD, &resources::EVENT],
            READ,
        )
    },
    Rule {
        to_delete: &["delete"],
        ..rule(
            "pods of a deleted control plane, which have nothing to finish",
            &[&resources::POD],
            &["delete"],
        )
    },
    Rule {
        to_delete: &["get", "create"],
        ..rule(
            "the tunnel to an API server without an address; get is what older servers ask for",
            &[&resources::PORT_FORWARD],
            &["get", "create"],
        )
    },
    Rule {
        scope: Scope::Networks,
        ..rule("networks of shoots", &[&resources::NETWORK], ALL)
    },
    Rule {
        scope: Scope::Telling,
        ..rule(
            "logs, for bundle; may be left out",
            &[&resources::POD_LOG],
            &["get"],
        )
    },
    Rule {
        scope: Scope::Telling,
        ..rule(
            "what bounds the namespace, for apply, plan and bundle to tell; may be left out",
            &[&resources::QUOTA, &resources::LIMIT_RANGE],
            &["get", "list"],
        )
    },
    Rule {
        scope: Scope::Types,
        ..rule(
            "instancetypes and preferences: get for pools that name one, the rest for standard ones and copies of templates; may be left out",
            &[&resources::INSTANCETYPE, &resources::PREFERENCE],
            ALL,
        )
    },
    Rule {
        scope: Scope::Cluster,
        ..rule(
            "the zones of the provider",
            &[&resources::NODE],
            &["get", "list"],
        )
    },
    Rule {
        scope: Scope::Cluster,
        ..rule(
            "whether volumes belong to a zone, and whether several machines may have them",
            &[&resources::STORAGE_CLASS, &resources::STORAGE_PROFILE],
            &["get", "list"],
        )
    },
    Rule {
        scope: Scope::Cluster,
        ..rule(
            "whether machines may clone volumes of other namespaces",
            &[&resources::ACCESS_REVIEW],
            &["create"],
        )
    },
    Rule {
        scope: Scope::Cluster,
        ..rule(
            "apply --create-namespace, and list --all-namespaces",
            &[&resources::NAMESPACE],
            &["get", "list", "create", "delete"],
        )
    },
    Rule {
        scope: Scope::Cluster,
        ..rule(
            "versions and feature gates, for doctor",
            &[&resources::KUBEVIRT],
            &["list"],
        )
    },
    Rule {
        scope: Scope::Cluster,
        ..rule(
            "the importer's version, for doctor",
            &[&resources::CDI],
            &["list"],
        )
    },
    Rule {
        scope: Scope::Cluster,
        ..rule(
            "the importer's feature gates, for doctor",
            &[&resources::CDI_CONFIG],
            &["get"],
        )
    },
];

/// What shoots are made of, unless a rule says otherwise: nothing that only controllers do.
const fn rule(
    why: &'static str,
    resources: &'static [&'static Resource],
    verbs: &'static [&'static str],
) -> Rule {
    Rule {
        why,
        resources,
        verbs,
        to_delete: if verbs.len() == ALL.len() {
            READ_AND_DELETE
        } else {
            &[]
        },
        scope: Scope::Namespace,
    }
}

/// Everything that apply and delete do in the namespace.
pub(crate) fn needed(uses_networks: bool) -> impl Iterator<Item = Right> {
    of(move |scope| is_needed(scope, uses_networks), |it| it.verbs)
}

/// What apply does beside that for the instancetypes and preferences that a shoot keeps.
pub(crate) fn needed_for_types() -> impl Iterator<Item = Right> {
    of(|scope| scope == Scope::Types, |it| it.verbs)
}

/// Everything that delete and gc do in the namespace.
pub(crate) fn needed_to_delete(uses_networks: bool) -> impl Iterator<Item = Right> {
    of(
        move |scope| is_needed(scope, uses_networks),
        |it| it.to_delete,
    )
}

fn is_needed(scope: Scope, uses_networks: bool) -> bool {
    match scope {
        Scope::Namespace => true,
        Scope::Networks => uses_networks,
        Scope::Telling | Scope::Types | Scope::Cluster => false,
    }
}

/// What is read in the namespace to tell what went wrong.
pub(crate) fn telling() -> impl Iterator<Item = Right> {
    of(|scope| scope == Scope::Telling, |it| it.verbs)
}

/// What is read of the whole cluster.
#[cfg(test)]
fn useful() -> impl Iterator<Item = Right> {
    of(|scope| scope == Scope::Cluster, |it| it.verbs)
}

fn of(
    wanted: impl Fn(Scope) -> bool,
    verbs: fn(&Rule) -> &'static [&'static str],
) -> impl Iterator<Item = Right> {
    let rules = RULES.iter().filter(move |it| wanted(it.scope));
    rules.flat_map(move |rule| {
        let resources = rule.resources.iter();
        resources.flat_map(move |resource| {
            let verbs = verbs(rule).iter();
            verbs.map(move |verb| Right { verb, resource })
        })
    })
}

impl Right {
    pub(crate) fn is_in(&self, rule: &Value) -> bool {
        let has = |list: &str, wanted: &str| {
            items(&rule[list])
                .iter()
                .any(|it| it == "*" || it == wanted)
        };
        has("verbs", self.verb)
            && has("apiGroups", self.resource.group)
            && has("resources", self.resource.plural)
            && items(&rule["resourceNames"]).is_empty()
    }
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, self.resource)
    }
}

/// The Role and the ClusterRole that hold all of the table, as YAML that says what each rule is for.
pub(crate) fn manifest(namespace: Option<&str>) -> String {
    let mut text =
        "# What kvshoot has to be allowed in the namespace of its shoots: kvshoot doctor --rbac\n\
        apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n  name: kvshoot\n"
            .to_owned();
    if let Some(namespace) = namespace {
        text += &format!("  namespace: {namespace}\n");
    }
    text += "rules:\n";
    let rules = |text: &mut String, is_wanted: fn(Scope) -> bool| {
        let wanted = RULES.iter().filter(|it| is_wanted(it.scope));
        wanted.for_each(|it| *text += &told(it, it.verbs));
    };
    rules(&mut text, |it| it != Scope::Cluster);
    text += "---\n# May be left out: without it kvshoot knows neither zones nor classes of volumes, and makes no namespaces.\n\
        apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: kvshoot\nrules:\n";
    rules(&mut text, |it| it == Scope::Cluster);
    text
}

/// The rules of a Role for who applies shoots, as YAML that says what each is for.
pub(crate) fn rules_to_apply() -> String {
    let rules = RULES.iter().filter(|it| it.scope != Scope::Cluster);
    rules.map(|it| told(it, it.verbs)).collect()
}

/// Those of a ClusterRole by which shoots are made of the same things whoever applies them.
pub(crate) fn rules_to_choose() -> String {
    let decides = |it: &&Rule| {
        let mut resources = it.resources.iter();
        resources.any(|it| [&resources::NODE, &resources::STORAGE_CLASS].contains(it))
    };
    let rules = RULES.iter().filter(decides);
    rules.map(|it| told(it, it.verbs)).collect()
}

/// The rules of a Role for who only deletes shoots, as YAML that says what each is for.
pub(crate) fn rules_to_delete() -> String {
    let rules = RULES.iter().filter(|it| !it.to_delete.is_empty());
    rules.map(|it| told(it, it.to_delete)).collect()
}

/// Resources of one group after the other.
fn told(rule: &Rule, verbs: &[&str]) -> String {
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
    use serde_json::json;

    #[test]
    fn a_rule_grants_what_it_names_and_no_single_objects() {
        let right = Right {
            verb: "create",
            resource: &resources::VIRTUAL_MACHINE,
        };
        let rule = |groups: &[&str], names: &[&str]| {
            json!({
                "verbs": ["create", "get"],
                "apiGroups": groups,
                "resources": ["*"],
                "resourceNames": names,
            })
        };
        assert!(right.is_in(&rule(&["kubevirt.io"], &[])));
        assert!(right.is_in(&rule(&["*"], &[])));
        assert!(!right.is_in(&rule(&[""], &[])));
        assert!(!right.is_in(&rule(&["kubevirt.io"], &["one"])));
        assert_eq!(right.to_string(), "create virtualmachines.kubevirt.io");
    }

    #[test]
    fn each_right_is_asked_for_once() {
        let all: Vec<String> = needed(true).map(|it| it.to_string()).collect();
        let mut once = all.clone();
        once.sort();
        once.dedup();
        assert_eq!(all.len(), once.len());
        assert!(!needed(false).any(|it| it.resource == &resources::NETWORK));
    }

    #[test]
    fn who_has_the_printed_roles_has_every_right() {
        let text = manifest(Some("shoots"));
        let roles: Vec<Value> = serde_yaml::Deserializer::from_str(&text)
            .map(|it| Value::deserialize(it).unwrap())
            .collect();
        let [role, cluster] = &roles[..] else {
            panic!("{text}")
        };
        assert_eq!(role["metadata"]["namespace"], "shoots");
        let has =
            |role: &Value, right: &Right| items(&role["rules"]).iter().any(|it| right.is_in(it));
        for right in needed(true).chain(needed_for_types()).chain(telling()) {
            assert!(has(role, &right), "{right}");
        }
        for right in useful() {
            assert!(has(cluster, &right), "{right}");
        }
    }
}
