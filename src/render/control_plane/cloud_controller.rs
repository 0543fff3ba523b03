//! KubeVirt's cloud controller manager: sets the addresses of nodes and creates load balancers.

use super::api_server::text;
use super::context::ControlPlaneContext;
use super::parts::account::{RoleRule, account};
use super::parts::flags::Flags;
use super::parts::network_policy::closed;
use super::parts::pod::{Pods, container, probe};
use super::parts::volume::{PodVolume, config_map};
use crate::render::component::Component;
use crate::render::images::KUBEVIRT_CCM;
use serde_json::{Map, Value, json};

const NAME: &str = "cloud-controller-manager";
const PORT: u16 = 10258;
const FILE: &str = "cloud-config";

/// Its permissions in the provider namespace. Services cannot be limited to those of this shoot: a Role selects objects
/// only by name, and these are named after the UIDs of Services in the shoot.
pub(crate) const RULES: [RoleRule; 2] = [
    RoleRule {
        group: "kubevirt.io",
        resources: &["virtualmachineinstances"],
        verbs: &["get", "list"],
    },
    RoleRule {
        group: "",
        resources: &["services"],
        verbs: &["get", "create", "update", "delete"],
    },
];

pub(crate) fn component(context: &ControlPlaneContext) -> Component {
    let own = PodVolume::secret(context, NAME);
    let configuration = configuration(context);
    let data = Map::from_iter([(FILE.to_owned(), json!(text(&configuration)))]);
    let config = PodVolume::config(context, NAME, &data);
    let container = manager(context, &own, &config);
    let config_map = config_map(context, NAME, &data);
    let pods = Pods {
        part: NAME,
        replicas: context.replicas(),
        containers: vec![container],
        sidecars: Vec::new(),
        volumes: &[own, config],
        account: Some(context.name(NAME)),
        grace: 30,
    };
    Component {
        name: NAME,
        title: "Deploy KubeVirt cloud controller manager".into(),
        objects: account(context, NAME, &RULES)
            .into_iter()
            .chain([config_map, closed(context, NAME)])
            .chain(pods.deployment(context))
            .map(|it| with_architecture(context, it))
            .collect(),
    }
}

/// KubeVirt publishes its image for one architecture, so the Deployment selects nodes of it. An image of the profile may be
/// for any.
fn with_architecture(context: &ControlPlaneContext, mut object: Value) -> Value {
    let is_own = context
        .shoot
        .control_plane
        .images
        .contains_key(KUBEVIRT_CCM);
    if object["kind"] == "Deployment" && !is_own {
        let pod = &mut object["spec"]["template"]["spec"];
        pod["nodeSelector"] = json!({ "kubernetes.io/arch": "amd64" });
    }
    object
}

/// An empty kubeconfig selects the pod's own service account; the namespace is required nevertheless. Zones and regions
/// belong to the provider's nodes, which a Role cannot make readable, so kubelets set them on the shoot's nodes.
fn configuration(context: &ControlPlaneContext) -> Value {
    json!({
        "kubeconfig": "",
        "namespace": context.site.namespace,
        "loadBalancer": { "enabled": true },
        "instancesV2": { "enabled": true, "zoneAndRegionEnabled": false },
    })
}

fn manager(context: &ControlPlaneContext, own: &PodVolume, config: &PodVolume) -> Value {
    let kubeconfig = own.file("kubeconfig");
    let gates = &context.shoot.control_plane.cloud_controller_gates;
    let command = Flags::of("/bin/kubevirt-cloud-controller-manager")
        .set("cloud-provider", "kubevirt")
        .set("cloud-config", config.file(FILE))
        .set("kubeconfig", &kubeconfig)
        // Otherwise these would default to the provider's API server.
        .set("authentication-kubeconfig", &kubeconfig)
        .set("authorization-kubeconfig", &kubeconfig)
        .set("authentication-skip-lookup", true)
        .set("bind-address", "0.0.0.0")
        .set("secure-port", PORT)
        .tls()
        // Load balancers select machines by this name.
        .set("cluster-name", &context.shoot.id)
        .set("configure-cloud-routes", false)
        // A restarted VM has another address. By default its node would keep the old one for five minutes, in which logs
        // and exec do not work, or reach a machine of another owner.
        .set("node-status-update-frequency", "30s")
        .set("leader-elect", true)
        .pairs("feature-gates", Some(gates))
        .done();
    let mut it = container(
        context,
        KUBEVIRT_CCM,
        command,
        ("50m", "64Mi"),
        &[own, config],
    );
    it["name"] = json!(NAME);
    it["ports"] = json!([{ "name": "https", "containerPort": PORT }]);
    it["startupProbe"] = probe("HTTPS", PORT, "/healthz", 2, 120);
    it["livenessProbe"] = probe("HTTPS", PORT, "/healthz", 10, 8);
    it
}
