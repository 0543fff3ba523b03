//! kube-controller-manager. It also signs kubelet certificates, so it is the only component with the CA's private key.

use super::context::ControlPlaneContext;
use super::parts::flags::Flags;
use super::parts::network_policy::closed;
use super::parts::pod::{Pods, container, probe};
use super::parts::volume::PodVolume;
use crate::model::KubeControllerManager;
use crate::render::component::Component;
use crate::state::facts::certificate_judgment::MAX_LIFETIME;
use serde_json::{Value, json};

const NAME: &str = "kube-controller-manager";
const PORT: u16 = 10257;

pub(crate) fn component(context: &ControlPlaneContext) -> Component {
    let own = PodVolume::secret(context, NAME);
    let root = PodVolume::secret(context, "ca").only(&["tls.crt", "tls.key"]);
    let proxy = PodVolume::secret(context, "front-proxy-client").only(&["ca.crt"]);
    let accounts = PodVolume::secret(context, "service-account-key").only(&["key"]);
    let volumes = [own, root, proxy, accounts];
    let pods = Pods {
        part: NAME,
        replicas: context.replicas(),
        containers: vec![manager(context, &volumes)],
        sidecars: Vec::new(),
        volumes: &volumes,
        account: None,
        grace: 30,
    };
    Component {
        name: NAME,
        title: "Deploy kube-controller-manager".into(),
        objects: [closed(context, NAME)]
            .into_iter()
            .chain(pods.deployment(context))
            .collect(),
    }
}

fn manager(context: &ControlPlaneContext, volumes: &[PodVolume; 4]) -> Value {
    let [own, root, proxy, accounts] = volumes;
    let shoot = context.shoot;
    let kubeconfig = own.file("kubeconfig");
    let flags = Flags::of(NAME)
        .set("kubeconfig", &kubeconfig)
        .set("authentication-kubeconfig", &kubeconfig)
        .set("authorization-kubeconfig", &kubeconfig)
        .set("bind-address", "0.0.0.0")
        .set("secure-port", PORT)
        .tls()
        .set("client-ca-file", own.file("ca.crt"))
        .set("requestheader-client-ca-file", proxy.file("ca.crt"))
        .set("root-ca-file", own.file("ca.crt"))
        .set("service-account-private-key-file", accounts.file("key"))
        .set("cluster-signing-cert-file", root.file("tls.crt"))
        .set("cluster-signing-key-file", root.file("tls.key"))
        .set(
            "cluster-signing-duration",
            format!("{}h", MAX_LIFETIME / 3600),
        )
        // These two are not enabled by default, and nodes cannot join without them.
        .set("controllers", "*,bootstrapsigner,tokencleaner")
        .set("use-service-account-credentials", true)
        .set("cloud-provider", "external")
        .set("allocate-node-cidrs", true)
        .set("cluster-cidr", &shoot.networking.pods)
        .set("node-cidr-mask-size", shoot.networking.node_mask)
        .set("service-cluster-ip-range", &shoot.networking.services)
        .set("cluster-name", &shoot.id)
        .set("leader-elect", true)
        .set("profiling", false);
    let settings = shoot
        .manifest
        .spec
        .kubernetes
        .kube_controller_manager
        .clone();
    let command = settings_of(flags, &settings.unwrap_or_default()).done();
    let mounts: Vec<&PodVolume> = volumes.iter().collect();
    let mut it = container(context, NAME, command, ("100m", "128Mi"), &mounts);
    it["ports"] = json!([{ "name": "https", "containerPort": PORT }]);
    it["startupProbe"] = probe("HTTPS", PORT, "/healthz", 2, 120);
    it["livenessProbe"] = probe("HTTPS", PORT, "/healthz", 10, 8);
    it
}

/// Adds the flags for the Shoot's settings.
fn settings_of(flags: Flags, settings: &KubeControllerManager) -> Flags {
    let autoscaler = settings.horizontal_pod_autoscaler.as_ref();
    let of = |name: &str| format!("horizontal-pod-autoscaler-{name}");
    flags
        .given(
            "node-monitor-grace-period",
            settings.node_monitor_grace_period.as_ref(),
        )
        .given(
            &of("cpu-initialization-period"),
            autoscaler.and_then(|it| it.cpu_initialization_period.as_ref()),
        )
        .given(
            &of("downscale-stabilization"),
            autoscaler.and_then(|it| it.downscale_stabilization.as_ref()),
        )
        .given(
            &of("initial-readiness-delay"),
            autoscaler.and_then(|it| it.initial_readiness_delay.as_ref()),
        )
        .given(
            &of("sync-period"),
            autoscaler.and_then(|it| it.sync_period.as_ref()),
        )
        .given(&of("tolerance"), autoscaler.and_then(|it| it.tolerance))
        .pairs("feature-gates", settings.feature_gates.as_ref())
}
