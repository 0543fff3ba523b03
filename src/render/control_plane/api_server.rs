//! kube-apiserver, with the konnectivity server as a sidecar.

use super::authentication::{self, limits_anonymous};
use super::context::{ControlPlaneContext, ControlPlaneFacts, KONNECTIVITY_PORT};
use super::parts::flags::Flags;
use super::parts::network_policy::{allow, policy};
use super::parts::pod::{Pods, container, probe};
use super::parts::volume::{PodVolume, config_map};
use super::service::may_be_used_by_machines;
use super::{etcd, konnectivity};
use crate::model::{KubeApiServer, Kubernetes, Quantity};
use crate::render::component::Component;
use crate::render::images::minor;
use crate::state::names::role;
use crate::validate::control_plane::API_PORT;
use serde_json::{Map, Value, json};
use std::net::Ipv4Addr;

mod settings;

const NAME: &str = "kube-apiserver";
/// Time for which a terminating server keeps serving, until clients no longer send requests to it.
const SHUTDOWN_DELAY: &str = "15s";
const GRACE: u32 = 75;

/// `members` is the number of etcd's members that it knows.
pub(crate) fn component(context: &ControlPlaneContext, members: u32) -> Component {
    let kubernetes = &context.shoot.manifest.spec.kubernetes;
    let settings = kubernetes.kube_api_server.clone().unwrap_or_default();
    let files = Files::of(context, &settings);
    let config_map = config_map(context, NAME, &files.data);
    // Clients are everywhere: machines, pods of the shoot, users.
    let mut ingress = vec![allow(context, &[], &[API_PORT])];
    // Only machines run agents of konnectivity.
    let agents: &[&str] = match may_be_used_by_machines(context.shoot) {
        true => &[],
        false => &[role::MACHINE],
    };
    ingress.push(allow(context, agents, &[KONNECTIVITY_PORT]));
    let objects = [config_map, policy(context, NAME, ingress)];
    let pods = Pods {
        part: NAME,
        replicas: context.replicas(),
        containers: vec![api_server(
            context,
            (kubernetes, &settings),
            &files,
            members,
        )],
        sidecars: vec![konnectivity::sidecar(
            context,
            files.volume(SOCKET),
            files.volume(KONNECTIVITY),
        )],
        volumes: &files.volumes,
        account: None,
        grace: GRACE,
    };
    Component {
        name: NAME,
        title: "Deploy kube-apiserver".into(),
        objects: objects
            .into_iter()
            .chain(pods.deployment(context))
            .collect(),
    }
}

/// The volumes of the pod, and the content of its ConfigMap.
struct Files {
    /// Files of the ConfigMap.
    data: Map<String, Value>,
    volumes: Vec<PodVolume>,
    has_authentication: bool,
    /// Volumes of the audit policy and of the complete AuthenticationConfiguration, if the user provides them.
    audit: Option<usize>,
    authentication: Option<usize>,
}

const SERVING: usize = 0;
const KUBELET_CLIENT: usize = 1;
const ETCD_CLIENT: usize = 2;
const PROXY_CLIENT: usize = 3;
const ACCOUNTS: usize = 4;
const ENCRYPTION: usize = 5;
const CONFIG: usize = 6;
const SOCKET: usize = 7;
const KONNECTIVITY: usize = 8;

impl Files {
    fn of(context: &ControlPlaneContext, settings: &KubeApiServer) -> Files {
        let socket = konnectivity::socket_directory();
        let audit = audit_config_map(settings);
        let given = settings.structured_authentication.as_ref();
        let mut data = Map::new();
        let mut file = |name: &str, content: String| data.insert(name.into(), content.into());
        file("egress-selector.yaml", text(&egress(&socket)));
        if audit.is_none() {
            file(
                "audit-policy.yaml",
                include_str!("files/audit-policy.yaml").into(),
            );
        }
        let own = authentication::configuration(context, settings).filter(|_| given.is_none());
        if let Some(it) = &own {
            file("authentication.yaml", text(it));
        }
        if let Some(it) = settings::admission(settings) {
            file("admission.yaml", text(&it));
        }
        let secret = |part| PodVolume::secret(context, part);
        let mut volumes = vec![
            secret(NAME),
            secret("kube-apiserver-kubelet-client"),
            secret("kube-apiserver-etcd-client"),
            secret("front-proxy-client"),
            secret("service-account-key"),
            secret("encryption-key"),
            PodVolume::config(context, NAME, &data),
            socket,
            secret("konnectivity-server"),
        ];
        let mut of_person = |name, config_map: Option<&str>| {
            volumes.push(PodVolume::of_person(name, config_map?));
            Some(volumes.len() - 1)
        };
        Files {
            audit: of_person("audit", audit),
            authentication: of_person(
                "authentication",
                given.map(|it| it.config_map_name.as_str()),
            ),
            data,
            volumes,
            has_authentication: own.is_some(),
        }
    }

