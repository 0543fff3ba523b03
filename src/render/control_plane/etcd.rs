//! etcd: one member, or three on different nodes.

use super::context::{CLIENT_PORT, ControlPlaneContext, PEER_PORT};
use super::parts::flags::{CIPHER_SUITES, Flags};
use super::parts::network_policy::{allow, policy};
use super::parts::pod::{Pods, container, labels, probe};
use super::parts::replicas::budget;
use super::parts::volume::PodVolume;
use crate::render::component::Component;
use crate::render::metadata::owner;
use serde_json::{Value, json};

pub(crate) const ETCD: &str = "etcd";
const METRICS_PORT: u16 = 2381;
const MIB: f64 = 1024.0 * 1024.0;
/// The largest database size that etcd recommends.
const MOST_MIB: f64 = 8192.0;

pub(crate) fn component(context: &ControlPlaneContext) -> Component {
    let members = context.members();
    let budget = budget(context, ETCD, members);
    let policy = policy(
        context,
        ETCD,
        vec![
            allow(context, &["kube-apiserver"], &[CLIENT_PORT]),
            allow(context, &[ETCD], &[CLIENT_PORT, PEER_PORT]),
        ],
    );
    Component {
        name: ETCD,
        title: "Deploy etcd".into(),
        objects: [stateful_set(context, members), policy]
            .into_iter()
            .chain(budget)
            .collect(),
    }
}

/// The client URLs of all members, so that clients do not depend on a single one.
pub(crate) fn endpoints(context: &ControlPlaneContext) -> String {
    let of = |ordinal| {
        format!(
            "https://{}:{CLIENT_PORT}",
            host(context, &member(context, ordinal))
        )
    };
    let members: Vec<String> = (0..context.members()).map(of).collect();
    members.join(",")
}

fn member(context: &ControlPlaneContext, ordinal: u32) -> String {
    format!("{}-{ordinal}", context.name(ETCD))
}

/// The host name of a member, without the provider's cluster domain, which is not known.
fn host(context: &ControlPlaneContext, pod: &str) -> String {
    let service = context.name("etcd-peers");
    format!("{pod}.{service}.{}.svc", context.site.namespace)
}

fn stateful_set(context: &ControlPlaneContext, members: u32) -> Value {
    let server = PodVolume::secret(context, "etcd-server");
    let peer = PodVolume::secret(context, "etcd-peer");
    let data = PodVolume::claim("data", "/var/lib/etcd");
    let command = command(context, &server, &peer, &data);
    let mut container = container(
        context,
        ETCD,
        command,
        ("200m", "512Mi"),
        &[&data, &server, &peer],
    );
    container["env"] = json!([
        { "name": "POD_NAME", "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } } },
    ]);
    container["ports"] = json!([
        { "name": "client", "containerPort": CLIENT_PORT },
        { "name": "peer", "containerPort": PEER_PORT },
        { "name": "metrics", "containerPort": METRICS_PORT },
    ]);
    container["startupProbe"] = probe("HTTP", METRICS_PORT, "/readyz", 2, 120);
    container["livenessProbe"] = probe("HTTP", METRICS_PORT, "/livez", 10, 8);
    container["readinessProbe"] = probe("HTTP", METRICS_PORT, "/readyz", 5, 3);
    let pods = Pods {
        part: ETCD,
        replicas: members,
        containers: vec![container],
        sidecars: Vec::new(),
        volumes: &[server, peer, data],
        account: None,
        grace: 30,
    };
    json!({
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": { "name": context.name(ETCD) },
        "spec": {
            "replicas": members,
            "serviceName": context.name("etcd-peers"),
            // With ordered startup three members would never become ready: the first needs a quorum.
            "podManagementPolicy": "Parallel",
            "persistentVolumeClaimRetentionPolicy": {
                "whenDeleted": "Retain",
                "whenScaled": "Retain",
            },
            "revisionHistoryLimit": 2,
            "selector": { "matchLabels": context.selector(ETCD) },
            "template": pods.template(context, None),
            "updateStrategy": { "type": "RollingUpdate" },
            "volumeClaimTemplates": [claim(context)],
        },
    })
}

/// The claim outlives the StatefulSet, but not the shoot.
fn claim(context: &ControlPlaneContext) -> Value {
    let control_plane = &context.shoot.control_plane;
    let size = control_plane.etcd_size.to_string();
    let mut claim = json!({
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": "data",
            "labels": labels(context, ETCD),
            "ownerReferences": [owner(&context.site)],
        },
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": { "requests": { "storage": size } },
        },
    });
    if let Some(class) = &control_plane.etcd_class {
        claim["spec"]["storageClassName"] = json!(class);
    }
    claim
}

fn command(
    context: &ControlPlaneContext,
    server: &PodVolume,
    peer: &PodVolume,
    data: &PodVolume,
) -> Vec<String> {
    let own = host(context, "$(POD_NAME)");
    let members = (0..context.members()).map(|ordinal| {
        let name = member(context, ordinal);
        format!("{name}=https://{}:{PEER_PORT}", host(context, &name))
    });
    let members = members.collect::<Vec<_>>().join(",");
    Flags::of("etcd")
        .set("name", "$(POD_NAME)")
        // etcd creates this subdirectory with the mode it requires; the volume's root has another one.
        .set("data-dir", data.file("data"))
        .set(
            "listen-client-urls",
            format!("https://0.0.0.0:{CLIENT_PORT}"),
        )
        .set(
            "advertise-client-urls",
            format!("https://{own}:{CLIENT_PORT}"),
        )
        .set("listen-peer-urls", format!("https://0.0.0.0:{PEER_PORT}"))
        .set(
            "initial-advertise-peer-urls",
            format!("https://{own}:{PEER_PORT}"),
        )
        .set(
            "listen-metrics-urls",
            format!("http://0.0.0.0:{METRICS_PORT}"),
        )
        .set("initial-cluster", members)
        .set("initial-cluster-token", context.site.uid)
        .set("initial-cluster-state", "new")
        .set("tls-min-version", "TLS1.2")
        .set("cipher-suites", CIPHER_SUITES.join(","))
        .set("client-cert-auth", true)
        .set("cert-file", server.file("tls.crt"))
        .set("key-file", server.file("tls.key"))
        .set("trusted-ca-file", server.file("ca.crt"))
        .set("peer-client-cert-auth", true)
        .set("peer-cert-file", peer.file("tls.crt"))
        .set("peer-key-file", peer.file("tls.key"))
        .set("peer-trusted-ca-file", peer.file("ca.crt"))
        .set("quota-backend-bytes", quota(context))
        .set("feature-gates", "InitialCorruptCheck=true")
        .set("watch-progress-notify-interval", "5s")
        .done()
}

/// A share of the disk, so that etcd rejects writes before the disk is full: logs and snapshots need space too.
fn quota(context: &ControlPlaneContext) -> u64 {
    let size = context.shoot.control_plane.etcd_size.value / MIB;
    let mib = (size * 0.8).clamp(1.0, MOST_MIB);
    // An integer of MiB below the maximum, so the conversion is exact.
    mib as u64 * 1024 * 1024
}
