//! KubeVirt's cloud controller manager: tells nodes their addresses, and makes load balancers.

use super::api_server::text;
use super::context::Context;
use super::parts::account::{Rule, account};
use super::parts::flags::Flags;
use super::parts::network_policy::closed;
use super::parts::pod::{Pods, container, probe};
use super::parts::volume::Volume;
use crate::render::component::Component;
use crate::render::images::KUBEVIRT_CCM;
use serde_json::{Map, Value, json};

const NAME: &str = "cloud-controller-manager";
const PORT: u16 = 10258;
const FILE: &str = "cloud-config";

/// What it does in the provider namespace.
pub(crate) const RULES: [Rule; 3] = [
    Rule {
        group: "kubevirt.io",
        resources: &["virtualmachines"],
        verbs: &["get", "list", "watch"],
    },
    Rule {
        group: "kubevirt.io",
        resources: &["virtualmachineinstances"],
        verbs: &["get", "list", "watch", "update"],
    },
    Rule {
        group: "",
        resources: &["services"],
        verbs: &[
            "get", "list", "watch", "create", "update", "patch", "delete",
        ],
    },
];

pub(crate) fn component(context: &Context) -> Component {
    let own = Volume::secret(context, NAME);
    let configuration = configuration(context);
    let data = Map::from_iter([(FILE.to_owned(), json!(text(&configuration)))]);
    let config = Volume::config(context, NAME, &data);
    let container = manager(context, &own, &config);
    let config_map = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": context.name(NAME) },
        "data": data,
    });
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
        title: "Run the KubeVirt cloud controller manager".into(),
        objects: account(context, NAME, &RULES)
            .into_iter()
            .chain([config_map, closed(context, NAME)])
            .chain(pods.deployment(context))
            .collect(),
    }
}

/// Without a kubeconfig the pod's own account is meant; the namespace has to be said even so. Zones and regions are
/// those of the provider's nodes, which no Role can let it read; kubelets tell those of their machines.
fn configuration(context: &Context) -> Value {
    json!({
        "kubeconfig": "",
        "namespace": context.site.namespace,
        "loadBalancer": { "enabled": true },
        "instancesV2": { "enabled": true, "zoneAndRegionEnabled": false },
    })
}

fn manager(context: &Context, own: &Volume, config: &Volume) -> Value {
    let kubeconfig = own.file("kubeconfig");
    let gates = &context.shoot.control_plane.cloud_controller_gates;
    let command = Flags::of("/bin/kubevirt-cloud-controller-manager")
        .set("cloud-provider", "kubevirt")
        .set("cloud-config", config.file(FILE))
        .set("kubeconfig", &kubeconfig)
        // Else these two would be asked of the provider.
        .set("authentication-kubeconfig", &kubeconfig)
        .set("authorization-kubeconfig", &kubeconfig)
        .set("authentication-skip-lookup", true)
        .set("bind-address", "0.0.0.0")
        .set("secure-port", PORT)
        // Load balancers select machines by this name.
        .set("cluster-name", &context.shoot.id)
        .set("configure-cloud-routes", false)
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