    fn volume(&self, index: usize) -> &PodVolume {
        &self.volumes[index]
    }

    fn path(&self, volume: usize, file: &str) -> String {
        self.volumes[volume].file(file)
    }

    fn audit_policy(&self) -> String {
        match self.audit {
            Some(it) => self.path(it, "policy"),
            None => self.path(CONFIG, "audit-policy.yaml"),
        }
    }

    /// Returns the path of the AuthenticationConfiguration, if one is used.
    fn authentication(&self) -> Option<String> {
        match self.authentication {
            Some(it) => Some(self.path(it, "config.yaml")),
            None => self
                .has_authentication
                .then(|| self.path(CONFIG, "authentication.yaml")),
        }
    }
}

/// Returns the name of the ConfigMap with the user's audit policy.
fn audit_config_map(settings: &KubeApiServer) -> Option<&str> {
    let policy = settings.audit_config.as_ref()?.audit_policy.as_ref()?;
    Some(policy.config_map_ref.as_ref()?.name.as_str())
}

/// Formats a configuration file: JSON is valid YAML, and the output is deterministic.
pub(crate) fn text(value: &Value) -> String {
    format!("{value:#}\n")
}

/// Only traffic into the shoot goes through konnectivity.
fn egress(socket_directory: &PodVolume) -> Value {
    json!({
        "apiVersion": "apiserver.k8s.io/v1beta1",
        "kind": "EgressSelectorConfiguration",
        "egressSelections": [{
            "name": "cluster",
            "connection": {
                "proxyProtocol": "GRPC",
                "transport": { "uds": { "udsName": konnectivity::socket(socket_directory) } },
            },
        }],
    })
}

fn api_server(
    context: &ControlPlaneContext,
    (kubernetes, settings): (&Kubernetes, &KubeApiServer),
    files: &Files,
    members: u32,
) -> Value {
    let flags = connections(Flags::of("kube-apiserver"), files)
        .set("etcd-servers", etcd::endpoints(context, members))
        .set("advertise-address", advertised(context.known))
        .set(
            "service-cluster-ip-range",
            &context.shoot.networking.services,
        )
        .given("authentication-config", files.authentication());
    let flags = match files.authentication() {
        // The file contains the setting, and the flag is not allowed next to it.
        Some(_) if limits_anonymous(minor(context.shoot)) => flags,
        _ => flags.set("anonymous-auth", true),
    };
    let flags = match context.replicas() {
        1 => flags,
        // Without it, long-lived clients stick to one server and leave the others idle.
        _ => flags.set("goaway-chance", "0.001"),
    };
    let command = settings::flags(flags, kubernetes, settings, |file| files.path(CONFIG, file));
    let requests = requests(settings);
    let mounts: Vec<&PodVolume> = files
        .volumes
        .iter()
        .enumerate()
        .filter(|(index, _)| *index != KONNECTIVITY)
        .map(|(_, it)| it)
        .collect();
    let requests = (requests.0.as_str(), requests.1.as_str());
    let mut it = container(context, NAME, command.done(), requests, &mounts);
    // The binary has this file capability and does not start in a pod that may not have it.
    it["securityContext"]["capabilities"]["add"] = json!(["NET_BIND_SERVICE"]);
    it["ports"] = json!([{ "name": "https", "containerPort": API_PORT }]);
    it["startupProbe"] = probe("HTTPS", API_PORT, "/livez", 2, 150);
    // A restart does not help when etcd is unavailable.
    it["livenessProbe"] = probe("HTTPS", API_PORT, "/livez?exclude=etcd", 10, 8);
    it["readinessProbe"] = probe("HTTPS", API_PORT, "/readyz", 2, 3);
    it
}

