//! What `kubeadm join` reads: where the cluster is, how it is set up, and how its kubelets are.
//!
//! Machines of pools do not need it; a person who adds one by hand does.

use super::context::Context;
use super::objects::{
    NAMESPACE, cluster_role, cluster_role_binding, config_map, group, role, role_binding, rule,
    rule_for, user,
};
use crate::render::component::Component;
use crate::render::machine::kubelet::{CLUSTER_DOMAIN, common_configuration};
use crate::state::names::TOKEN_GROUP;
use serde_json::{Value, json};

const PUBLIC: &str = "kube-public";
const CLUSTER_INFO: &str = "cluster-info";

pub(crate) fn component(context: &Context) -> Component {
    let mut objects = vec![
        cluster_info(context),
        config_map(
            "kubeadm-config",
            &json!({ "ClusterConfiguration": yaml(&cluster_configuration(context)) }),
        ),
        config_map(
            "kubelet-config",
            &json!({ "kubelet": yaml(&common_configuration(context.shoot)) }),
        ),
    ];
    objects.extend(rights());
    Component {
        name: "bootstrap",
        title: "Publish what joining machines read".into(),
        objects,
    }
}

/// Read by everybody. The controller manager adds a signature for each token beside `kubeconfig`: keys that are not
/// ours, which an apply leaves alone.
fn cluster_info(context: &Context) -> Value {
    use base64::Engine;
    let ca = base64::engine::general_purpose::STANDARD.encode(context.known.ca.as_bytes());
    let server = context.known.node_address.url();
    let kubeconfig = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": "", "cluster": { "certificate-authority-data": ca, "server": server } }],
        "contexts": [],
        "current-context": "",
        "preferences": {},
        "users": [],
    });
    let mut object = config_map(CLUSTER_INFO, &json!({ "kubeconfig": yaml(&kubeconfig) }));
    object["metadata"]["namespace"] = json!(PUBLIC);
    object
}

/// The version of this API that every kubeadm from 1.31 on reads.
fn cluster_configuration(context: &Context) -> Value {
    let shoot = context.shoot;
    let registry = shoot.control_plane.registry.as_deref();
    json!({
        "apiVersion": "kubeadm.k8s.io/v1beta4",
        "kind": "ClusterConfiguration",
        "clusterName": shoot.id,
        "kubernetesVersion": format!("v{}", shoot.kubernetes),
        "controlPlaneEndpoint": context.known.node_address.to_string(),
        "certificatesDir": "/etc/kubernetes/pki",
        "imageRepository": registry.unwrap_or("registry.k8s.io").trim_end_matches('/'),
        "networking": {
            "dnsDomain": CLUSTER_DOMAIN,
            "podSubnet": shoot.networking.pods,
            "serviceSubnet": shoot.networking.services,
        },
    })
}

fn rights() -> Vec<Value> {
    let joining = [group(TOKEN_GROUP)];
    let joining_and_joined = [group(TOKEN_GROUP), group("system:nodes")];
    let get = |name| rule_for(&[name], rule("", &["configmaps"], &["get"]));
    let signer = "kubeadm:bootstrap-signer-clusterinfo";
    let config = "kubeadm:nodes-kubeadm-config";
    let kubelet = "kubeadm:kubelet-config";
    let nodes = "kubeadm:get-nodes";
    vec![
        role(PUBLIC, signer, &[get(CLUSTER_INFO)]),
        role_binding(PUBLIC, signer, signer, &[user("system:anonymous")]),
        role(NAMESPACE, config, &[get("kubeadm-config")]),
        role_binding(NAMESPACE, config, config, &joining_and_joined),
        role(NAMESPACE, kubelet, &[get("kubelet-config")]),
        role_binding(NAMESPACE, kubelet, kubelet, &joining_and_joined),
        cluster_role(nodes, &[rule("", &["nodes"], &["get"])]),
        cluster_role_binding(nodes, nodes, &joining),
    ]
}

fn yaml(value: &Value) -> String {
    serde_yaml::to_string(value).expect("JSON is YAML")
}
