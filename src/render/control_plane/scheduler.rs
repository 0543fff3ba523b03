//! kube-scheduler.

use super::api_server::text;
use super::context::ControlPlaneContext;
use super::parts::flags::Flags;
use super::parts::network_policy::closed;
use super::parts::pod::{Pods, container, probe};
use super::parts::volume::{PodVolume, config_map};
use crate::model::KubeScheduler;
use crate::render::component::Component;
use serde_json::{Map, Value, json};

const NAME: &str = "kube-scheduler";
const PORT: u16 = 10259;
const FILE: &str = "scheduler.yaml";

pub(crate) fn component(context: &ControlPlaneContext) -> Component {
    let settings = context
        .shoot
        .manifest
        .spec
        .kubernetes
        .kube_scheduler
        .clone();
    let settings = settings.unwrap_or_default();
    let own = PodVolume::secret(context, NAME);
    let configuration = configuration(&settings, &own.file("kubeconfig"));
    let data = Map::from_iter([(FILE.to_owned(), json!(text(&configuration)))]);
    let config = PodVolume::config(context, NAME, &data);
    let container = scheduler(context, &settings, &own, &config);
    let config_map = config_map(context, NAME, &data);
    let pods = Pods {
        part: NAME,
        replicas: context.replicas(),
        containers: vec![container],
        sidecars: Vec::new(),
        volumes: &[own, config],
        account: None,
        grace: 30,
    };
    Component {
        name: NAME,
        title: "Deploy kube-scheduler".into(),
        objects: [config_map, closed(context, NAME)]
            .into_iter()
            .chain(pods.deployment(context))
            .collect(),
    }
}

fn scheduler(
    context: &ControlPlaneContext,
    settings: &KubeScheduler,
    own: &PodVolume,
    config: &PodVolume,
) -> Value {
    let kubeconfig = own.file("kubeconfig");
    let command = Flags::of(NAME)
        .set("config", config.file(FILE))
        .set("authentication-kubeconfig", &kubeconfig)
        .set("authorization-kubeconfig", &kubeconfig)
        .set("bind-address", "0.0.0.0")
        .set("secure-port", PORT)
        .tls()
        .pairs("feature-gates", settings.feature_gates.as_ref())
        .done();
    let mut it = container(context, NAME, command, ("50m", "64Mi"), &[own, config]);
    if let Some(most) = &settings.kube_max_pd_vols {
        it["env"] = json!([{ "name": "KUBE_MAX_PD_VOLS", "value": most }]);
    }
    it["ports"] = json!([{ "name": "https", "containerPort": PORT }]);
    it["startupProbe"] = probe("HTTPS", PORT, "/healthz", 2, 120);
    it["livenessProbe"] = probe("HTTPS", PORT, "/healthz", 10, 8);
    it
}

/// The equivalent flags are deprecated.
fn configuration(settings: &KubeScheduler, kubeconfig: &str) -> Value {
    let mut configuration = json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": { "kubeconfig": kubeconfig },
        "enableProfiling": false,
        "leaderElection": { "leaderElect": true },
    });
    if settings.profile.as_deref() == Some("bin-packing") {
        configuration["profiles"] = json!([{
            "schedulerName": "default-scheduler",
            "pluginConfig": [{
                "name": "NodeResourcesFit",
                "args": { "scoringStrategy": { "type": "MostAllocated" } },
            }],
            // It would counteract bin packing.
            "plugins": { "score": { "disabled": [{ "name": "NodeResourcesBalancedAllocation" }] } },
        }]);
    }
    configuration
}
