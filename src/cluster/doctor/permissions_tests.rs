//! The printed roles, and why each of their verbs is in them.

use super::*;
use crate::cluster::client::resources::{
    CONTROL_PLANE_KINDS, DELETION_PROVIDER_KINDS, INSTANCETYPE_KINDS,
};
use crate::render::control_plane::{cloud_controller, csi};
use crate::state::key::ObjectKind;
use serde::Deserialize as _;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Verbs that follow neither from the kinds that are observed and written, nor from the Roles of the cloud controller
/// manager and the CSI driver.
const OTHERS: [(&str, &str, &str); 26] = [
    (
        "patch",
        "configmaps",
        "progress, expiry and protection in the record",
    ),
    ("get", "leases.coordination.k8s.io", "who holds the lock"),
    (
        "list",
        "leases.coordination.k8s.io",
        "runs in progress, for list and status",
    ),
    (
        "create",
        "leases.coordination.k8s.io",
        "first run of a shoot",
    ),
    (
        "patch",
        "leases.coordination.k8s.io",
        "taking, renewing and releasing the lock",
    ),
    (
        "delete",
        "leases.coordination.k8s.io",
        "end of the deletion of a shoot",
    ),
    (
        "patch",
        "virtualmachines.kubevirt.io",
        "mark on a machine that is drained",
    ),
    (
        "delete",
        "virtualmachineinstances.kubevirt.io",
        "restart of a machine whose node is not healthy",
    ),
    (
        "create",
        "datavolumes.cdi.kubevirt.io/source",
        "CDI asks whether the creator of a volume may clone its source",
    ),
    ("get", "persistentvolumeclaims", "volumes that pools name"),
    (
        "list",
        "virtualmachineinstancemigrations.kubevirt.io",
        "migrations that were tried",
    ),
    (
        "create",
        "virtualmachineinstancemigrations.kubevirt.io",
        "machines whose hosts are drained",
    ),
    (
        "delete",
        "virtualmachineinstancemigrations.kubevirt.io",
        "migrations that are given up",
    ),
    (
        "update",
        "virtualmachineinstances.subresources.kubevirt.io/evacuate/cancel",
        "hosts that are no longer drained",
    ),
    (
        "list",
        "persistentvolumeclaims",
        "causes, what remains after a deletion, volumes of etcd",
    ),
    (
        "delete",
        "persistentvolumeclaims",
        "old volumes of members of etcd",
    ),
    (
        "list",
        "endpointslices.discovery.k8s.io",
        "what remains after a deletion",
    ),
    ("list", "pods", "causes of what is not ready, tunnels"),
    (
        "delete",
        "pods",
        "members of etcd that restart, pods of a deleted control plane",
    ),
    (
        "list",
        "events",
        "causes of what is not ready, kvshoot events",
    ),
    ("watch", "events", "kvshoot events --watch"),
    ("get", "pods/log", "support bundles, consoles of machines"),
    ("get", "pods/portforward", "tunnels, before Kubernetes 1.35"),
    (
        "create",
        "pods/portforward",
        "tunnels, since Kubernetes 1.35",
    ),
    ("list", "resourcequotas", "room of the namespace"),
    ("list", "limitranges", "limits of the namespace"),
];

fn name(resource: &Resource) -> String {
    let (plural, sub) = resource
        .plural
        .split_once('/')
        .unwrap_or((resource.plural, ""));
    let group = match resource.group {
        "" => String::new(),
        group => format!(".{group}"),
    };
    let sub = if sub.is_empty() {
        String::new()
    } else {
        format!("/{sub}")
    };
    format!("{plural}{group}{sub}")
}

/// Verbs of the namespace that follow from the code, as `verb resource`.
fn needed() -> BTreeSet<String> {
    let mut needed = BTreeSet::new();
    let mut add = |verbs: &[&str], resource: &Resource| {
        needed.extend(
            verbs
                .iter()
                .map(|verb| format!("{verb} {}", name(resource))),
        );
    };
    let own = [
        ObjectKind::Record,
        ObjectKind::ImageVolume,
        ObjectKind::UserData,
        ObjectKind::NetworkAttachmentDefinition,
    ];
    let own = own
        .into_iter()
        .chain(CONTROL_PLANE_KINDS)
        .chain(INSTANCETYPE_KINDS);
    for kind in own {
        add(OWN, Resource::of(kind));
    }
    // Machines are replaced by others, and never updated.
    let machine = Resource::of(ObjectKind::Machine);
    add(&["get", "list", "watch", "create", "delete"], machine);
    add(
        &["list", "watch"],
        Resource::of(ObjectKind::VirtualMachineInstance),
    );
    for kind in DELETION_PROVIDER_KINDS
        .into_iter()
        .chain([ObjectKind::VolumeSnapshot])
    {
        add(READ_AND_DELETE, Resource::of(kind));
    }
    let granted = cloud_controller::RULES.iter().chain(csi::granted());
    for rule in granted {
        for plural in rule.resources {
            let resource = resources::resource(rule.group, "v1", "", plural);
            add(rule.verbs, &resource);
        }
    }
    let others = OTHERS
        .iter()
        .map(|(verb, resource, _)| format!("{verb} {resource}"));
    needed.extend(others);
    needed
}