/// The advertised address. Nothing publishes it, but it must be a valid IP address.
fn advertised(known: &ControlPlaneFacts) -> &str {
    let host = known.node_address.host.as_str();
    match host.parse::<Ipv4Addr>() {
        Ok(_) => host,
        Err(_) => &known.cluster_ip,
    }
}

/// Flags that are the same for all shoots.
fn connections(flags: Flags, files: &Files) -> Flags {
    let serving = |file| files.path(SERVING, file);
    flags
        .set("bind-address", "0.0.0.0")
        .set("secure-port", API_PORT)
        // kvshoot manages the endpoints of the Service `kubernetes`.
        .set("endpoint-reconciler-type", "none")
        .set("tls-cert-file", serving("tls.crt"))
        .set("tls-private-key-file", serving("tls.key"))
        .tls()
        .set("client-ca-file", serving("ca.crt"))
        .set("etcd-cafile", files.path(ETCD_CLIENT, "ca.crt"))
        .set("etcd-certfile", files.path(ETCD_CLIENT, "tls.crt"))
        .set("etcd-keyfile", files.path(ETCD_CLIENT, "tls.key"))
        .set(
            "kubelet-client-certificate",
            files.path(KUBELET_CLIENT, "tls.crt"),
        )
        .set("kubelet-client-key", files.path(KUBELET_CLIENT, "tls.key"))
        .set(
            "kubelet-certificate-authority",
            files.path(KUBELET_CLIENT, "ca.crt"),
        )
        .set(
            "kubelet-preferred-address-types",
            "InternalIP,ExternalIP,Hostname",
        )
        .set(
            "requestheader-client-ca-file",
            files.path(PROXY_CLIENT, "ca.crt"),
        )
        .set("requestheader-allowed-names", "front-proxy-client")
        .set("requestheader-username-headers", "X-Remote-User")
        .set("requestheader-group-headers", "X-Remote-Group")
        .set("requestheader-extra-headers-prefix", "X-Remote-Extra-")
        .set(
            "proxy-client-cert-file",
            files.path(PROXY_CLIENT, "tls.crt"),
        )
        .set("proxy-client-key-file", files.path(PROXY_CLIENT, "tls.key"))
        .set("service-account-key-file", files.path(ACCOUNTS, "pub"))
        .set(
            "service-account-signing-key-file",
            files.path(ACCOUNTS, "key"),
        )
        .set(
            "encryption-provider-config",
            files.path(ENCRYPTION, "config.yaml"),
        )
        .set("encryption-provider-config-automatic-reload", true)
        .set(
            "egress-selector-config-file",
            files.path(CONFIG, "egress-selector.yaml"),
        )
        .set("audit-policy-file", files.audit_policy())
        .set("audit-log-path", "-")
        .set("authorization-mode", "Node,RBAC")
        .set("enable-bootstrap-token-auth", true)
        .set("allow-privileged", true)
        .set("profiling", false)
        .set("shutdown-delay-duration", SHUTDOWN_DELAY)
        .set("livez-grace-period", "1m")
}

/// CPU and memory requests: the defaults, or what the shoot asks for if that is more.
fn requests(settings: &KubeApiServer) -> (String, String) {
    let allowed = settings
        .autoscaling
        .as_ref()
        .and_then(|it| it.min_allowed.as_ref());
    let of = |resource: &str, least: &str| {
        let least = Quantity::parse(least).ok();
        let given = allowed.and_then(|it| it.get(resource)).cloned();
        let most = [least, given].into_iter().flatten();
        most.max_by(|a, b| a.value.total_cmp(&b.value))
            .map_or_else(String::new, |it| it.to_string())
    };
    (of("cpu", "250m"), of("memory", "512Mi"))
}
