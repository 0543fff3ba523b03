//! RBAC rules of joining machines, control plane components, and users.

use super::context::SystemContext;
use super::objects::{
    NAMESPACE, READ, cluster_role, cluster_role_binding, group, role, role_binding, rule, user,
};
use crate::render::component::Component;
use crate::state::names::TOKEN_GROUP;
use serde_json::Value;

/// The group of users' certificates. Unlike `system:masters`, access ends when its binding is deleted.
pub(crate) const ADMINS: &str = "kvshoot:cluster-admins";

const NODES: &str = "system:nodes";

pub(crate) fn component(_: &SystemContext) -> Component {
    let mut objects = joining();
    objects.extend(control_plane());
    objects.extend(cloud_controller_manager());
    objects.extend(csi_controller());
    objects.push(cluster_role_binding(
        ADMINS,
        "cluster-admin",
        &[group(ADMINS)],
    ));
    Component {
        name: "rbac",
        title: "Apply RBAC rules".into(),
        objects,
    }
}

/// A machine requests a certificate with its token, and later renews it with the certificate.
///
/// kubeadm also lets the controller manager approve the first request, for any name; here kvshoot does, for one.
fn joining() -> Vec<Value> {
    let requests = "system:certificates.k8s.io:certificatesigningrequests";
    vec![
        cluster_role_binding(
            "kubeadm:kubelet-bootstrap",
            "system:node-bootstrapper",
            &[group(TOKEN_GROUP)],
        ),
        cluster_role_binding(
            "kubeadm:node-autoapprove-certificate-rotation",
            &format!("{requests}:selfnodeclient"),
            &[group(NODES)],
        ),
    ]
}

fn control_plane() -> Vec<Value> {
    vec![
        // For logs and exec.
        cluster_role_binding(
            "kvshoot:kubelet-api-admin",
            "system:kubelet-api-admin",
            &[user("kube-apiserver-kubelet-client")],
        ),
        // It reviews the agents' tokens.
        cluster_role_binding(
            "kvshoot:konnectivity-server",
            "system:auth-delegator",
            &[user("system:konnectivity-server")],
        ),
    ]
}

fn cloud_controller_manager() -> Vec<Value> {
    let name = "system:cloud-controller-manager";
    let nodes = ["get", "list", "watch", "patch", "update", "delete"];
    let rules = [
        rule("", &["nodes"], &nodes),
        rule("", &["nodes/status"], &["patch", "update"]),
        rule(
            "",
            &["services"],
            &["get", "list", "watch", "patch", "update"],
        ),
        rule("", &["services/status"], &["patch", "update"]),
        rule("", &["events"], &["create", "patch", "update"]),
        rule("discovery.k8s.io", &["endpointslices"], &READ),
    ];
    vec![
        cluster_role(name, &rules),
        cluster_role_binding(name, name, &[user(name)]),
        leases(name),
        role_binding(NAMESPACE, name, name, &[user(name)]),
    ]
}

/// The Leases for leader election between a controller's replicas.
fn leases(name: &str) -> Value {
    let verbs = [
        "get", "list", "watch", "create", "update", "patch", "delete",
    ];
    role(
        NAMESPACE,
        name,
        &[rule("coordination.k8s.io", &["leases"], &verbs)],
    )
}

/// Permissions of the driver and its sidecars in the shoot.
fn csi_controller() -> Vec<Value> {
    let name = "system:csi-controller";
    let storage = "storage.k8s.io";
    let snapshots = "snapshot.storage.k8s.io";
    let volumes = [
        "get", "list", "watch", "create", "update", "patch", "delete",
    ];
    let rules = [
        rule("", &["persistentvolumes"], &volumes),
        rule(
            "",
            &["persistentvolumeclaims"],
            &["get", "list", "watch", "update", "patch"],
        ),
        rule("", &["persistentvolumeclaims/status"], &["update", "patch"]),
        rule("", &["nodes", "pods"], &READ),
        rule(
            "",
            &["events"],
            &["list", "watch", "create", "update", "patch"],
        ),
        rule(
            storage,
            &["storageclasses", "csinodes", "volumeattributesclasses"],
            &READ,
        ),
        rule(
            storage,
            &["volumeattachments"],
            &["get", "list", "watch", "update", "patch"],
        ),
        rule(storage, &["volumeattachments/status"], &["patch"]),
        rule(snapshots, &["volumesnapshotclasses"], &READ),
        rule(
            snapshots,
            &["volumesnapshots"],
            &["get", "list", "watch", "update", "patch"],
        ),
        rule(snapshots, &["volumesnapshotcontents"], &volumes),
        rule(
            snapshots,
            &["volumesnapshots/status", "volumesnapshotcontents/status"],
            &["update", "patch"],
        ),
    ];
    vec![
        cluster_role(name, &rules),
        cluster_role_binding(name, name, &[user(name)]),
        leases(name),
        role_binding(NAMESPACE, name, name, &[user(name)]),
    ]
}