#[test]
fn each_verb_of_the_printed_role_follows_from_the_code_or_has_a_reason() {
    let rules = RULES.iter().filter(|it| is_in_namespace(it.scope));
    let printed: BTreeSet<String> = rules
        .flat_map(|rule| {
            let resources = rule.resources.iter();
            resources.flat_map(|resource| {
                let verbs = rule.verbs.iter();
                verbs.map(|verb| format!("{verb} {}", name(resource)))
            })
        })
        .collect();
    let needed = needed();
    let surplus: Vec<_> = printed.difference(&needed).collect();
    let missing: Vec<_> = needed.difference(&printed).collect();
    assert_eq!((surplus, missing), (vec![], vec![]));
}

#[test]
fn deleting_shoots_needs_no_permission_on_secrets_and_no_tunnel() {
    for right in required_to_delete(UsedFeatures::ALL) {
        let is_secret = right.resource == &resources::SECRET;
        let is_tunnel = right.resource == &resources::PORT_FORWARD;
        assert!(!is_secret && !is_tunnel, "{right}");
    }
    assert!(!rules_to_delete().contains("secrets"));
}

/// An account that may create pods or workloads has the rights of every ServiceAccount of the namespace.
#[test]
fn evacuating_writes_nothing_but_machines_and_what_they_need() {
    let is_read = |verb: &&&str| ["get", "list", "watch"].contains(*verb);
    let writes = RULES.iter().flat_map(|rule| {
        let verbs = rule.to_evacuate.iter().filter(|it| !is_read(it));
        verbs.flat_map(|verb| {
            rule.resources
                .iter()
                .map(move |it| format!("{verb} {}", name(it)))
        })
    });
    let writes: BTreeSet<String> = writes.collect();
    let expected = [
        "create datavolumes.cdi.kubevirt.io/source",
        "create leases.coordination.k8s.io",
        "create pods/portforward",
        "create secrets",
        "create virtualmachines.kubevirt.io",
        "delete secrets",
        "delete virtualmachines.kubevirt.io",
        "patch configmaps",
        "patch leases.coordination.k8s.io",
        "patch virtualmachines.kubevirt.io",
        "update roles.rbac.authorization.k8s.io",
        "update virtualmachineinstances.subresources.kubevirt.io/addvolume",
        "update virtualmachineinstances.subresources.kubevirt.io/removevolume",
        "update virtualmachines.subresources.kubevirt.io/addvolume",
        "update virtualmachines.subresources.kubevirt.io/removevolume",
    ];
    assert_eq!(writes, expected.map(str::to_owned).into());
    for rule in RULES {
        let is_subset = rule.to_evacuate.iter().all(|it| rule.verbs.contains(it));
        assert!(is_subset, "{}", rule.why);
    }
}

#[test]
fn namespaces_are_created_and_deleted_only_on_request() {
    let roles = |manages: bool| -> Vec<Value> {
        let text = manifest(None, manages);
        serde_yaml::Deserializer::from_str(&text)
            .map(|it| Value::deserialize(it).unwrap())
            .collect()
    };
    let writes = |role: &Value| {
        let rules: Vec<ResourceRule> = serde_json::from_value(role["rules"].clone()).unwrap();
        ["create", "delete"].map(|verb| {
            let right = Permission {
                verb,
                resource: &resources::NAMESPACE,
            };
            rules.iter().any(|it| right.is_granted_by(it))
        })
    };
    for role in &roles(false) {
        assert_eq!(writes(role), [false, false], "{role}");
    }
    let with = roles(true);
    let own = with
        .iter()
        .find(|it| it["metadata"]["name"] == "kvshoot-namespaces");
    assert_eq!(writes(own.expect("a ClusterRole")), [true, true]);
    assert_eq!(with.len(), 4);
}

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
    let text = manifest(Some("shoots"), false);
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
        .chain(optional().map(|it| it.0))
    {
        assert!(has(role, &right), "{right}");
    }
    for right in cluster_scoped() {
        assert!(has(cluster, &right), "{right}");
    }
}
